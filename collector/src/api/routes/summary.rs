//! `GET /v1/summary`: all figures of the dashboard's first screen, with the comparison period and a verdict.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::internal_metrics::Kind;
use crate::aggregate::metric::Metric;
use crate::aggregate::window_stats::{Sum, WindowStats};
use crate::api::answer::attacks::{AttackNotice, attacks};
use crate::api::answer::difference::Differences;
use crate::api::answer::percentiles::Quantiles;
use crate::api::answer::ratio::Ratio;
use crate::api::answer::stream_stats::{Errors, StreamStats};
use crate::api::answer::targets_in_view::{ShareTargets, TargetsInView};
use crate::api::answer::throughput::{BelowReadingSpeed, Throughput};
use crate::api::answer::use_case_status::{self, ByUseCase, Judgements, UseCaseStatus};
use crate::api::request::params::CompareTo;
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::state::ApiState;
use crate::config::Config;
use crate::http::error::ApiError;
use crate::slo::error_budget::{Objective, SliCount};
use crate::slo::verdict::Verdict;
use crate::slo::verdict::trend::ErrorsAndLatency;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::time;

/// All figures of the dashboard's first screen.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Summary {
    #[serde(flatten)]
    range: Range,
    streams: u64,
    open: u64,
    #[serde(flatten)]
    figures: StreamStats,
    goodput: Goodput,
    throughput: Throughput,
    below_reading_speed: Vec<BelowReadingSpeed>,
    /// Streams whose wait is within the p95 target of their own use case, out of those that have both.
    within_p95_target: Ratio,
    #[serde(flatten)]
    targets: TargetsInView,
    share_targets: ShareTargets,
    previous: Previous,
    overflow: BTreeMap<String, u64>,
    verdict: Verdict,
    /// Whether errors and latency are up against the comparison period. Absent if one of them has fewer than 30 streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors_and_latency: Option<ErrorsAndLatency>,
    /// Use cases of each site with streams in the range, worst first, at most 50.
    by_use_case: Vec<UseCaseStatus>,
    /// Attacks of the last day on the selected sites, whatever the range.
    attacks: Vec<AttackNotice>,
    /// Keys of the attributes that the selected sites may set, each a dimension such as `attribute.plan`.
    attributes: BTreeSet<String>,
}

/// Streams within SLO: their share and their number per second.
#[derive(Serialize, JsonSchema)]
struct Goodput {
    #[serde(flatten)]
    share: Ratio,
    per_second: f64,
}

/// Figures of the comparison period.
#[derive(Serialize, JsonSchema)]
struct Previous {
    #[serde(flatten)]
    range: Range,
    streams: u64,
    ttfv: Quantiles,
    e2e: Quantiles,
    integrity: Ratio,
    goodput: Ratio,
    errors: Errors,
    throughput: Throughput,
    output_rate: Quantiles,
    differences: Differences,
}

query! {
    /// Parameters of the route.
    SummaryQuery {
        range: AskedRange,
        filter: Filter,
        compare_to: Option<CompareTo>,
    }
}

