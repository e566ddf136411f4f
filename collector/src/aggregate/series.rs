//! Maps a report to its series. The number of values per dimension is limited for each site; further values count as
//! `other`. Names in the configuration are never limited, as senders could use up the limit first. Values that no stream
//! had lately make room for others, so that made-up names do not fill a site for ever. One network has only a share of
//! each limit (`newcomers.rs`).

mod newcomers;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::ops::{Index, IndexMut};

use beacon::StreamReport;

use crate::aggregate::dimension::{ConfiguredNames, DIMENSIONS, Dimension, OTHER, UNKNOWN, values_of};
use crate::aggregate::operation::Operation;
use crate::config::{Config, Limits};
use crate::report::country::Country;
pub(crate) use newcomers::Arrival;
use newcomers::{KnownValues, share};

/// The value of each dimension.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Series([String; Dimension::COUNT]);

/// Number of a series, in memory and in the store.
pub(crate) type SeriesId = u32;

/// Which cumulative statistics a stream belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CumulativeKey {
    pub(crate) series: SeriesId,
    pub(crate) operation: Operation,
}

/// A limit that a site has exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Overflow {
    /// Values of a dimension, or series with a dimension of windows only.
    Of(Dimension),
    /// Combinations of labels.
    Series,
}

impl Overflow {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let limited = DIMENSIONS.iter().filter(|spec| spec.is_limited());
        limited.map(|spec| Self::Of(spec.dimension)).chain([Self::Series])
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Of(dimension) => dimension.name(),
            Self::Series => "series",
        }
    }
}

/// All series.
pub(crate) struct SeriesIndex {
    limits: Limits,
    configured: ConfiguredNames,
    all: Vec<Series>,
    /// For each series, the one with the same labels and nothing else.
    labels: Vec<SeriesId>,
    /// For each series, the one without its last known dimension of windows only. Itself if it has none.
    wider: Vec<SeriesId>,
    /// For each series, the day of its last stream; [`NEVER`] for a deleted series.
    used_day: Vec<i64>,
    /// For each series, the network that brought it. `None` if it is not known.
    brought_by: Vec<Option<u64>>,
    /// Series whose last stream is of a later day than the store knows.
    newly_used: BTreeSet<SeriesId>,
    /// Day on which the series that count toward limits were last selected. `None`: all stored series count.
    counted_on: Option<i64>,
    /// Whether OTLP needs cumulative statistics by response model and operation. Prometheus merges them.
    splits_cumulative: bool,
    /// By all values, joined with zero bytes; no value contains one.
    by_values: HashMap<String, SeriesId>,
    sites: HashMap<String, SiteSeries>,
    /// Number of series that the store has.
    stored: usize,
    scratch: String,
}

/// Values and series of a site that limits count.
#[derive(Default)]
struct SiteSeries {
    values: [KnownValues; Dimension::COUNT],
    /// Number of series by their last known dimension of windows only: `None` for combinations of labels.
    series: HashMap<Option<Dimension>, usize>,
    /// The same for those that each network brought.
    brought: HashMap<(u64, Option<Dimension>), usize>,
}

impl SeriesIndex {
    /// Restores the stored series, in the order of their numbers. The numbers between them belong to deleted series.
    pub(crate) fn new(config: &Config, stored: impl IntoIterator<Item = StoredSeries>) -> Self {
        let mut book = Self {
            limits: config.limits.clone(),
            configured: ConfiguredNames::of(config),
            all: Vec::new(),
            labels: Vec::new(),
            wider: Vec::new(),
            used_day: Vec::new(),
            brought_by: Vec::new(),
            newly_used: BTreeSet::new(),
            counted_on: None,
            splits_cumulative: config.otlp.endpoint.is_some(),
            by_values: HashMap::new(),
            sites: HashMap::new(),
            stored: 0,
            scratch: String::new(),
        };
        for StoredSeries { id, series, used_day } in stored {
            while book.all.len() < id as usize {
                book.labels.push(book.all.len() as SeriesId);
                book.wider.push(book.all.len() as SeriesId);
                book.used_day.push(NEVER);
                book.brought_by.push(None);
                book.all.push(Series::default());
            }
            book.insert(series, used_day, None);
        }
        book.mark_flushed();
        book
    }

