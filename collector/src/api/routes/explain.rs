//! `GET /v1/explain`: what the slow, failed or abandoned streams of a range have in common.

use std::borrow::Cow;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use beacon::{Outcome, StreamReport};
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::dimension::{Dimension, OTHER, UNKNOWN};
use crate::aggregate::judgement::{Cause, Judgement};
use crate::aggregate::stream_dimension::{ATTRIBUTES, STREAM_DIMENSIONS, attribute_dimension};
use crate::api::answer::kept_streams::was_abandoned;
use crate::api::request::query_string::{Accepts, Param, Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::state::ApiState;
use crate::http::error::ApiError;
use crate::slo::explain::{CONFIDENCE, Finding, Streams};
use crate::store::backend::Backend;
use crate::store::filter::Filter;
use crate::store::query::{KeptQuery, KeptStream};

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
    /// Confidence that nothing is in `findings` if the streams do not differ.
    confidence: f64,
    /// Strongest first. Each later one explains streams that the earlier ones do not.
    findings: Vec<Finding>,
}

/// Which streams are explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Affected {
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
        filter: Filter,
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
    let read = move |store: &Backend<'_>| {
        let reads = STREAM_DIMENSIONS.iter().flat_map(|dimension| dimension.reads).copied();
        let reads = reads.chain([ATTRIBUTES]);
        let (mut streams, mut since_ms) = (Streams::default(), None);
        store.each_kept(
            KeptQuery { most_in_files: MOST_IN_FILES, ..range.kept_streams(&filter, reads) },
            |kept| since_ms = kept,
            |stream| {
                let Some(state) = of.state(stream.report, stream.judgement) else { return };
                streams.add(stream.received_ms, state.is_some(), state.flatten(), values(stream));
            },
        )?;
        Ok(Explanation {
            range: range.kept_since(since_ms),
            of,
            streams: streams.len(),
            affected: streams.affected(),
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
fn values<'a>(stream: &KeptStream<'a>) -> impl Iterator<Item = (Cow<'static, str>, &'a str)> {
    let KeptStream { series, report, .. } = *stream;
    let counted = Dimension::all().map(|dimension| (dimension.name().into(), series[dimension].as_str()));
    let counted = counted.filter(|(_, value)| ![UNKNOWN, OTHER].contains(value));
    let reasons = STREAM_DIMENSIONS.iter().filter(|of| of.is_reason);
    let reported = reasons.filter_map(|of| Some((of.name.into(), of.known_value(report)?)));
    let named = report.attributes.iter().map(|(key, value)| (attribute_dimension(key).into(), value));
    counted.chain(reported).chain(named)
}

/// Each stream is in memory with all its values until the answer is found.
const MOST_IN_FILES: u64 = 100_000;
