//! `GET /v1/explain`: what the slow, failed or abandoned streams of a range have in common.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use beacon::{Outcome, StreamReport};
use schemars::JsonSchema;
use serde::Serialize;

use super::kept_streams::{each_kept, was_abandoned};
use super::params::KeptFilter;
use super::query_string::{Accepts, Param, Query, query};
use super::range::{AskedRange, Range};
use super::state::ApiState;
use crate::aggregate::dimension::{Dimension, OTHER, UNKNOWN};
use crate::aggregate::judgement::{Cause, Judgement};
use crate::aggregate::stream_dimension::STREAM_DIMENSIONS;
use crate::http::error::ApiError;
use crate::slo::explain::{CONFIDENCE, Finding, Streams};
use crate::store::backend::Backend;
use crate::store::query::KeptStream;

/// What some streams have in common.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Explanation {
    #[serde(flatten)]
    range: Range,
    of: Affected,
    /// Streams that were compared: those of the range whose reports are kept.
    streams: u64,
    /// Affected ones among them.
    affected: u64,
    /// The reports of streams that ended before this time are not all kept. Absent if the whole range is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_since_ms: Option<i64>,
    /// Confidence that nothing is in `findings` if the streams do not differ.
    confidence: f64,
    /// Strongest first. Each later one explains streams that the earlier ones do not.
    findings: Vec<Finding>,
}

/// Which streams are explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Affected {
    /// They missed a target of their use case for a wait, the time per output token or the longest gap.
    Slow,
    /// The service failed them.
    Failed,
    /// The user left or stopped the stream before the first visible token.
    Abandoned,
}

impl Param for Affected {
    const NAME: &'static str = "of";
    const ABOUT: &'static str = "Streams to explain.";
    const DEFAULT: Option<&'static str> = Some("slow");

    fn accepts() -> Accepts<Self> {
        Accepts::words([("slow", Self::Slow), ("failed", Self::Failed), ("abandoned", Self::Abandoned)])
    }
}

query! {
    /// Parameters of the route.
    ExplainQuery {
        range: AskedRange,
        filter: KeptFilter,
        of: Affected,
    }
}

/// Handles the route.
pub(crate) async fn explain(
    State(state): State<ApiState>,
    Query(query): Query<ExplainQuery>,
) -> Result<Response, ApiError> {
    let ExplainQuery { range, filter, of } = query;
    let range = range.at_present(&state);
    let config = state.config.clone();
    let read = move |store: &Backend<'_>| {
        let mut streams = Streams::default();
        let kept_since_ms = each_kept(store, range, &filter, &config, |stream, judgement| {
            let Some(state) = of.state(stream.report, judgement) else { return };
            streams.add(stream.received_ms, state.is_some(), state.flatten(), values(stream));
        })?;
        Ok(Explanation {
            range,
            of,
            streams: streams.len(),
            affected: streams.affected(),
            kept_since_ms,
            confidence: CONFIDENCE,
            findings: streams.findings(range.onset_step_ms()),
        })
    };
    Ok(Json(state.reader.run(read).await?).into_response())
}

impl Affected {
    /// `None` if the stream says nothing about the question, `Some(None)` if it is not affected, else its cause as far as
    /// that is known.
    fn state(self, report: &StreamReport, judgement: Judgement) -> Option<Option<Option<&'static str>>> {
        let outcome = report.outcome;
        match self {
            Self::Slow => outcome.is_eligible().then(|| {
                let cause = judgement.wait_cause.or(judgement.pace_cause).map(Cause::as_str);
                (judgement.wait_cause.is_some() || judgement.within_pace == Some(false)).then_some(cause)
            }),
            Self::Failed => {
                outcome.is_eligible().then(|| outcome.is_error().then_some(Some(outcome.as_str())))
            }
            Self::Abandoned => {
                (outcome != Outcome::Unobserved).then(|| was_abandoned(report).then_some(None))
            }
        }
    }
}

/// Values that a stream is known to have. A missing value is no reason: often it is missing because the stream failed.
fn values<'a>(stream: &KeptStream<'a>) -> impl Iterator<Item = (&'static str, &'a str)> {
    let KeptStream { series, report, .. } = *stream;
    let counted = Dimension::all().map(|dimension| (dimension.name(), series[dimension].as_str()));
    let counted = counted.filter(|(_, value)| ![UNKNOWN, OTHER].contains(value));
    let reported = STREAM_DIMENSIONS.iter().filter_map(|of| Some((of.name, (of.value)(report)?)));
    counted.chain(reported)
}
