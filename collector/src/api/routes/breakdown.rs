//! `GET /v1/breakdown`: statistics per value of a dimension, and by how much its share of the failures exceeds its
//! share of the streams.

use std::borrow::Cow;
use std::cmp::Reverse;

use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::dimension::Dimension;
use crate::aggregate::metric::Metric;
use crate::aggregate::stream_dimension::KIND;
use crate::aggregate::window_stats::{Sum, WindowStats};
use crate::api::answer::csv::{self, Cell, Table};
use crate::api::answer::groups::Groups;
use crate::api::answer::percentiles::{Percentiles, relative_error};
use crate::api::answer::ratio::{Ratio, share};
use crate::api::answer::targets_in_view::{TargetsInView, TargetsOf, by_use_case};
use crate::api::request::params::{CompareTo, Format, GroupBy, Grouping, Limit};
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::request::schema;
use crate::api::state::ApiState;
use crate::http::error::ApiError;
use crate::stats::binomial;
use crate::store::backend::Backend;
use crate::store::filter::Filter;

/// Statistics by value of a dimension.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Breakdown {
    #[serde(flatten)]
    range: Range,
    #[schemars(schema_with = "schema::group_by")]
    by: Cow<'static, str>,
    /// The second dimension. Absent if the query groups by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    and_by: Option<Cow<'static, str>>,
    #[schemars(schema_with = "schema::metric")]
    metric: Metric,
    relative_error: f64,
    #[serde(flatten)]
    targets: TargetsInView,
    /// Most streams first.
    groups: Vec<Group>,
    /// Number of values with streams that `groups` leaves out.
    omitted: usize,
}

/// The streams with one value, or with one value of each dimension.
#[derive(Serialize, JsonSchema)]
struct Group {
    value: String,
    /// Value of the second dimension.
    #[serde(skip_serializing_if = "Option::is_none")]
    and_value: Option<String>,
    streams: u64,
    /// Share of all streams.
    share: f64,
    #[serde(flatten)]
    percentiles: Percentiles,
    integrity: Ratio,
    goodput: Ratio,
    errors: u64,
    /// Share of the eligible streams that missed their SLO, minus share of all eligible streams. Above 0, the
    /// value causes more than its share of failures. Absent if no stream missed its SLO.
    #[serde(skip_serializing_if = "Option::is_none")]
    excess_share: Option<f64>,
    /// Lower bound of `excess_share` with 95 % confidence. Above 0, chance alone hardly explains the excess.
    #[serde(skip_serializing_if = "Option::is_none")]
    excess_share_ci_lower: Option<f64>,
    /// Targets of the streams. Absent unless the dimension is `use_case`.
    #[serde(skip_serializing_if = "Option::is_none")]
    targets: Option<TargetsOf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<Earlier>,
}

/// The same value in the comparison period.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EarlierGroup")]
struct Earlier {
    streams: u64,
    #[serde(flatten)]
    percentiles: Percentiles,
}

query! {
    /// Parameters of the route.
    BreakdownQuery {
        range: AskedRange,
        filter: Filter,
        by: Grouping,
        metric: Metric,
        limit: Limit,
        compare_to: Option<CompareTo>,
        format: Format,
    }
}

