//! `GET /v1/summary`: a range comes in, goes out everything the first screen says, with the equal
//! period before and a verdict.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::parameter::AGAINST;
use super::params::Against;
use super::{ApiError, Params, Quantiles, Range, Ratio, TargetsOf, share};
use crate::counts::Kind;
use crate::state::AppState;
use crate::store::{Dimension, Filter, Source};
use crate::tally::{Metric, Tally};
use crate::verdict::{self, Case, Verdict};

/// Everything that the first screen says.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Summary {
    #[serde(flatten)]
    range: Range,
    streams: u64,
    open: u64,
    outcomes: BTreeMap<&'static str, u64>,
    defects: BTreeMap<&'static str, u64>,
    ttfv: Quantiles,
    ttft: Quantiles,
    e2e: Quantiles,
    tpot: Quantiles,
    gap: Quantiles,
    integrity: Ratio,
    availability: Ratio,
    goodput: Goodput,
    errors: Errors,
    input_tokens: u64,
    output_tokens: u64,
    /// Of the one use case that has streams here; where none or several have, of the filter's or the site's.
    targets: TargetsOf,
    /// How many use cases have streams here: `targets` are not those of all when it is over 1.
    use_cases: usize,
    previous: Previous,
    overflow: BTreeMap<String, u64>,
    verdict: Verdict,
}

/// Streams that met their targets, and how many of them there were per second.
#[derive(Serialize, JsonSchema)]
struct Goodput {
    #[serde(flatten)]
    share: Ratio,
    per_second: f64,
}

/// Streams in which the service failed, out of those judged.
#[derive(Serialize, JsonSchema)]
struct Errors {
    count: u64,
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// What the ratio would be at least, with 95 % confidence: few streams prove little.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
}

/// The period that is compared with.
#[derive(Serialize, JsonSchema)]
struct Previous {
    #[serde(flatten)]
    range: Range,
    streams: u64,
    ttfv: Quantiles,
    integrity: Ratio,
    goodput: Ratio,
    errors: Errors,
}

/// Answers with the summary of a range.
pub(crate) async fn summary(
    State(state): State<AppState>,
    params: Params,
) -> Result<Json<Summary>, ApiError> {
    params.only(&[AGAINST])?;
    let against = params.against()?.unwrap_or(Against::Previous);
    let (range, filter) = (params.range(&state)?, params.filter());
    let earlier = range.earlier(against);
    let asked = filter.clone();
    let read_all = move |store: &Source<'_>| {
        let mut before = Tally::default();
        let now = store.tallies_by(&range.windows(&filter, None, &SHOWN), Dimension::UseCase)?;
        store.windows(&earlier.windows(&filter, None, &[Metric::Ttfv]), |_, tally| before.merge(tally))?;
        let open = store.open_streams(&filter)?;
        let mut overflow = BTreeMap::new();
        for (key, count) in store.counts()?.iter(Kind::Overflow) {
            if filter.site.as_ref().is_none_or(|site| *site == key.site) {
                *overflow.entry(key.word.clone()).or_default() += count;
            }
        }
        Ok((now, before, open, overflow))
    };
    let (by_use_case, before, open, overflow) = state.reader().run(read_all).await?;
    let targets_of = |use_case: &str| {
        TargetsOf::of(&state, &Filter { use_case: Some(use_case.to_owned()), ..asked.clone() })
    };
    let cases = by_use_case.iter().filter(|(_, tally)| tally.streams() > 0);
    let use_cases: Vec<_> = cases.clone().map(|(use_case, _)| use_case.as_str()).collect();
    let cases =
        cases.map(|(use_case, tally)| Case { use_case, tally, targets: targets_of(use_case).targets });
    let verdict = verdict::of(open, cases);
    let targets = match use_cases[..] {
        [only] => targets_of(only),
        _ => TargetsOf::of(&state, &asked),
    };
    let mut now = Tally::default();
    by_use_case.values().for_each(|tally| now.merge(tally));
    Ok(Json(Summary {
        range,
        streams: now.streams(),
        open,
        outcomes: now.outcomes().map(|(outcome, count)| (outcome.as_str(), count)).collect(),
        defects: now.defects().map(|(defect, count)| (defect.as_str(), count)).collect(),
        ttfv: Quantiles::of(now.histogram(Metric::Ttfv)),
        ttft: Quantiles::of(now.histogram(Metric::Ttft)),
        e2e: Quantiles::of(now.histogram(Metric::E2e)),
        tpot: Quantiles::of(now.histogram(Metric::Tpot)),
        gap: Quantiles::of(now.histogram(Metric::Gap)),
        integrity: Ratio::of(now.whole, now.judged()),
        availability: Ratio::of(now.judged() - now.errors(), now.judged()),
        goodput: Goodput {
            share: Ratio::of(now.good, now.judged()),
            per_second: now.good as f64 / range.elapsed_seconds(),
        },
        errors: Errors::of(&now),
        input_tokens: now.input_tokens,
        output_tokens: now.output_tokens,
        previous: Previous {
            range: earlier,
            streams: before.streams(),
            ttfv: Quantiles::of(before.histogram(Metric::Ttfv)),
            integrity: Ratio::of(before.whole, before.judged()),
            goodput: Ratio::of(before.good, before.judged()),
            errors: Errors::of(&before),
        },
        overflow,
        verdict,
        targets,
        use_cases: use_cases.len(),
    }))
}

impl Errors {
    fn of(tally: &Tally) -> Self {
        let (count, total) = (tally.errors(), tally.judged());
        let at_least = (total > 0).then(|| verdict::at_least(count, total));
        Self { count, total, ratio: share(count, total), at_least }
    }
}

/// Of the period itself; the verdict looks at them too.
const SHOWN: [Metric; 5] = [Metric::Ttfv, Metric::Ttft, Metric::E2e, Metric::Tpot, Metric::Gap];
