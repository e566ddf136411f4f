//! `GET /v1/releases`: the releases of the app in a range, each compared with the one before it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use beacon::Outcome;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::answer::difference::Difference;
use crate::api::answer::kept_streams::was_abandoned;
use crate::api::answer::ratio::Ratio;
use crate::api::request::query_string::{Query, query};
use crate::api::request::range::{AskedRange, Range};
use crate::api::state::ApiState;
use crate::http::error::ApiError;
use crate::stats::binomial::quantile_ranks;
use crate::stats::onset::appeared_late;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::KeptStream;

/// Releases of the app, the newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Releases {
    #[serde(flatten)]
    range: Range,
    /// Streams whose page names no release.
    without_release: u64,
    /// The newest by their first stream, at most 50.
    releases: Vec<Release>,
}

/// One release of the app.
#[derive(Serialize, JsonSchema)]
struct Release {
    site: String,
    release: String,
    /// End of its first stream in the range.
    first_ms: i64,
    /// End of its last stream in the range.
    last_ms: i64,
    /// Whether the release appeared within the range. False if it has too few streams to tell.
    is_new: bool,
    streams: u64,
    /// Median time to first visible token. Absent without a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttfv_p50_ms: Option<f64>,
    integrity: Ratio,
    goodput: Ratio,
    /// Streams that their users left or stopped before the first visible token, of all that were observed.
    abandonment: Ratio,
    /// A new release minus the one that most of the site's 100 streams before it had. Absent without such a release.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_to: Option<Comparison>,
}

/// A release minus the one before it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReleaseComparison")]
struct Comparison {
    release: String,
    /// In milliseconds. Absent with too few values.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttfv_p50_ms: Option<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    integrity: Option<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goodput: Option<Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    abandonment: Option<Difference>,
}

query! {
    /// Parameters of the route.
    ReleasesQuery {
        range: AskedRange,
        filter: Filter,
    }
}

/// Handles the route.
pub(crate) async fn releases(
    State(state): State<ApiState>,
    Query(query): Query<ReleasesQuery>,
) -> Result<Response, ApiError> {
    let ReleasesQuery { range, filter } = query;
    let range = range.at_present(&state);
    let read = move |store: &Backend<'_>| Releases::of(store, range, &filter);
    Ok(Json(state.reader.run(read).await?).into_response())
}

impl Releases {
    fn of(store: &Backend<'_>, range: Range, filter: &Filter) -> Result<Self, StoreError> {
        let mut sites: BTreeMap<String, Site> = BTreeMap::new();
        let mut since_ms = None;
        store.each_kept(
            range.kept_streams(filter, ["site", "page_release"]),
            |kept| since_ms = kept,
            |stream| {
                let site = stream.report.site.as_deref().unwrap_or_default();
                sites.entry(site.to_owned()).or_default().add(stream);
            },
        )?;
        let without_release = sites.values().map(Site::without_release).sum();
        let mut releases: Vec<_> = sites.into_iter().flat_map(|(name, site)| site.compared(&name)).collect();
        releases.sort_by_key(|release| Reverse(release.first_ms));
        releases.truncate(MOST_RELEASES);
        Ok(Self { range: range.kept_since(since_ms), without_release, releases })
    }
}

/// The first appearance of a release.
pub(crate) struct Appearance {
    pub(crate) site: String,
    pub(crate) release: String,
    pub(crate) timestamp_ms: i64,
}

/// The releases that appeared within the range, and the range with the time since which all its streams are kept.
pub(crate) fn appearances(
    store: &Backend<'_>,
    range: Range,
    filter: &Filter,
) -> Result<(Range, Vec<Appearance>), StoreError> {
    let Releases { range, releases, .. } = Releases::of(store, range, filter)?;
    let new = releases.into_iter().filter(|release| release.is_new);
    let appearance =
        |Release { site, release, first_ms, .. }| Appearance { site, release, timestamp_ms: first_ms };
    Ok((range, new.map(appearance).collect()))
}

/// Streams of a site.
#[derive(Default)]
struct Site {
    /// End and release of each stream.
    streams: Vec<(i64, Option<String>)>,
    by_release: BTreeMap<String, Counts>,
}

impl Site {
    fn add(&mut self, stream: &KeptStream<'_>) {
        let release = stream.report.page.as_ref().and_then(|page| page.release.as_deref());
        self.streams.push((stream.received_ms, release.map(str::to_owned)));
        let Some(release) = release else { return };
        // Pages choose the names: further ones are left out.
        if self.by_release.len() < MOST_COUNTED || self.by_release.contains_key(release) {
            self.by_release.entry(release.to_owned()).or_default().add(stream);
        }
    }

