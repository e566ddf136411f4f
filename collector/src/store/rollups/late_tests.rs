//! Each stream counts once, with its latest revision, while its minutes exist, while they are sealed and
//! afterwards, even if the process dies.

use std::collections::BTreeMap;

use beacon::{Outcome, StreamReport};
use proptest::prelude::*;
use tempfile::TempDir;

use super::super::reader::windows;
use super::super::writer::Writer;
use super::sealed_hours::{end_of_sealed, seal};
use super::*;
use crate::aggregate::aggregator::{Aggregator, StoredState};
use crate::aggregate::cumulative_stats::CumulativeStats;
use crate::aggregate::dimension::{Dimension, UNKNOWN};
use crate::aggregate::judgement::Judgement;
use crate::aggregate::metric::Metric;
use crate::aggregate::sampling::StoredSample;
use crate::aggregate::series::CumulativeKey;
use crate::aggregate::window::{Window, WindowKey};
use crate::aggregate::window_stats::WindowStats;
use crate::config::{Config, Sync};
use crate::journal::batch::JournaledReport;
use crate::journal::segments::RecordLocation;
use crate::report::country::Country;
use crate::report::source::ReportSource;
use crate::store::filter::Filter;
use crate::store::paths::STORE_FILE;
use crate::store::query::WindowsQuery;
use crate::time::MINUTE_MS;

/// A store and its input. Rollups have a connection of their own, as their thread has.
struct Counting {
    _folder: TempDir,
    config: Config,
    writer: Option<Writer>,
    aggregator: Aggregator,
    sums: Connection,
    /// The journal: the sequence number of a report is its position here.
    reports: Vec<(JournaledReport, i64)>,
}

/// Takes reports from a list and everything else from the store.
struct Past<'a>(&'a Writer, &'a [(JournaledReport, i64)]);

impl StoredState for Past<'_> {
    type Error = StoreError;

    fn window(&self, at: WindowKey) -> Result<Window, StoreError> {
        self.0.window(at)
    }

    fn total(&self, key: CumulativeKey) -> Result<CumulativeStats, StoreError> {
        self.0.total(key)
    }

    fn report(&self, at: RecordLocation) -> Result<Option<StreamReport>, StoreError> {
        Ok(self.1.get(at.position as usize).map(|(mask, _)| mask.report.clone()))
    }

    fn samples(&self, site: &str, day: i64) -> Result<Vec<StoredSample>, StoreError> {
        self.0.samples(site, day)
    }
}

impl Counting {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = config::Store { windows_hours: 2, streams_kept: 1_000, ..config::Store::default() };
        let config = Config { data: folder.path().into(), store, ..Config::default() };
        let writer = Writer::open(folder.path(), Sync::Normal, config.store.clone()).unwrap();
        let aggregator = Aggregator::new(config.clone(), writer.load().unwrap());
        let sums = Connection::open(folder.path().join(STORE_FILE)).unwrap();
        Self { _folder: folder, config, writer: Some(writer), aggregator, sums, reports: Vec::new() }
    }

    fn report(&mut self, report: StreamReport, country: Option<Country>, minute: i64) {
        let id = u128::from_str_radix(&report.id, 16).unwrap();
        let at = RecordLocation { position: self.reports.len() as u64, len: 1 };
        self.reports.push((
            JournaledReport { id, source: ReportSource::Unnamed, country, visit: None, report, at },
            minute * MINUTE_MS,
        ));
        self.apply_from(self.reports.len() - 1);
    }

    fn apply_from(&mut self, first: usize) {
        let past = Past(self.writer.as_ref().expect("it is open"), &self.reports);
        for (index, (report, received_ms)) in self.reports.iter().enumerate().skip(first) {
            self.aggregator.add(report, *received_ms, &past).unwrap();
            self.aggregator.set_counted_up_to(index as u64 + 1);
        }
    }

    /// Flushes as the aggregation worker does, without waking the rollup thread.
    fn flush(&mut self, minute: i64) {
        let now_ms = minute * MINUTE_MS;
        let past = Past(self.writer.as_ref().expect("it is open"), &self.reports);
        while self.aggregator.finalize_next(now_ms, &past).unwrap() {}
        self.writer.as_mut().expect("it is open").write(self.aggregator.changes()).unwrap();
        self.aggregator.mark_flushed(now_ms);
        let oldest = oldest_minute_kept(minute, self.config.store.windows_hours);
        seal(&self.sums, oldest).unwrap();
    }

    /// Builds rollups as the rollup thread does, while the writer has unflushed changes.
    fn sum(&mut self, minute: i64) {
        assert!(build_due(&mut self.sums, minute, &AtomicBool::new(false)).unwrap());
        trim(&mut self.sums, minute, &self.config.store).unwrap();
    }

    /// Restarts the writer: unflushed reports are counted again.
    fn die(&mut self) {
        self.writer = None;
        let writer = Writer::open(&self.config.data, Sync::Normal, self.config.store.clone()).unwrap();
        let loaded = writer.load().unwrap();
        let applied = loaded.counted_up_to as usize;
        (self.writer, self.aggregator) = (Some(writer), Aggregator::new(self.config.clone(), loaded));
        self.apply_from(applied);
    }

    fn all(&self, filter: &Filter, longest: i64) -> WindowStats {
        let asked = WindowsQuery { filter, minutes: (0, 40 * DAY_MINUTES), longest, metrics: &Metric::ALL };
        let mut all = WindowStats::default();
        windows(&self.sums, &asked, [], |_, [], stats| all.merge(stats)).unwrap();
        all
    }
}

fn revision(id: u128, rev: u32) -> StreamReport {
    let outcome = if rev == 1 { Outcome::Truncated } else { Outcome::Complete };
    let ttft_ms = Some(f64::from(100 * (rev + 1)));
    StreamReport { rev, open: false, outcome, ttft_ms, ..StreamReport::new(format!("{id:032x}")) }
}

