//! `GET /v1/visits`: the visits of a range, and the share of them with at least one bad stream.

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::answer::ratio::share;
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::state::ApiState;
use crate::http::error::ApiError;
use crate::report::visit::VisitHash;
use crate::rows::column::VISIT;
use crate::stats::binomial;
use crate::store::backend::Backend;
use crate::store::filter::Filter;
use crate::store::query::KeptStream;

/// Visits of a range.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Visits {
    #[serde(flatten)]
    range: Range,
    /// Streams whose tab sent a number.
    streams: u64,
    /// Visits with such a stream. A tab counts once for each site and day (UTC).
    visits: u64,
    /// Visits with at least one eligible stream that was not within SLO.
    with_bad_stream: u64,
    /// Absent without visits.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    /// 95 % confidence interval of `share`.
    #[serde(skip_serializing_if = "Option::is_none")]
    lower: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper: Option<f64>,
}

query! {
    /// Parameters of the route.
    VisitsQuery {
        range: AskedRange,
        filter: Filter,
    }
}

/// Handles the route.
pub(crate) async fn visits(
    State(state): State<ApiState>,
    Query(query): Query<VisitsQuery>,
) -> Result<Json<Visits>, ApiError> {
    let VisitsQuery { range, filter } = query;
    let range = range.at_present(&state);
    let read = move |store: &Backend<'_>| {
        let (mut counted, mut since_ms) = (CountedVisits::default(), None);
        store.each_kept(
            range.kept_streams(&filter, [VISIT]),
            |kept| since_ms = kept,
            |stream| counted.add(stream),
        )?;
        Ok(counted.answer(range.kept_since(since_ms)))
    };
    Ok(Json(state.reader.run(read).await?))
}

/// The streams so far.
#[derive(Default)]
struct CountedVisits {
    streams: u64,
    /// Whether the visit has a bad stream.
    has_bad: HashMap<VisitHash, bool>,
}

impl CountedVisits {
    fn add(&mut self, stream: &KeptStream<'_>) {
        let Some(visit) = stream.visit else { return };
        self.streams += 1;
        *self.has_bad.entry(visit).or_default() |=
            stream.report.outcome.is_eligible() && !stream.judgement.within_slo;
    }

    fn answer(&self, range: Range) -> Visits {
        let visits = self.has_bad.len() as u64;
        let with_bad_stream = self.has_bad.values().filter(|has_bad| **has_bad).count() as u64;
        let interval = (visits > 0).then(|| binomial::interval(with_bad_stream, visits));
        let (lower, upper) = interval.unzip();
        let share = share(with_bad_stream, visits);
        Visits { range, streams: self.streams, visits, with_bad_stream, share, lower, upper }
    }
}
