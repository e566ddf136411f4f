//! `GET /v1/engines`: queue, load and cache of the engines over time, and how often requests waited in their queues
//! while users waited too long.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::dimension::Dimension;
use crate::api::request::params::Step;
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::state::ApiState;
use crate::config::Config;
use crate::config::engine::EngineKind;
use crate::engine_metrics::figures::Figure;
use crate::engine_metrics::minute::MinuteFigures;
use crate::engines;
use crate::http::error::ApiError;
use crate::slo::error_budget::Objective;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::WindowsQuery;
use crate::time::MINUTE_MS;

/// The engines that this collector scrapes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Engines {
    #[serde(flatten)]
    range: Range,
    step_ms: i64,
    /// Empty if none is configured.
    engines: Vec<EngineStatus>,
    /// Models with figures in the range, at most 100.
    models: Vec<EngineModel>,
}

/// The last scrape of an engine.
#[derive(Serialize, JsonSchema)]
struct EngineStatus {
    /// Host and port.
    engine: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<String>,
    /// `auto` until the metrics show the kind.
    kind: EngineKind,
    /// Absent before the first scrape.
    #[serde(skip_serializing_if = "Option::is_none")]
    scraped_ms: Option<i64>,
    /// Why the last scrape failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Metrics of the last scrape that did not fail. Empty before it.
    metrics: Vec<EngineMetric>,
}

/// Whether a figure was found.
#[derive(Serialize, JsonSchema)]
struct EngineMetric {
    figure: Figure,
    /// Name of the metric that was read. Absent if none was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<&'static str>,
    /// Names that were searched. Empty if engines of this kind have no such metric.
    searched: &'static [&'static str],
}

/// A model of the engines.
#[derive(Serialize, JsonSchema)]
struct EngineModel {
    model: String,
    points: Vec<EnginePoint>,
    /// Absent below 5 minutes over target or 5 others with both figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<QueueWhileOverTarget>,
}

/// Figures of all engines of the model in one step. `null` where no scrape of the step had the figure.
#[derive(Serialize, JsonSchema)]
struct EnginePoint {
    timestamp_ms: i64,
    /// Sum of each engine's maximum.
    waiting_max: Option<f64>,
    waiting_mean: Option<f64>,
    /// Sum of each engine's maximum.
    running_max: Option<f64>,
    running_mean: Option<f64>,
    /// From 0 to 1, of the fullest engine.
    kv_usage_max: Option<f64>,
    preemptions: Option<f64>,
    cache_hits: Option<f64>,
    cache_queries: Option<f64>,
    drafted: Option<f64>,
    accepted: Option<f64>,
}

/// Minutes in which requests waited in the queue, among those over the users' target and among the others.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct QueueWhileOverTarget {
    over_minutes: u64,
    over_with_queue: u64,
    other_minutes: u64,
    other_with_queue: u64,
    /// The figures in one sentence.
    text: String,
}

query! {
    /// Parameters of the route.
    EnginesQuery {
        range: AskedRange,
        filter: Filter,
        step: Option<Step>,
    }
}

/// Handles the route.
pub(crate) async fn engines(
    State(state): State<ApiState>,
    Query(query): Query<EnginesQuery>,
) -> Result<Json<Engines>, ApiError> {
    let EnginesQuery { range, filter, step } = query;
    let (range, step_ms) = range.at_present(&state).in_steps(step, None)?;
    let is_seen = |site: &Option<String>| site.as_deref().is_none_or(|site| filter.selects_site(site));
    let engines: Vec<_> = state.engines.all().into_iter().filter(|engine| is_seen(&engine.site)).collect();
    let config = state.config.clone();
    let read = move |store: &Backend<'_>| {
        let models = ModelSteps::read(store, range, step_ms, &filter)?;
        let model = |(model, steps): (String, ModelSteps)| {
            let users = minutes_over_target(store, &config, range, &filter, &model)?;
            let queue = QueueWhileOverTarget::of(&users, &steps.waited);
            Ok(EngineModel { model, points: steps.points(range, step_ms), queue })
        };
        models.into_iter().map(model).collect::<Result<Vec<_>, StoreError>>()
    };
    let models = state.reader.run(read).await?;
    let engines = engines.into_iter().map(EngineStatus::from).collect();
    Ok(Json(Engines { range, step_ms, engines, models }))
}