    /// The series of a report. Calls `overflow` for each limit that its values exceed.
    pub(crate) fn of(
        &mut self,
        report: &StreamReport,
        country: Option<Country>,
        arrival: Arrival,
        overflow: impl FnMut(Overflow),
    ) -> SeriesId {
        let (values, day) = (values_of(report, country.as_ref()), arrival.day());
        join(&mut self.scratch, values);
        if let Some(&id) = self.by_values.get(&self.scratch) {
            self.use_on(id, day);
            return id;
        }
        let mut exceeded = Vec::new();
        let mut series = self.within_limits(values, arrival, &mut exceeded);
        if !exceeded.is_empty() && self.counted_on != Some(day) {
            self.count_used(day);
            exceeded.clear();
            series = self.within_limits(values, arrival, &mut exceeded);
        }
        exceeded.into_iter().for_each(overflow);
        self.insert(series, day, arrival.source.network())
    }

    /// The values, with `other` for each that is over a limit.
    fn within_limits(
        &mut self,
        values: [&str; Dimension::COUNT],
        arrival: Arrival,
        exceeded: &mut Vec<Overflow>,
    ) -> Series {
        let site = values[Dimension::Site as usize];
        let mut limited = Series(values.map(str::to_owned));
        for dimension in Dimension::all() {
            if !self.has_room_for_value(site, dimension, &limited[dimension], arrival) {
                exceeded.push(Overflow::Of(dimension));
                OTHER.clone_into(&mut limited[dimension]);
            }
        }
        let mut series = limited.labels_only();
        if !self.has(&series) && !self.has_room_for_series(site, None, arrival) {
            let unconfigured = |dimension: &Dimension| {
                *dimension != Dimension::Site && !self.configured.has(site, *dimension, &series[*dimension])
            };
            let unconfigured: Vec<_> = Dimension::labels().filter(unconfigured).collect();
            // Configured names have a place in every combination.
            if !unconfigured.is_empty() {
                exceeded.push(Overflow::Series);
            }
            unconfigured.into_iter().for_each(|dimension| OTHER.clone_into(&mut series[dimension]));
        }
        for dimension in Dimension::window_only() {
            series[dimension].clone_from(&limited[dimension]);
            let is_named = series[dimension] != UNKNOWN && series[dimension] != OTHER;
            if is_named && !self.has(&series) && !self.has_room_for_series(site, Some(dimension), arrival) {
                exceeded.push(Overflow::Of(dimension));
                OTHER.clone_into(&mut series[dimension]);
            }
        }
        series
    }

    /// Records a stream of the series on this day. It belongs to the wider series, too.
    fn use_on(&mut self, id: SeriesId, day: i64) {
        let mut next = Some(id);
        while let Some(id) = next.take() {
            let at = id as usize;
            if self.used_day[at] < day {
                self.used_day[at] = day;
                self.newly_used.insert(id);
                next = Some(self.wider[at]).filter(|wider| *wider != id);
            }
        }
    }

    /// Counts the values and series of each site anew: only series with streams of the last days.
    fn count_used(&mut self, day: i64) {
        let mut before = mem::take(&mut self.sites);
        self.counted_on = Some(day);
        for id in 0..self.all.len() {
            if self.used_day[id] > day - UNUSED_DAYS {
                self.count(id, Some(&before));
            }
        }
        for (site, before) in &mut before {
            let known = self.sites.entry(site.clone()).or_default();
            for (values, before) in known.values.iter_mut().zip(&mut before.values) {
                values.take_candidates(before);
            }
        }
    }