    fn without_release(&self) -> u64 {
        self.streams.iter().filter(|(_, release)| release.is_none()).count() as u64
    }

    fn compared(mut self, site: &str) -> Vec<Release> {
        self.streams.sort_unstable_by_key(|(ended_ms, _)| *ended_ms);
        self.by_release.values_mut().for_each(|counts| counts.waits_ms.sort_by(f64::total_cmp));
        let release = |(release, counts): (&String, &Counts)| {
            let earlier = self.streams.partition_point(|(ended_ms, _)| *ended_ms < counts.first_ms);
            let is_new = appeared_late(counts.streams, earlier as u64, self.streams.len() as u64, CHANCE);
            let before = is_new.then(|| self.most_frequent_before(earlier)).flatten();
            Release {
                site: site.to_owned(),
                release: release.clone(),
                first_ms: counts.first_ms,
                last_ms: counts.last_ms,
                is_new,
                streams: counts.streams,
                ttfv_p50_ms: counts.median(),
                integrity: counts.integrity.ratio(),
                goodput: counts.goodput.ratio(),
                abandonment: counts.abandonment.ratio(),
                compared_to: before.map(|(release, before)| counts.compared_to(release, before)),
            }
        };
        self.by_release.iter().map(release).collect()
    }

    /// The release of most of the streams just before the stream with this number.
    fn most_frequent_before(&self, number: usize) -> Option<(&str, &Counts)> {
        let mut streams: BTreeMap<&str, u32> = BTreeMap::new();
        let just_before = &self.streams[number.saturating_sub(JUST_BEFORE)..number];
        for release in just_before.iter().filter_map(|(_, release)| release.as_deref()) {
            *streams.entry(release).or_default() += 1;
        }
        let (release, _) = streams.into_iter().max_by_key(|(_, streams)| *streams)?;
        Some((release, self.by_release.get(release)?))
    }
}

/// Counts of one release.
#[derive(Default)]
struct Counts {
    first_ms: i64,
    last_ms: i64,
    streams: u64,
    /// Times to first visible token; sorted once all are in.
    waits_ms: Vec<f64>,
    integrity: Share,
    goodput: Share,
    abandonment: Share,
}

#[derive(Default, Clone, Copy)]
struct Share {
    count: u64,
    all: u64,
}

impl Share {
    fn add(&mut self, is_in: bool) {
        self.count += u64::from(is_in);
        self.all += 1;
    }

    fn ratio(self) -> Ratio {
        Ratio::of(self.count, self.all)
    }

    fn minus(self, other: Self) -> Option<Difference> {
        Difference::of_shares((self.count, self.all), (other.count, other.all))
    }
}

impl Counts {
    fn add(&mut self, stream: &KeptStream<'_>) {
        let report = stream.report;
        self.first_ms =
            if self.streams == 0 { stream.received_ms } else { self.first_ms.min(stream.received_ms) };
        self.last_ms = self.last_ms.max(stream.received_ms);
        self.streams += 1;
        self.waits_ms.extend(report.ttfv_ms);
        if report.outcome.is_eligible() {
            self.integrity.add(report.is_intact());
            self.goodput.add(stream.judgement.within_slo);
        }
        if report.outcome != Outcome::Unobserved {
            self.abandonment.add(was_abandoned(report));
        }
    }

    fn median(&self) -> Option<f64> {
        self.waits_ms.get(self.waits_ms.len().div_ceil(2).checked_sub(1)?).copied()
    }

    /// The values between which the median lies with 95 % confidence.
    fn median_interval(&self) -> Option<(f64, f64)> {
        let (lower, upper) = quantile_ranks(self.waits_ms.len() as u64, 0.5);
        let at = |rank: u64| self.waits_ms[rank as usize - 1];
        Some((at(lower?), at(upper?)))
    }

    fn compared_to(&self, release: &str, before: &Self) -> Comparison {
        let medians = self.median_interval().zip(before.median_interval());
        let ttfv_p50_ms = medians.map(|(now, before)| Difference::of_intervals(now, before));
        Comparison {
            release: release.to_owned(),
            ttfv_p50_ms,
            integrity: self.integrity.minus(before.integrity),
            goodput: self.goodput.minus(before.goodput),
            abandonment: self.abandonment.minus(before.abandonment),
        }
    }
}

/// Most releases in an answer.
const MOST_RELEASES: usize = 50;

/// Most releases of a site that are counted.
const MOST_COUNTED: usize = 500;

/// The streams before a new release among which the release before it is looked for.
const JUST_BEFORE: usize = 100;

/// Chance that a release is called new although it was in use from the start.
const CHANCE: f64 = 0.001;