/// Thirty days after 1970, half past twelve.
const NOW: i64 = 30 * DAY_MINUTES + 12 * HOUR_MINUTES + 30;

#[test]
fn a_late_revision_replaces_one_in_an_hour_without_minutes() {
    let mut counting = Counting::new();
    counting.report(revision(1, 0), None, NOW);
    counting.report(revision(2, 0), None, NOW);
    counting.flush(NOW);
    let later = NOW + 5 * HOUR_MINUTES;
    counting.sum(later);
    counting.flush(later);
    // The report is not flushed yet when the minutes are deleted.
    counting.report(revision(1, 1), None, later);
    counting.sum(later);
    assert_eq!(first_hour(&counting.sums).unwrap(), None, "the minutes are gone");
    counting.flush(later);
    for longest in [HOUR_MINUTES, DAY_MINUTES] {
        let all = counting.all(&Filter::default(), longest);
        let counted: Vec<_> = all.outcomes().collect();
        assert_eq!(counted, [(Outcome::Complete, 1), (Outcome::Truncated, 1)], "by {longest}");
    }
}

#[test]
fn reports_after_a_clock_step_back_count_in_a_sealed_hour() {
    let mut counting = Counting::new();
    counting.report(revision(1, 0), None, NOW);
    counting.flush(NOW);
    counting.sum(NOW + 5 * HOUR_MINUTES);
    counting.flush(NOW + 5 * HOUR_MINUTES);
    counting.sum(NOW + 5 * HOUR_MINUTES);
    for id in 2..5 {
        counting.report(revision(id, 0), None, NOW + 1);
        counting.flush(NOW + 1);
    }
    counting.die();
    assert_eq!(counting.all(&Filter::default(), HOUR_MINUTES).streams(), 4);
    assert_eq!(counting.all(&Filter::default(), 1).streams(), 0);
}

#[derive(Debug, Clone)]
enum Step {
    /// The minute is relative to [`NOW`].
    Report {
        id: u128,
        rev: u32,
        open: bool,
        country: Option<&'static str>,
        minute: i64,
    },
    Flush(i64),
    Sum(i64),
    Die,
}

fn step() -> impl Strategy<Value = Step> {
    let minute = || -600..600_i64;
    let country = prop_oneof![Just(None), Just(Some("DE")), Just(Some("FR"))];
    let report = (0..5_u128, 0..4_u32, any::<bool>(), country, minute())
        .prop_map(|(id, rev, open, country, minute)| Step::Report { id, rev, open, country, minute });
    prop_oneof![
        6 => report, 4 => minute().prop_map(Step::Flush), 4 => minute().prop_map(Step::Sum), 1 => Just(Step::Die),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rollups_count_latest_revisions_whenever_minutes_expire(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut counting = Counting::new();
        let mut latest: BTreeMap<u128, (StreamReport, Option<&str>)> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Flush(minute) => counting.flush(NOW + minute),
                Step::Sum(minute) => counting.sum(NOW + minute),
                Step::Die => counting.die(),
                Step::Report { id, rev, open, country, minute } => {
                    let report = StreamReport { open, ..revision(id, rev) };
                    if latest.get(&id).is_none_or(|(known, _)| known.rev < rev) {
                        latest.insert(id, (report.clone(), country));
                    }
                    counting.report(report, country.and_then(Country::of_code), NOW + minute);
                }
            }
        }
        // Finalizes open streams.
        counting.flush(NOW + DAY_MINUTES);
        for _ in 0..2 {
            counting.sum(NOW + 3 * DAY_MINUTES);
            counting.flush(NOW + 3 * DAY_MINUTES);
        }
        counting.sum(NOW + 3 * DAY_MINUTES);
        prop_assert_eq!(first_hour(&counting.sums).unwrap(), None);
        for country in [None, Some("DE"), Some("unknown")] {
            let mut exact = WindowStats::default();
            for (report, counted) in latest.values() {
                if country.is_none_or(|country| country == counted.unwrap_or(UNKNOWN)) {
                    exact.add(report, Judgement::WITHIN_SLO);
                }
            }
            let all = Filter::default();
            let filter = country.map_or(all.clone(), |country| all.with(Dimension::Country, country));
            for filter in [filter.clone(), filter.with(Dimension::Model, UNKNOWN)] {
                for longest in [HOUR_MINUTES, DAY_MINUTES] {
                    let all = counting.all(&filter, longest);
                    prop_assert_eq!(all.outcomes().collect::<Vec<_>>(), exact.outcomes().collect::<Vec<_>>());
                    let [all, exact] = [&all, &exact].map(|stats| stats.histogram(Metric::Ttft).indexed().filter(|(_, count)| *count > 0).collect::<Vec<_>>());
                    prop_assert_eq!(all, exact);
                }
            }
        }
    }
}

#[test]
fn known_minutes_begin_after_the_last_sealed_hour() {
    let mut counting = Counting::new();
    counting.report(revision(1, 0), None, NOW);
    counting.flush(NOW);
    let later = NOW + 5 * HOUR_MINUTES;
    counting.sum(later);
    counting.flush(later);
    // A longer retention does not restore deleted minutes.
    counting.config.store.windows_hours = 48;
    counting.die();
    let known = counting.writer.as_ref().expect("it is open").minutes_from().get();
    assert_eq!(known, span_start(NOW, HOUR_MINUTES) + HOUR_MINUTES);
    // The clock was set back: sealed hours in the future do not count.
    assert_eq!(end_of_sealed(&counting.sums, span_start(NOW, HOUR_MINUTES) - 1).unwrap(), 0);
}