    /// Counts a series toward the limits of its site. `before`: the counts that are replaced, if they are.
    fn count(&mut self, id: usize, before: Option<&HashMap<String, SiteSeries>>) {
        let (series, network) = (&self.all[id], self.brought_by[id]);
        let site = &series[Dimension::Site];
        let known = self.sites.entry(site.clone()).or_default();
        for dimension in Dimension::all() {
            let value = &series[dimension];
            if self.configured.limit(&self.limits, site, dimension, value).is_some() {
                let values = &mut known.values[dimension as usize];
                match before {
                    Some(before) => {
                        let before = before.get(site).map(|before| &before.values[dimension as usize]);
                        values.insert_again(value, before);
                    }
                    None => values.insert(value, network),
                }
            }
        }
        let last = last_of_windows(series);
        *known.series.entry(last).or_default() += 1;
        if let Some(network) = network {
            *known.brought.entry((network, last)).or_default() += 1;
        }
    }

    /// The cumulative statistics of a report in this series. Without OTLP, they are by labels alone.
    pub(crate) fn cumulative(&mut self, series: SeriesId, report: &StreamReport) -> CumulativeKey {
        if !self.splits_cumulative {
            let series = self.labels[series as usize];
            return CumulativeKey { series, operation: Operation::default() };
        }
        let mut with_model = self.all[series as usize].clone();
        for dimension in Dimension::window_only().filter(|kept| *kept != Dimension::ResponseModel) {
            UNKNOWN.clone_into(&mut with_model[dimension]);
        }
        let operation = Operation::of_dialect(report.dialect.as_deref());
        let (day, network) = (self.used_day[series as usize], self.brought_by[series as usize]);
        CumulativeKey { series: self.insert(with_model, day, network), operation }
    }

    /// Whether the series contains values over this limit.
    pub(crate) fn is_beyond(&self, series: SeriesId, limit: Overflow) -> bool {
        let series = &self.all[series as usize];
        let is_other = |dimension: Dimension| series[dimension] == OTHER;
        match limit {
            Overflow::Of(dimension) => is_other(dimension),
            Overflow::Series => {
                let site = &series[Dimension::Site];
                let keeps = |dimension| self.configured.has(site, dimension, &series[dimension]);
                let labels: Vec<_> = Dimension::labels().filter(|label| *label != Dimension::Site).collect();
                labels.iter().any(|label| is_other(*label)) && labels.into_iter().all(keeps)
            }
        }
    }

    /// The site of a series. Empty for a deleted one.
    pub(crate) fn site_of(&self, series: SeriesId) -> &str {
        self.all.get(series as usize).map_or("", |series| &series[Dimension::Site])
    }

    /// Whether a series is of the report's site. A deleted one may have been.
    pub(crate) fn may_be_of_site(&self, series: SeriesId, report: &StreamReport) -> bool {
        let site = self.site_of(series);
        site.is_empty() || site == values_of(report, None)[Dimension::Site as usize]
    }

    /// Series that the store does not have yet, with the days of their last streams.
    pub(crate) fn unflushed(&self) -> impl Iterator<Item = (SeriesId, &Series, i64)> {
        let new = self.all.iter().zip(&self.used_day).enumerate().skip(self.stored);
        new.map(|(id, (series, used_day))| (id as SeriesId, series, *used_day))
    }

    /// Stored series whose last stream is of a later day than the store knows, with that day.
    pub(crate) fn newly_used(&self) -> impl Iterator<Item = (SeriesId, i64)> {
        let stored = self.newly_used.range(..self.stored as SeriesId);
        stored.map(|id| (*id, self.used_day[*id as usize]))
    }

    /// The store has all series and days now.
    pub(crate) fn mark_flushed(&mut self) {
        self.stored = self.all.len();
        self.newly_used.clear();
    }

    fn has_room_for_value(
        &mut self,
        site: &str,
        dimension: Dimension,
        value: &str,
        arrival: Arrival,
    ) -> bool {
        let Some(limit) = self.configured.limit(&self.limits, site, dimension, value) else { return true };
        self.site(site).values[dimension as usize].has_room_for(value, limit, arrival)
    }

