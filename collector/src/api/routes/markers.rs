//! `GET /v1/markers`: posted markers and first appearances of releases, in the order of their times.

use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::answer::csv::{self, Cell, Table};
use crate::api::request::params::{Format, MarkerKinds};
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::routes::releases::{Appearance, appearances};
use crate::api::state::ApiState;
use crate::http::error::ApiError;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::markers::{self, MarkerKind, MarkersQuery};

/// Markers of a range, the oldest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Markers {
    #[serde(flatten)]
    range: Range,
    /// The newest of the range, at most 500.
    markers: Vec<Marker>,
    /// Number of earlier markers of the range beyond these.
    omitted: usize,
}

/// A moment that explains a change of the figures.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Marker {
    timestamp_ms: i64,
    kind: MarkerKind,
    /// Name of the release, if `kind` is `release`.
    title: String,
    /// Absent if the marker concerns all sites.
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Absent if `kind` is `release`.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

query! {
    /// Parameters of the route.
    MarkerListQuery {
        range: AskedRange,
        filter: Filter,
        kinds: MarkerKinds,
        format: Format,
    }
}

/// Handles the route.
pub(crate) async fn markers(
    State(state): State<ApiState>,
    Query(query): Query<MarkerListQuery>,
) -> Result<Response, ApiError> {
    let MarkerListQuery { range, filter, kinds, format } = query;
    let range = range.at_present(&state);
    let read = move |store: &Backend<'_>| Markers::of(store, range, &filter, &kinds);
    Ok(csv::answer(format, state.reader.run(read).await?))
}

impl Markers {
    fn of(
        store: &Backend<'_>,
        range: Range,
        filter: &Filter,
        kinds: &MarkerKinds,
    ) -> Result<Self, StoreError> {
        let asked = MarkersQuery { filter, range_ms: (range.from_ms, range.to_ms) };
        let posted = store.markers(&asked)?.into_iter().map(Marker::from);
        let mut markers: Vec<_> = posted.filter(|marker| kinds.selects(marker.kind)).collect();
        let mut range = range;
        if kinds.selects(MarkerKind::Release) {
            let new;
            (range, new) = appearances(store, range, filter)?;
            markers.extend(new.into_iter().map(Marker::from));
        }
        markers.sort_by_key(|marker| marker.timestamp_ms);
        let omitted = markers.len().saturating_sub(MOST_IN_ANSWER);
        markers.drain(..omitted);
        Ok(Self { range, markers, omitted })
    }
}

impl From<markers::Marker> for Marker {
    fn from(markers::Marker { site, id, timestamp_ms, kind, title, url }: markers::Marker) -> Self {
        Self { timestamp_ms, kind, title, site, url, id: Some(id) }
    }
}

impl From<Appearance> for Marker {
    fn from(Appearance { site, release, timestamp_ms }: Appearance) -> Self {
        Self {
            timestamp_ms,
            kind: MarkerKind::Release,
            title: release,
            site: Some(site),
            url: None,
            id: None,
        }
    }
}

impl Table for Markers {
    fn header(&self) -> Vec<String> {
        ["timestamp_ms", "kind", "title", "site", "url", "id"].map(str::to_owned).into()
    }

    fn rows(&self) -> Vec<Vec<Cell>> {
        let text = |text: &Option<String>| text.clone().map_or(Cell::Empty, Cell::Text);
        let row = |marker: &Marker| {
            let kind = Cell::Text(marker.kind.as_str().to_owned());
            let title = Cell::Text(marker.title.clone());
            let rest = [&marker.site, &marker.url, &marker.id].map(text);
            [Cell::Whole(marker.timestamp_ms), kind, title].into_iter().chain(rest).collect()
        };
        self.markers.iter().map(row).collect()
    }
}

/// More cannot be told apart on a chart.
const MOST_IN_ANSWER: usize = 500;