/// Figures of a model in the steps of a range.
#[derive(Default)]
struct ModelSteps {
    by_engine: BTreeMap<(usize, String), MinuteFigures>,
    /// Whether requests waited, by minute. Minutes without the figure are absent.
    waited: BTreeMap<i64, bool>,
}

impl ModelSteps {
    fn read(
        store: &Backend<'_>,
        range: Range,
        step_ms: i64,
        filter: &Filter,
    ) -> Result<BTreeMap<String, Self>, StoreError> {
        let mut models: BTreeMap<String, Self> = BTreeMap::new();
        store.engine_minutes(range.minutes(), |row| {
            let is_seen = row.site.as_deref().is_none_or(|site| filter.selects_site(site))
                && filter.selects(Dimension::Model, &row.model);
            if !is_seen || models.len() >= MOST_MODELS && !models.contains_key(&row.model) {
                return;
            }
            let model = models.entry(row.model).or_default();
            if let Some(waiting) = row.figures.waiting {
                *model.waited.entry(row.minute).or_default() |= waiting.max > 0.0;
            }
            let step = range.step_at(row.minute * MINUTE_MS, step_ms);
            model.by_engine.entry((step, row.engine)).or_default().merge(&row.figures);
        })?;
        Ok(models)
    }

    fn points(&self, range: Range, step_ms: i64) -> Vec<EnginePoint> {
        let starts = range.step_starts(step_ms).take(range.steps(step_ms));
        let mut points: Vec<_> = starts.map(EnginePoint::at).collect();
        for ((step, _), figures) in &self.by_engine {
            points[*step].add(figures);
        }
        points
    }
}

impl EnginePoint {
    const fn at(timestamp_ms: i64) -> Self {
        Self {
            timestamp_ms,
            waiting_max: None,
            waiting_mean: None,
            running_max: None,
            running_mean: None,
            kv_usage_max: None,
            preemptions: None,
            cache_hits: None,
            cache_queries: None,
            drafted: None,
            accepted: None,
        }
    }

    /// Adds the figures of one more engine.
    fn add(&mut self, figures: &MinuteFigures) {
        let sum = |sum: &mut Option<f64>, value: Option<f64>| {
            if let Some(value) = value {
                *sum = Some(sum.unwrap_or(0.0) + value);
            }
        };
        sum(&mut self.waiting_max, figures.waiting.map(|level| level.max));
        sum(&mut self.waiting_mean, figures.waiting.map(|level| level.mean));
        sum(&mut self.running_max, figures.running.map(|level| level.max));
        sum(&mut self.running_mean, figures.running.map(|level| level.mean));
        sum(&mut self.preemptions, figures.preemptions);
        sum(&mut self.cache_hits, figures.cache_hits);
        sum(&mut self.cache_queries, figures.cache_queries);
        sum(&mut self.drafted, figures.drafted);
        sum(&mut self.accepted, figures.accepted);
        if let Some(usage) = figures.kv_usage_max {
            self.kv_usage_max = Some(self.kv_usage_max.map_or(usage, |most| most.max(usage)));
        }
    }
}