    /// Whether the site may have one more series whose last known dimension of windows only is this. `None`: one more
    /// combination of labels. A network brings at most half of them.
    fn has_room_for_series(&mut self, site: &str, last: Option<Dimension>, arrival: Arrival) -> bool {
        let limit = if last.is_none() { self.limits.series } else { self.limits.window_series };
        let known = self.site(site);
        let count = known.series.get(&last).copied().unwrap_or_default();
        let brought = |network| known.brought.get(&(network, last)).copied().unwrap_or_default();
        count < limit && arrival.source.network().is_none_or(|network| brought(network) < share(limit, 1, 2))
    }

    fn site(&mut self, site: &str) -> &mut SiteSeries {
        if !self.sites.contains_key(site) {
            self.sites.insert(site.to_owned(), SiteSeries::default());
        }
        self.sites.get_mut(site).expect("it was just inserted")
    }

    fn has(&mut self, series: &Series) -> bool {
        self.find(series).is_some()
    }

    fn find(&mut self, series: &Series) -> Option<SeriesId> {
        join(&mut self.scratch, series.0.each_ref().map(String::as_str));
        self.by_values.get(&self.scratch).copied()
    }

    fn insert(&mut self, series: Series, day: i64, network: Option<u64>) -> SeriesId {
        if let Some(id) = self.find(&series) {
            self.use_on(id, day);
            return id;
        }
        // The limits of a dimension count combinations with all dimensions before it, so these become series too.
        let wider = last_of_windows(&series).map(|last| {
            let mut wider = series.clone();
            UNKNOWN.clone_into(&mut wider[last]);
            self.insert(wider, day, network)
        });
        let id = self.all.len() as SeriesId;
        join(&mut self.scratch, series.0.each_ref().map(String::as_str));
        self.by_values.insert(self.scratch.clone(), id);
        self.labels.push(wider.map_or(id, |wider| self.labels[wider as usize]));
        self.wider.push(wider.unwrap_or(id));
        self.used_day.push(day);
        self.brought_by.push(network);
        self.all.push(series);
        self.count(id as usize, None);
        id
    }
}

/// The last dimension of windows only that has a value.
fn last_of_windows(series: &Series) -> Option<Dimension> {
    Dimension::window_only().rfind(|dimension| series[*dimension] != UNKNOWN)
}

/// A series as the store has it.
pub(crate) struct StoredSeries {
    pub(crate) id: SeriesId,
    pub(crate) series: Series,
    /// Day of its last stream.
    pub(crate) used_day: i64,
}

impl Series {
    pub(crate) const fn new(values: [String; Dimension::COUNT]) -> Self {
        Self(values)
    }

    /// The series as the report names it, regardless of limits, for cumulative statistics.
    pub(crate) fn named_by(report: &StreamReport) -> Self {
        Self(values_of(report, None).map(str::to_owned)).labels_only()
    }

    /// All values, in the order of columns.
    pub(crate) const fn values(&self) -> &[String; Dimension::COUNT] {
        &self.0
    }

    /// The same labels, without dimensions of windows only.
    pub(crate) fn labels_only(&self) -> Self {
        let mut series = self.clone();
        for dimension in Dimension::window_only() {
            UNKNOWN.clone_into(&mut series[dimension]);
        }
        series
    }
}

impl Index<Dimension> for Series {
    type Output = String;

    fn index(&self, dimension: Dimension) -> &String {
        &self.0[dimension as usize]
    }
}

impl IndexMut<Dimension> for Series {
    fn index_mut(&mut self, dimension: Dimension) -> &mut String {
        &mut self.0[dimension as usize]
    }
}

fn join(scratch: &mut String, values: [&str; Dimension::COUNT]) {
    scratch.clear();
    for value in values {
        scratch.push_str(value);
        scratch.push('\0');
    }
}

/// A value without a stream on this many days, the present one included, makes room for others.
pub(crate) const UNUSED_DAYS: i64 = 3;

/// Last day of a deleted series.
const NEVER: i64 = i64::MIN;
