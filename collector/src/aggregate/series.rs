//! Maps a report to its series. The number of values per dimension is limited for each site; further values count as
//! `other`. Names in the configuration are never limited, as senders could use up the limit first. Values that no stream
//! had lately make room for others, so that made-up names do not fill a site for ever.

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
    /// For each series, the day of its last stream. A series beside these is deleted.
    used_day: Vec<i64>,
    /// Series whose day the store does not know.
    newly_used: BTreeSet<SeriesId>,
    /// Day of the last count of what limits bound. `None`: everything stored counts.
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

    /// Notes a stream of the series on this day, and so of the series that it is a part of.
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

    /// Counts what limits bound anew: only series with streams of the last days.
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

    /// Series in the store with a later last day than it has.
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

/// Day of a deleted series.
const NEVER: i64 = i64::MIN;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::targets::Targets;

    fn report(model: &str, provider: &str) -> StreamReport {
        StreamReport {
            site: Some("demo".into()),
            use_case: Some("chat".into()),
            provider: Some(provider.to_owned().into()),
            model: Some(model.to_owned().into()),
            ..StreamReport::new("0")
        }
    }

    fn limits(models: usize, series: usize) -> Config {
        Config { limits: Limits { models, series, ..Limits::default() }, ..Config::default() }
    }

    const DAY: i64 = 20_000;

    /// All series as the store has them.
    fn numbered(book: &SeriesIndex) -> Vec<StoredSeries> {
        let all = book.all.iter().zip(&book.used_day).zip(0..);
        all.map(|((series, used_day), id)| StoredSeries { id, series: series.clone(), used_day: *used_day })
            .collect()
    }

    #[test]
    fn names_without_streams_make_room_for_others() {
        let mut book = SeriesIndex::new(&limits(2, 2000), []);
        let name_of = |book: &mut SeriesIndex, model: &str, day: i64| {
            let id = book.of(&report(model, "p"), None, day, |_| {});
            book.all[id as usize][Dimension::Model].clone()
        };
        name_of(&mut book, "kept", DAY);
        name_of(&mut book, "made-up", DAY);
        assert_eq!(name_of(&mut book, "late", DAY), OTHER);
        name_of(&mut book, "kept", DAY + 2);
        assert_eq!(name_of(&mut book, "late", DAY + 2), OTHER, "the made-up name was used two days ago");
        // Also after a restart.
        for mut book in [SeriesIndex::new(&limits(2, 2000), numbered(&book)), book] {
            assert_eq!(name_of(&mut book, "late", DAY + 3), "late");
            assert_eq!(name_of(&mut book, "kept", DAY + 3), "kept");
            assert_eq!(name_of(&mut book, "more", DAY + 3), OTHER);
            assert_eq!(name_of(&mut book, "made-up", DAY + 3), "made-up", "it has its series already");
        }
    }

    #[test]
    fn combinations_without_streams_make_room_for_others() {
        let mut config = limits(100, 2000);
        config.limits.window_series = 2;
        let mut book = SeriesIndex::new(&config, []);
        let country_of = |book: &mut SeriesIndex, code: &str, day: i64| {
            let id = book.of(&report("a", "p"), Country::of_code(code), day, |_| {});
            book.all[id as usize][Dimension::Country].clone()
        };
        assert_eq!(["DE", "FR", "IT"].map(|code| country_of(&mut book, code, DAY)), ["DE", "FR", OTHER]);
        assert_eq!(country_of(&mut book, "DE", DAY + 3), "DE");
        assert_eq!(country_of(&mut book, "IT", DAY + 3), "IT");
        assert_eq!(country_of(&mut book, "ES", DAY + 3), OTHER);
    }

    #[test]
    fn the_store_learns_each_day_of_a_series_once() {
        let mut book = SeriesIndex::new(&Config::default(), []);
        let id = book.of(&report("a", "p"), Country::of_code("DE"), DAY, |_| {});
        assert_eq!((book.unflushed().count(), book.newly_used().count()), (2, 0));
        book.mark_flushed();
        book.of(&report("a", "p"), Country::of_code("DE"), DAY, |_| {});
        assert_eq!(book.newly_used().count(), 0);
        book.of(&report("a", "p"), Country::of_code("DE"), DAY + 1, |_| {});
        assert_eq!(book.newly_used().collect::<Vec<_>>(), [(id - 1, DAY + 1), (id, DAY + 1)]);
        // A clock that was set back changes nothing.
        book.mark_flushed();
        book.of(&report("a", "p"), Country::of_code("DE"), DAY, |_| {});
        assert_eq!(book.newly_used().count(), 0);
    }

    #[test]
    fn deleted_series_leave_all_others_their_numbers() {
        let mut book = SeriesIndex::new(&Config::default(), []);
        let ids = ["a", "b", "c"].map(|model| book.of(&report(model, "p"), None, DAY, |_| unreachable!()));
        let mut stored = numbered(&book);
        stored.remove(1);
        let mut book = SeriesIndex::new(&limits(2, 2), stored);
        assert_eq!(book.of(&report("a", "p"), None, DAY, |_| unreachable!()), ids[0]);
        assert_eq!(book.of(&report("c", "p"), None, DAY, |_| unreachable!()), ids[2]);
        assert_eq!(book.unflushed().count(), 0);
        let mut overflowed = 0;
        let other = book.of(&report("b", "p"), None, DAY, |_| overflowed += 1);
        assert!(other > ids[2] && overflowed > 0, "limits count the series that are left");
        assert_eq!(book.cumulative(ids[2], &report("c", "p")).series, ids[2]);
    }

    #[test]
    fn the_same_labels_are_the_same_series() {
        let mut book = SeriesIndex::new(&Config::default(), []);
        let first = book.of(&report("a", "p"), None, DAY, |_| unreachable!());
        assert_eq!(book.of(&report("a", "p"), None, DAY, |_| unreachable!()), first);
        assert_ne!(book.of(&report("b", "p"), None, DAY, |_| unreachable!()), first);
    }

    #[test]
    fn models_over_the_limit_share_the_series_other() {
        let mut book = SeriesIndex::new(&limits(100, 2000), []);
        let mut overflowed = 0;
        for n in 0..1_000 {
            book.of(&report(&format!("made-up-{n}"), "p"), None, DAY, |kind| {
                assert_eq!(kind, Overflow::Of(Dimension::Model));
                overflowed += 1;
            });
        }
        assert_eq!((book.all.len(), overflowed), (101, 900));
        assert_eq!(book.all.last().unwrap()[Dimension::Model], OTHER);
    }

    #[test]
    fn combinations_are_bounded_too() {
        let mut book = SeriesIndex::new(&limits(100, 10), []);
        let mut kinds = Vec::new();
        for n in 0..20 {
            book.of(&report(&format!("m{n}"), &format!("p{n}")), None, DAY, |kind| kinds.push(kind));
        }
        assert_eq!(book.all.len(), 11);
        assert_eq!(kinds, [Overflow::Series; 10]);
    }

    #[test]
    fn stored_series_count_toward_the_limit() {
        let mut book = SeriesIndex::new(&limits(1, 2000), []);
        book.of(&report("a", "p"), None, DAY, |_| {});
        let mut book = SeriesIndex::new(&limits(1, 2000), numbered(&book));
        assert_eq!(book.unflushed().count(), 0);
        let other = book.of(&report("b", "p"), None, DAY, |_| {});
        assert_eq!(book.all[other as usize][Dimension::Model], OTHER);
    }

    #[test]
    fn configured_names_keep_their_series_beyond_the_limits() {
        let mut config = limits(3, 8);
        config.limits.use_cases = 3;
        config.models = BTreeMap::from([("gpt-5-*".to_owned(), "gpt-5".to_owned())]);
        config.targets = BTreeMap::from([("search".to_owned(), Targets::default().into())]);
        let of = |book: &mut SeriesIndex, use_case: &str, model: &str, kinds: &mut Vec<_>| {
            let report = StreamReport { use_case: Some(use_case.to_owned().into()), ..report(model, "p") };
            let id = book.of(&report, None, DAY, |kind| kinds.push(kind));
            (
                book.all[id as usize][Dimension::UseCase].clone(),
                book.all[id as usize][Dimension::Model].clone(),
            )
        };
        let mut book = SeriesIndex::new(&config, []);
        for n in 0..6 {
            of(&mut book, &format!("u{n}"), &format!("m{n}"), &mut Vec::new());
        }
        // Also after a restart, when the names from other senders are known.
        for mut book in [SeriesIndex::new(&config, numbered(&book)), book] {
            let mut kinds = Vec::new();
            for use_case in ["search", "chat"] {
                let named = of(&mut book, use_case, "gpt-5", &mut kinds);
                assert_eq!(named, (use_case.to_owned(), "gpt-5".to_owned()));
                of(&mut book, use_case, "m0", &mut Vec::new());
            }
            assert_eq!(kinds, []);
            assert_eq!(of(&mut book, "u4", "m4", &mut kinds), (OTHER.to_owned(), OTHER.to_owned()));
            // No combination is left, but the use case keeps its name.
            assert_eq!(of(&mut book, "search", "m1", &mut kinds), ("search".to_owned(), OTHER.to_owned()));
            assert_eq!(
                kinds,
                [Overflow::Of(Dimension::UseCase), Overflow::Of(Dimension::Model), Overflow::Series]
            );
        }
    }

    #[test]
    fn countries_have_a_limit_of_their_own_and_displace_no_model() {
        let mut config = limits(100, 4);
        config.limits.window_series = 3;
        let mut book = SeriesIndex::new(&config, []);
        let mut kinds = Vec::new();
        for code in ["DE", "FR", "IT", "ES", "PT", "DE"] {
            book.of(&report("a", "p"), Country::of_code(code), DAY, |kind| kinds.push(kind));
        }
        let countries: Vec<_> = book.all.iter().map(|series| series[Dimension::Country].as_str()).collect();
        assert_eq!(countries, [UNKNOWN, "DE", "FR", "IT", OTHER]);
        assert_eq!(kinds, [Overflow::Of(Dimension::Country); 2]);
        for model in ["b", "c", "d"] {
            book.of(&report(model, "p"), Country::of_code("DE"), DAY, |kind| {
                assert_eq!(kind, Overflow::Of(Dimension::Country));
            });
        }
        assert!(book.all.iter().any(|series| series[Dimension::Model] == "d"));
    }

    #[test]
    fn response_models_have_limits_and_displace_no_country() {
        let mut config = limits(2, 2000);
        config.limits.window_series = 3;
        let mut book = SeriesIndex::new(&config, []);
        let of = |book: &mut SeriesIndex, country: &str, response_model: &str, kinds: &mut Vec<_>| {
            let response_model = Some(response_model.to_owned().into());
            let report = StreamReport { response_model, ..report("a", "p") };
            let id = book.of(&report, Country::of_code(country), DAY, |kind| kinds.push(kind));
            let series = &book.all[id as usize];
            (series[Dimension::Country].clone(), series[Dimension::ResponseModel].clone())
        };
        let (first, mut kinds) = (of(&mut book, "DE", "a-1", &mut Vec::new()), Vec::new());
        assert_eq!(first, ("DE".to_owned(), "a-1".to_owned()));
        of(&mut book, "DE", "a-2", &mut kinds);
        assert_eq!(kinds, []);
        // The site has two values, and then three series.
        assert_eq!(of(&mut book, "DE", "a-3", &mut kinds).1, OTHER);
        assert_eq!(of(&mut book, "FR", "a-1", &mut kinds), ("FR".to_owned(), OTHER.to_owned()));
        assert_eq!(kinds, [Overflow::Of(Dimension::ResponseModel); 2]);
        let labels: HashSet<_> = book.labels.iter().collect();
        assert_eq!(labels.len(), 1, "all share one series of labels");
        let again = SeriesIndex::new(&config, numbered(&book));
        assert_eq!((again.all, again.labels), (book.all, book.labels));
    }

    #[test]
    fn all_countries_share_one_parent_series_also_after_a_restart() {
        let mut book = SeriesIndex::new(&Config::default(), []);
        let of = |book: &mut SeriesIndex, code: &str| {
            book.of(&report("a", "p"), Country::of_code(code), DAY, |_| {})
        };
        let over_all = [of(&mut book, "DE"), of(&mut book, ""), of(&mut book, "FR")];
        let over_all = over_all.map(|series| book.cumulative(series, &report("a", "p")).series);
        assert_eq!(over_all, [over_all[1]; 3]);
        assert_eq!(book.all[over_all[0] as usize][Dimension::Country], UNKNOWN);
        let again = SeriesIndex::new(&Config::default(), numbered(&book));
        assert_eq!((again.all, again.labels), (book.all, book.labels));
    }

    #[test]
    fn otlp_splits_cumulative_statistics_by_response_model() {
        let mut config = Config::default();
        let mut book = SeriesIndex::new(&config, []);
        let key = |book: &mut SeriesIndex, country: &str, response_model: &str, dialect: &str| {
            let report = StreamReport {
                response_model: Some(response_model.to_owned().into()),
                dialect: Some(dialect.to_owned().into()),
                ..report("a", "p")
            };
            let series = book.of(&report, Country::of_code(country), DAY, |_| unreachable!());
            let key = book.cumulative(series, &report);
            (book.all[key.series as usize][Dimension::ResponseModel].clone(), key)
        };
        let (name, together) = key(&mut book, "DE", "a-1", "gemini");
        assert_eq!((name.as_str(), together.operation), (UNKNOWN, Operation::Chat));
        // Switched on later: the stored series keep their numbers.
        config.otlp.endpoint = Some("http://127.0.0.1:4318".to_owned());
        let before = book.all.clone();
        let mut book = SeriesIndex::new(&config, numbered(&book));
        let (name, first) = key(&mut book, "DE", "a-1", "gemini");
        assert_eq!((name.as_str(), first.operation), ("a-1", Operation::GenerateContent));
        assert_eq!(key(&mut book, "FR", "a-1", "gemini").1, first, "countries share them");
        assert_ne!(key(&mut book, "DE", "a-2", "gemini").1, first);
        assert_ne!(key(&mut book, "DE", "a-1", "openai_completions").1, first);
        assert_eq!(book.all[..before.len()], before);
    }
}
