//! Reads one scrape: the figures of each model, and which metrics were found.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::exposition::{Sample, samples};
use super::figures::{Combination, Figure};
use super::names::{ENGINES, EngineNames};
use crate::config::engine::{Engine, EngineKind, LONGEST_MODEL};

/// The figures of one scrape.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scrape {
    pub(crate) kind: EngineKind,
    pub(crate) metrics: Vec<MetricSearch>,
    /// Values of gauges by model. A figure that was not found is absent.
    pub(crate) gauges: BTreeMap<(String, Figure), f64>,
    pub(crate) counters: BTreeMap<CounterSeries, f64>,
}

/// Whether a figure was found, and under which names it was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MetricSearch {
    pub(crate) figure: Figure,
    pub(crate) found: Option<&'static str>,
    pub(crate) searched: &'static [&'static str],
}

/// One series of a counter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CounterSeries {
    pub(crate) model: String,
    pub(crate) figure: Figure,
    /// Hash of its name and labels.
    pub(crate) series: u64,
}

/// Why a scrape has no figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("the answer is not Prometheus text")]
    NotText,
    #[error("the answer has no metric that is known of this kind of engine")]
    UnknownMetrics,
    #[error("the metrics name no model: write `model` beside the `url` of this engine")]
    ModelMissing,
}

struct Known<'a> {
    figure: Figure,
    place: usize,
    sample: Sample<'a>,
}

/// Reads the text of a scrape.
pub(crate) fn read(text: &str, engine: &Engine) -> Result<Scrape, Unreadable> {
    let is_asked = |names: &&EngineNames| engine.kind == EngineKind::Auto || engine.kind == names.kind;
    let mut known: Vec<(&EngineNames, Vec<Known<'_>>)> =
        ENGINES.iter().filter(is_asked).map(|names| (names, Vec::new())).collect();
    let mut is_text = false;
    for sample in samples(text) {
        is_text = true;
        for (names, of_kind) in &mut known {
            let is_first_rank =
                || RANKS.iter().all(|rank| sample.label(rank).is_none_or(|number| number == "0"));
            if let Some((figure, place)) = names.find(sample.name)
                && sample.value.is_finite()
                && sample.value >= 0.0
                && is_first_rank()
            {
                of_kind.push(Known { figure, place, sample });
            }
        }
    }
    if !is_text {
        return Err(Unreadable::NotText);
    }
    let (names, known) =
        known.into_iter().find(|(_, of_kind)| !of_kind.is_empty()).ok_or(Unreadable::UnknownMetrics)?;
    let scrape = Scrape::of(names, &known, engine);
    if scrape.gauges.is_empty() && scrape.counters.is_empty() {
        return Err(Unreadable::ModelMissing);
    }
    Ok(scrape)
}

impl Scrape {
    fn of(names: &EngineNames, known: &[Known<'_>], engine: &Engine) -> Self {
        let search = |figure| {
            let searched = names.of(figure);
            let places = known.iter().filter(|known| known.figure == figure).map(|known| known.place);
            MetricSearch { figure, found: places.min().map(|place| searched[place]), searched }
        };
        let metrics: Vec<_> = Figure::ALL.into_iter().map(search).collect();
        let mut models = Models { engine, seen: BTreeMap::new() };
        let (mut gauges, mut counters) = (BTreeMap::new(), BTreeMap::new());
        for Known { figure, sample, .. } in known {
            let is_chosen =
                metrics.iter().any(|search| search.figure == *figure && search.found == Some(sample.name));
            let Some(model) = is_chosen.then(|| models.name(names, sample)).flatten() else { continue };
            match figure.combination() {
                Combination::Sum => *gauges.entry((model, *figure)).or_insert(0.0) += sample.value,
                Combination::Max => {
                    let most = gauges.entry((model, *figure)).or_insert(0.0_f64);
                    *most = most.max(sample.value);
                }
                Combination::Increase => {
                    let mut hasher = DefaultHasher::new();
                    (sample.name, sample.labels).hash(&mut hasher);
                    let series = CounterSeries { model, figure: *figure, series: hasher.finish() };
                    counters.insert(series, sample.value);
                }
            }
        }
        Self { kind: names.kind, metrics, gauges, counters }
    }
}

/// Names of the models of one scrape.
struct Models<'a> {
    engine: &'a Engine,
    seen: BTreeMap<String, String>,
}

impl Models<'_> {
    /// `None` if neither the sample nor the configuration names the model.
    fn name(&mut self, names: &EngineNames, sample: &Sample<'_>) -> Option<String> {
        let own = names.model_label.and_then(|label| sample.label(label));
        let Some(own) = own else { return self.engine.model.clone() };
        if let Some(known) = self.seen.get(&own) {
            return Some(known.clone());
        }
        if self.seen.len() >= MOST_MODELS || own.len() > LONGEST_MODEL {
            return Some(OTHER.to_owned());
        }
        let name = self.engine.models.get(&own).unwrap_or(&own).clone();
        self.seen.insert(own, name.clone());
        Some(name)
    }
}

/// Each rank of these repeats the figures of the whole engine.
const RANKS: [&str; 2] = ["tp_rank", "pp_rank"];

/// Models of one engine; further ones are `other`.
const MOST_MODELS: usize = 100;
const OTHER: &str = "other";

#[cfg(test)]
mod tests;