/// Whether users of a model waited too long, by minute: more streams than the objective of speed allows were slower
/// than the p95 target of their use case. Minutes without streams that count are absent.
fn minutes_over_target(
    store: &Backend<'_>,
    config: &Config,
    range: Range,
    filter: &Filter,
    model: &str,
) -> Result<BTreeMap<i64, bool>, StoreError> {
    let filter = filter.clone().with(Dimension::Model, model);
    let groups =
        store.grouped_stats(&range.windows(&filter, None, &[]), [Dimension::Site, Dimension::UseCase])?;
    // Slow streams, and how many the objective allows.
    let mut minutes: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    for [site, use_case] in groups.into_keys() {
        let targets = config.targets(Some(&site), &use_case);
        let (Some((metric, _)), Some(share)) = (targets.wait(), Objective::Speed.share(&targets)) else {
            continue;
        };
        let of_group = filter.clone().with(Dimension::Site, site).with(Dimension::UseCase, use_case);
        let metrics = [metric];
        let asked =
            WindowsQuery { filter: &of_group, minutes: range.minutes(), longest: 1, metrics: &metrics };
        store.windows(&asked, |minute, stats| {
            let sli = Objective::Speed.sli(stats, &targets);
            if sli.total > 0 {
                let (slow, allowed) = minutes.entry(minute).or_default();
                *slow += sli.bad() as f64;
                *allowed += (1.0 - share) * sli.total as f64;
            }
        })?;
    }
    Ok(minutes.into_iter().map(|(minute, (slow, allowed))| (minute, slow > allowed)).collect())
}

impl QueueWhileOverTarget {
    /// Compares the minutes that have both figures. `None` if either side has too few of them.
    fn of(over_target: &BTreeMap<i64, bool>, waited: &BTreeMap<i64, bool>) -> Option<Self> {
        // By whether the minute is over target: all minutes, and those in which requests waited.
        let mut counts = [(0, 0); 2];
        for (minute, is_over) in over_target {
            if let Some(waited) = waited.get(minute) {
                let (minutes, with_queue) = &mut counts[usize::from(*is_over)];
                *minutes += 1;
                *with_queue += u64::from(*waited);
            }
        }
        let [(other_minutes, other_with_queue), (over_minutes, over_with_queue)] = counts;
        if over_minutes.min(other_minutes) < FEWEST_MINUTES {
            return None;
        }
        let percent = other_with_queue as f64 / other_minutes as f64 * 100.0;
        let text = format!(
            "In {over_with_queue} of the {over_minutes} minutes over target requests waited in the queue; \
             in {percent:.0} % of the others."
        );
        Some(Self { over_minutes, over_with_queue, other_minutes, other_with_queue, text })
    }
}

impl From<engines::EngineStatus> for EngineStatus {
    fn from(status: engines::EngineStatus) -> Self {
        let engines::EngineStatus { engine, site, kind, scraped_ms, error, metrics } = status;
        let metrics = metrics.into_iter().map(|search| EngineMetric {
            figure: search.figure,
            found: search.found,
            searched: search.searched,
        });
        Self { engine, site, kind, scraped_ms, error, metrics: metrics.collect() }
    }
}

/// Below, a comparison says little.
const FEWEST_MINUTES: u64 = 5;

const MOST_MODELS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(of: impl IntoIterator<Item = (i64, bool)>) -> BTreeMap<i64, bool> {
        of.into_iter().collect()
    }

    #[test]
    fn the_sentence_counts_minutes_with_both_figures() {
        let over = minutes((0..100).map(|minute| (minute, minute < 50)));
        // No figure of the last 4 minutes over target.
        let waited = minutes((0..100).filter(|m| !(46..50).contains(m)).map(|m| (m, m < 41 || m == 60)));
        let text = QueueWhileOverTarget::of(&over, &waited).unwrap().text;
        assert_eq!(
            text,
            "In 41 of the 46 minutes over target requests waited in the queue; in 2 % of the others."
        );
    }

    #[test]
    fn too_few_minutes_give_no_sentence() {
        let over = minutes((0..100).map(|minute| (minute, minute < 4)));
        let waited = minutes((0..100).map(|minute| (minute, true)));
        assert_eq!(QueueWhileOverTarget::of(&over, &waited), None);
    }
}
