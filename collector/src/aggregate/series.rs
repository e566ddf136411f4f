//! Maps a report to its series. The number of values per dimension is limited for each site; further values count as
//! `other`. Names in the configuration are never limited, as senders could use up the limit first. Values that no stream
//! had lately make room for others, so that made-up names do not fill a site for ever.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::{Index, IndexMut};

use beacon::StreamReport;

use crate::aggregate::dimension::{ConfiguredNames, DIMENSIONS, Dimension, OTHER, UNKNOWN, values_of};
use crate::aggregate::operation::Operation;
use crate::config::{Config, Limits};
use crate::report::country::Country;

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
    values: [HashSet<String>; Dimension::COUNT],
    /// Number of combinations of labels.
    series: usize,
    /// Number of series by their last known dimension of windows only.
    window_series: [usize; Dimension::COUNT],
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
                book.all.push(Series::default());
            }
            book.insert(series, used_day);
        }
        book.mark_flushed();
        book
    }

    /// The series of a report that arrived on this day. Calls `overflow` for each limit that its values exceed.
    pub(crate) fn of(
        &mut self,
        report: &StreamReport,
        country: Option<Country>,
        day: i64,
        overflow: impl FnMut(Overflow),
    ) -> SeriesId {
        let values = values_of(report, country.as_ref());
        join(&mut self.scratch, values);
        if let Some(&id) = self.by_values.get(&self.scratch) {
            self.use_on(id, day);
            return id;
        }
        let mut exceeded = Vec::new();
        let mut series = self.within_limits(values, &mut exceeded);
        if !exceeded.is_empty() && self.counted_on != Some(day) {
            self.count_used(day);
            exceeded.clear();
            series = self.within_limits(values, &mut exceeded);
        }
        exceeded.into_iter().for_each(overflow);
        self.insert(series, day)
    }

    /// The values, with `other` for each that is over a limit.
    fn within_limits(&mut self, values: [&str; Dimension::COUNT], exceeded: &mut Vec<Overflow>) -> Series {
        let site = values[Dimension::Site as usize];
        let mut limited = Series(values.map(str::to_owned));
        for dimension in Dimension::all() {
            if self.has_no_room(site, dimension, &limited[dimension]) {
                exceeded.push(Overflow::Of(dimension));
                OTHER.clone_into(&mut limited[dimension]);
            }
        }
        let mut series = limited.labels_only();
        if !self.has(&series) && self.site(site, |known| known.series) >= self.limits.series {
            exceeded.push(Overflow::Series);
            for dimension in Dimension::labels().filter(|dimension| *dimension != Dimension::Site) {
                if !self.configured.outlives_series_limit(site, dimension, &series[dimension]) {
                    OTHER.clone_into(&mut series[dimension]);
                }
            }
        }
        for dimension in Dimension::window_only() {
            series[dimension].clone_from(&limited[dimension]);
            let count = self.site(site, |known| known.window_series[dimension as usize]);
            let is_named = series[dimension] != UNKNOWN && series[dimension] != OTHER;
            if is_named && !self.has(&series) && count >= self.limits.window_series {
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
        self.sites.clear();
        self.counted_on = Some(day);
        for id in 0..self.all.len() {
            if self.used_day[id] > day - UNUSED_DAYS {
                self.count(id);
            }
        }
    }

    /// Counts a series toward the limits of its site.
    fn count(&mut self, id: usize) {
        let series = &self.all[id];
        let site = &series[Dimension::Site];
        let known = self.sites.entry(site.clone()).or_default();
        for dimension in Dimension::all() {
            if self.configured.limit(&self.limits, site, dimension, &series[dimension]).is_some() {
                known.values[dimension as usize].insert(series[dimension].clone());
            }
        }
        match last_of_windows(series) {
            None => known.series += 1,
            Some(last) => known.window_series[last as usize] += 1,
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
        let day = self.used_day[series as usize];
        CumulativeKey { series: self.insert(with_model, day), operation }
    }

    /// Whether the series contains values over this limit.
    pub(crate) fn is_beyond(&self, series: SeriesId, limit: Overflow) -> bool {
        let series = &self.all[series as usize];
        let is_other = |dimension: Dimension| series[dimension] == OTHER;
        match limit {
            Overflow::Of(dimension) => is_other(dimension),
            Overflow::Series => {
                let site = &series[Dimension::Site];
                let outlives =
                    |dimension| self.configured.outlives_series_limit(site, dimension, &series[dimension]);
                let mut labels = Dimension::labels().filter(|dimension| *dimension != Dimension::Site);
                labels.all(|dimension| is_other(dimension) || outlives(dimension))
            }
        }
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

    fn has_no_room(&self, site: &str, dimension: Dimension, value: &str) -> bool {
        let Some(limit) = self.configured.limit(&self.limits, site, dimension, value) else { return false };
        self.sites.get(site).is_some_and(|known| {
            let values = &known.values[dimension as usize];
            !values.contains(value) && values.len() >= limit
        })
    }

    fn site(&self, site: &str, count: impl FnOnce(&SiteSeries) -> usize) -> usize {
        self.sites.get(site).map_or(0, count)
    }

    fn has(&mut self, series: &Series) -> bool {
        self.find(series).is_some()
    }

    fn find(&mut self, series: &Series) -> Option<SeriesId> {
        join(&mut self.scratch, series.0.each_ref().map(String::as_str));
        self.by_values.get(&self.scratch).copied()
    }

    fn insert(&mut self, series: Series, day: i64) -> SeriesId {
        if let Some(id) = self.find(&series) {
            self.use_on(id, day);
            return id;
        }
        // The limits of a dimension count combinations with all dimensions before it, so these become series too.
        let wider = last_of_windows(&series).map(|last| {
            let mut wider = series.clone();
            UNKNOWN.clone_into(&mut wider[last]);
            self.insert(wider, day)
        });
        let id = self.all.len() as SeriesId;
        join(&mut self.scratch, series.0.each_ref().map(String::as_str));
        self.by_values.insert(self.scratch.clone(), id);
        self.labels.push(wider.map_or(id, |wider| self.labels[wider as usize]));
        self.wider.push(wider.unwrap_or(id));
        self.used_day.push(day);
        self.all.push(series);
        self.count(id as usize);
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
