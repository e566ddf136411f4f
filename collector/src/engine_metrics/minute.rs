//! Folds the scrapes of one engine into figures by minute and model.

use std::collections::BTreeMap;

use super::figures::{Combination, Figure};
use super::scrape::{CounterSeries, Scrape};
use crate::time::{MINUTE_MS, minute_of};

/// Figures of one model in one minute. `None` where no scrape of the minute had the figure.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct MinuteFigures {
    pub(crate) waiting: Option<Level>,
    pub(crate) running: Option<Level>,
    pub(crate) kv_usage_max: Option<f64>,
    /// Increases within the minute. `None` in the minute of a counter's first scrape.
    pub(crate) preemptions: Option<f64>,
    pub(crate) cache_hits: Option<f64>,
    pub(crate) cache_queries: Option<f64>,
    pub(crate) drafted: Option<f64>,
    pub(crate) accepted: Option<f64>,
}

/// Highest and mean value of a gauge over the scrapes of a minute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Level {
    pub(crate) max: f64,
    pub(crate) mean: f64,
    /// Number of scrapes.
    pub(crate) scrapes: u32,
}

/// The minute that is being folded, and the last value of each counter.
#[derive(Debug, Default)]
pub(crate) struct MinuteFolder {
    minute: i64,
    models: BTreeMap<String, MinuteFigures>,
    last: BTreeMap<CounterSeries, (f64, i64)>,
}

impl MinuteFolder {
    /// Adds a scrape. Returns its minute, and the figures of the minute so far.
    pub(crate) fn add(&mut self, now_ms: i64, scrape: &Scrape) -> (i64, &BTreeMap<String, MinuteFigures>) {
        let minute = minute_of(now_ms);
        if minute != self.minute {
            self.minute = minute;
            self.models.clear();
        }
        for ((model, figure), value) in &scrape.gauges {
            self.models.entry(model.clone()).or_default().add(*figure, *value);
        }
        for (series, value) in &scrape.counters {
            let before = self.last.insert(series.clone(), (*value, now_ms));
            if let Some((before, _)) = before.filter(|(_, at_ms)| now_ms - at_ms <= LONGEST_GAP_MS) {
                // As in Prometheus, a counter that fell began anew at 0.
                let increase = if *value < before { *value } else { value - before };
                self.models.entry(series.model.clone()).or_default().add(series.figure, increase);
            }
        }
        self.last.retain(|_, (_, at_ms)| now_ms - *at_ms <= LONGEST_GAP_MS);
        (minute, &self.models)
    }
}

impl MinuteFigures {
    /// Adds another minute of the same engine and model.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.waiting = Level::merged(self.waiting, other.waiting);
        self.running = Level::merged(self.running, other.running);
        for (figure, value) in [
            (Figure::KvUsage, other.kv_usage_max),
            (Figure::Preemptions, other.preemptions),
            (Figure::CacheHits, other.cache_hits),
            (Figure::CacheQueries, other.cache_queries),
            (Figure::Drafted, other.drafted),
            (Figure::Accepted, other.accepted),
        ] {
            value.into_iter().for_each(|value| self.add(figure, value));
        }
    }

    fn add(&mut self, figure: Figure, value: f64) {
        let place = match figure {
            Figure::Waiting => return self.waiting = Some(Level::with(self.waiting, value)),
            Figure::Running => return self.running = Some(Level::with(self.running, value)),
            Figure::KvUsage => &mut self.kv_usage_max,
            Figure::Preemptions => &mut self.preemptions,
            Figure::CacheHits => &mut self.cache_hits,
            Figure::CacheQueries => &mut self.cache_queries,
            Figure::Drafted => &mut self.drafted,
            Figure::Accepted => &mut self.accepted,
        };
        *place = Some(match (*place, figure.combination()) {
            (None, _) => value,
            (Some(before), Combination::Max) => before.max(value),
            (Some(before), Combination::Sum | Combination::Increase) => before + value,
        });
    }
}

impl Level {
    fn with(before: Option<Self>, value: f64) -> Self {
        let Self { max, mean, scrapes } = before.unwrap_or(Self { max: value, mean: 0.0, scrapes: 0 });
        let scrapes = scrapes + 1;
        Self { max: max.max(value), mean: mean + (value - mean) / f64::from(scrapes), scrapes }
    }
}

impl Level {
    fn merged(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
        let scrapes = one.scrapes + other.scrapes;
        let sum = one.mean * f64::from(one.scrapes) + other.mean * f64::from(other.scrapes);
        Some(Self { max: one.max.max(other.max), mean: sum / f64::from(scrapes), scrapes })
    }
}

/// A counter that was not seen for longer begins anew, as in a query of Prometheus.
const LONGEST_GAP_MS: i64 = 5 * MINUTE_MS;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::engine::Engine;
    use crate::engine_metrics::scrape::read;

    fn at(folder: &mut MinuteFolder, second: i64, waiting: u32, preemptions: u32) -> (i64, MinuteFigures) {
        let engine: Engine = toml::from_str("url = \"http://127.0.0.1:1/metrics\"").unwrap();
        let text = format!(
            "vllm:num_requests_waiting{{model_name=\"m\"}} {waiting}\n\
             vllm:num_preemptions_total{{model_name=\"m\"}} {preemptions}\n"
        );
        let (minute, models) = folder.add(second * 1_000, &read(&text, &engine).unwrap());
        (minute, models["m"])
    }

    #[test]
    fn a_minute_has_highest_mean_and_increases() {
        let mut folder = MinuteFolder::default();
        let (minute, first) = at(&mut folder, 60, 4, 100);
        assert_eq!((minute, first.preemptions, first.kv_usage_max), (1, None, None));
        at(&mut folder, 70, 0, 103);
        let (_, third) = at(&mut folder, 80, 2, 103);
        assert_eq!(third.waiting, Some(Level { max: 4.0, mean: 2.0, scrapes: 3 }));
        assert_eq!(third.preemptions, Some(3.0));
        let (minute, next) = at(&mut folder, 120, 1, 110);
        assert_eq!((minute, next.waiting.unwrap().max, next.preemptions), (2, 1.0, Some(7.0)));
    }

    #[test]
    fn a_counter_that_fell_began_anew_at_0() {
        let mut folder = MinuteFolder::default();
        at(&mut folder, 0, 0, 50);
        assert_eq!(at(&mut folder, 10, 0, 4).1.preemptions, Some(4.0));
    }

    #[test]
    fn a_counter_after_a_long_gap_has_no_increase() {
        let mut folder = MinuteFolder::default();
        at(&mut folder, 0, 0, 50);
        assert_eq!(at(&mut folder, 301, 0, 60).1.preemptions, None);
    }
}