/// Handles the route.
pub(crate) async fn breakdown(
    State(state): State<ApiState>,
    Query(query): Query<BreakdownQuery>,
) -> Result<Response, ApiError> {
    let BreakdownQuery { range, filter, by: grouping, metric, limit: Limit(limit), compare_to, format } =
        query;
    let Grouping { by, and_by } = grouping;
    let filter = if grouping.has(KIND) { filter.of_every_kind() } else { filter };
    let range = range.at_present(&state);
    let asked = filter.clone();
    let read_all = move |store: &Backend<'_>| {
        let metrics = metric.with_censored();
        let groups_of = |store: &Backend<'_>, range: Range| {
            let asked = range.windows(&filter, None, &metrics);
            Groups::read(store, &asked, grouping)
        };
        let earlier = |store: &Backend<'_>| {
            compare_to.map(|period| groups_of(store, range.earlier(period))).transpose()
        };
        store.both(
            |store| store.both(|store| groups_of(store, range), earlier),
            |store| by_use_case(store, range, &filter),
        )
    };
    let ((now, before), by_use_case) = state.reader.run(read_all).await?;
    let needs_streams = asked.needs_streams() || grouping.needs_streams();
    let earlier = match compare_to {
        Some(period) if range.earlier(period).with_kept_since(&state, needs_streams).await?.is_complete() => {
            before
        }
        _ => None,
    };
    let range = range.with_kept_since(&state, needs_streams).await?;
    let targets = TargetsInView::of(&state, &asked, &by_use_case);
    let mut groups = rows(&now, earlier.as_ref(), metric);
    let omitted = groups.len().saturating_sub(limit);
    groups.truncate(limit);
    if by.name() == Dimension::UseCase.name() && and_by.is_none() {
        for group in &mut groups {
            group.targets = Some(TargetsOf::of_use_case(&state, &asked, &group.value));
        }
    }
    let relative_error = relative_error();
    Ok(csv::answer(
        format,
        Breakdown {
            range,
            by: by.name(),
            and_by: and_by.map(GroupBy::name),
            metric,
            relative_error,
            targets,
            groups,
            omitted,
        },
    ))
}

/// The groups as rows of the answer, most streams first.
fn rows(all: &Groups, earlier: Option<&Groups>, which: Metric) -> Vec<Group> {
    let (streams, eligible) = (all.total(WindowStats::streams), all.total(WindowStats::eligible));
    let bad = eligible - all.total(|stats| stats.sum(Sum::WithinSlo));
    let nothing = WindowStats::default();
    let mut groups: Vec<_> = all
        .with_streams()
        .map(|(value, stats)| {
            let missed = stats.eligible() - stats.sum(Sum::WithinSlo);
            let traffic = share(stats.eligible(), eligible);
            let beyond_traffic = |bad_share: Option<f64>| bad_share.zip(traffic).map(|(bad, all)| bad - all);
            let lower_bound = (bad > 0).then(|| binomial::lower_bound(missed, bad));
            Group {
                value: value.0.clone(),
                and_value: value.1.clone(),
                streams: stats.streams(),
                share: share(stats.streams(), streams).unwrap_or_default(),
                percentiles: Percentiles::of(stats, which),
                integrity: Ratio::of(stats.sum(Sum::Intact), stats.eligible()),
                goodput: Ratio::of(stats.sum(Sum::WithinSlo), stats.eligible()),
                errors: stats.errors(),
                excess_share: beyond_traffic(share(missed, bad)),
                excess_share_ci_lower: beyond_traffic(lower_bound),
                targets: None,
                earlier: earlier
                    .map(|earlier| Earlier::of(earlier.by_values.get(value).unwrap_or(&nothing), which)),
            }
        })
        .collect();
    groups.sort_by_key(|group| Reverse(group.streams));
    groups
}

impl Earlier {
    fn of(stats: &WindowStats, which: Metric) -> Self {
        Self { streams: stats.streams(), percentiles: Percentiles::of(stats, which) }
    }
}

impl Table for Breakdown {
    fn header(&self) -> Vec<String> {
        let dimensions = [&self.by].into_iter().chain(&self.and_by).map(ToString::to_string);
        let names = dimensions.chain(["streams", "share"].map(str::to_owned));
        let names = names.chain(csv::percentile_columns(self.metric));
        let names = names.chain(["integrity", "goodput", "errors", "excess_share"].map(str::to_owned));
        names.chain(csv::km_adjusted_columns()).collect()
    }

    fn rows(&self) -> Vec<Vec<Cell>> {
        let row = |group: &Group| {
            let values = [&group.value].into_iter().chain(&group.and_value);
            let mut row: Vec<_> = values.map(|value| Cell::Text(value.clone())).collect();
            row.extend([group.streams.into(), Some(group.share).into()]);
            row.extend(csv::percentile_cells(&group.percentiles));
            row.extend([
                group.integrity.ratio.into(),
                group.goodput.ratio.into(),
                group.errors.into(),
                group.excess_share.into(),
            ]);
            row.extend(csv::km_adjusted_cells(&group.percentiles));
            row
        };
        self.groups.iter().map(row).collect()
    }
}