/// Handles the route.
pub(crate) async fn summary(
    State(state): State<ApiState>,
    Query(query): Query<SummaryQuery>,
) -> Result<Json<Summary>, ApiError> {
    let SummaryQuery { range, filter, compare_to } = query;
    let range = range.at_present(&state);
    let earlier = range.earlier(compare_to.unwrap_or(CompareTo::Previous));
    let asked = filter.clone();
    let read = {
        let state = state.clone();
        move |store: &Backend<'_>| Read::from(&state, store, (range, earlier), &filter)
    };
    let Read { groups, judgements, mut before, open, overflow } = state.reader.run(read).await?;
    let range = range.with_kept_since(&state, asked.needs_streams()).await?;
    let earlier = earlier.with_kept_since(&state, asked.needs_streams()).await?;
    if !earlier.is_complete() {
        before = WindowStats::default();
    }
    let mut by_use_case = BTreeMap::<String, WindowStats>::new();
    let mut now = WindowStats::default();
    let mut within_p95 = SliCount::default();
    let mut targets_of_groups = Vec::new();
    for ([site, use_case], stats) in groups {
        let targets = state.config.targets(Some(&site), &use_case);
        let speed = Objective::Speed.sli(&stats, &targets);
        targets_of_groups.push((targets, stats.eligible()));
        within_p95 = SliCount { good: within_p95.good + speed.good, total: within_p95.total + speed.total };
        now.merge(&stats);
        by_use_case.entry(use_case).or_default().merge(&stats);
    }
    let targets = TargetsInView::of(&state, &asked, &by_use_case);
    Ok(Json(Summary {
        range,
        streams: now.streams(),
        open,
        figures: StreamStats::of(&now),
        within_p95_target: Ratio::of(within_p95.good, within_p95.total),
        goodput: Goodput {
            share: Ratio::of(now.sum(Sum::WithinSlo), now.eligible()),
            per_second: now.sum(Sum::WithinSlo) as f64 / range.elapsed_seconds(),
        },
        throughput: Throughput::of(&now, range.elapsed_seconds()),
        below_reading_speed: state
            .config
            .reading_speeds
            .iter()
            .map(|speed| BelowReadingSpeed::of(&now, *speed))
            .collect(),
        errors_and_latency: ErrorsAndLatency::of(&now, &before),
        previous: Previous::of(earlier, &before, &now),
        overflow,
        verdict: judgements.verdict,
        by_use_case: judgements.by_use_case,
        attacks: attacks(&state, &asked, time::now_ms()),
        attributes: attributes(&state.config, &asked),
        share_targets: ShareTargets::of(&targets_of_groups, &targets.targets.targets),
        targets,
    }))
}

fn attributes(config: &Config, filter: &Filter) -> BTreeSet<String> {
    let sites = config.sites.iter().filter(|site| filter.selects_site(&site.name));
    sites.flat_map(|site| &site.attributes).cloned().collect()
}

impl Previous {
    fn of(range: Range, before: &WindowStats, now: &WindowStats) -> Self {
        Self {
            range,
            streams: before.streams(),
            ttfv: Quantiles::of(before, Metric::Ttfv),
            e2e: Quantiles::of(before, Metric::E2e),
            integrity: Ratio::of(before.sum(Sum::Intact), before.eligible()),
            goodput: Ratio::of(before.sum(Sum::WithinSlo), before.eligible()),
            errors: Errors::of(before),
            throughput: Throughput::of(before, range.elapsed_seconds()),
            output_rate: Quantiles::of(before, Metric::OutputRate),
            differences: Differences::of(now, before),
        }
    }
}

/// Data from the store for the range and the comparison period.
struct Read {
    groups: ByUseCase,
    judgements: Judgements,
    before: WindowStats,
    open: u64,
    overflow: BTreeMap<String, u64>,
}

impl Read {
    fn from(
        state: &ApiState,
        store: &Backend<'_>,
        (range, earlier): (Range, Range),
        filter: &Filter,
    ) -> Result<Self, StoreError> {
        let shown = StreamStats::metrics();
        let groups = |store: &Backend<'_>| {
            store.both(
                |store| use_case_status::read(store, range, filter, &shown),
                |store| use_case_status::alerts(state, store, range, filter),
            )
        };
        let before = |store: &Backend<'_>| {
            let mut before = WindowStats::default();
            let compared = Differences::METRICS.into_iter().chain([Metric::OutputRate]);
            let metrics: Vec<_> = compared.flat_map(Metric::with_censored).collect();
            store.windows(&earlier.windows(filter, None, &metrics), |_, stats| before.merge(stats))?;
            Ok(before)
        };
        let (((groups, states), before), (open, overflow)) = store.both(
            |store| store.both(groups, before),
            |store| store.both(|store| store.open_streams(filter), |store| overflow(store, filter)),
        )?;
        let judgements =
            use_case_status::judge(&state.config, store, (range, filter), (&groups, &states), open)?;
        Ok(Self { groups, judgements, before, open, overflow })
    }
}

/// Streams with a label value that counts as `other`, by label.
fn overflow(store: &Backend<'_>, filter: &Filter) -> Result<BTreeMap<String, u64>, StoreError> {
    let mut overflow = BTreeMap::new();
    for (key, count) in store.counts(filter)?.iter(Kind::Overflow) {
        *overflow.entry(key.word.clone()).or_default() += count;
    }
    Ok(overflow)
}
