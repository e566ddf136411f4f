//! Counts of the collector itself: results of beacons and reports, label limits, losses of probes. The store keeps
//! them, so that they rise over restarts.

use std::collections::BTreeMap;

use beacon::{Cost, Dropped, StreamReport};

use crate::aggregate::series::Overflow;
use crate::http::counters::{RequestCounters, RequestResult, SAMPLED_OUT};
use crate::journal::batch::{Damage, JournaledBatch};
use crate::report::accepted::Discarded;

/// What became of an accepted report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportResult {
    /// The first of its stream.
    New,
    /// It took the place of an earlier revision.
    Revised,
    /// This revision is known.
    Duplicate,
    /// A later revision is known.
    Stale,
    /// Later than the earlier revision was kept for: it cannot be replaced, and stays.
    Late,
    /// The journal held bytes that are no report, or no longer a whole one.
    Unreadable,
}

impl ReportResult {
    const ALL: [Self; 6] =
        [Self::New, Self::Revised, Self::Duplicate, Self::Stale, Self::Late, Self::Unreadable];

    const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Revised => "revised",
            Self::Duplicate => "duplicate",
            Self::Stale => "stale",
            Self::Late => "late",
            Self::Unreadable => "unreadable",
        }
    }

    /// Whether the report is to be kept.
    pub(crate) const fn changes_state(self) -> bool {
        matches!(self, Self::New | Self::Revised)
    }
}

/// A family of counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Requests to the ingest endpoint, by result.
    Beacon,
    /// Accepted reports, by what became of them.
    Report,
    /// Streams that counted as `other`, by site and label.
    Overflow,
    /// What probes had to drop, by reason.
    Dropped,
    /// What came in, counted on its own: it must agree with what became of it.
    Received,
    /// What the journal was found to have lost, by kind.
    Repair,
    /// Streams that a peer counts instead, by the result that the report here would have had there; and how many
    /// of them are in the cumulative statistics here.
    Moved,
    /// Streams in the cumulative statistics, as collectors publish them to their peers.
    Counted,
    /// Fields that this version does not know, by site.
    Ignored,
    /// Files of countries that took the place of the one before, by result.
    CountryFile,
    /// What probes cost their pages, as sums over streams.
    Cost,
    /// Who wanted to listen to what happens now, by result.
    Listener,
}

/// The kind by which collectors publish how many streams their cumulative statistics hold.
pub(crate) const COUNTED: Kind = Kind::Counted;

impl Kind {
    pub(crate) const ALL: [Self; 12] = [
        Self::Beacon,
        Self::Report,
        Self::Overflow,
        Self::Dropped,
        Self::Received,
        Self::Repair,
        Self::Moved,
        Self::Counted,
        Self::Ignored,
        Self::CountryFile,
        Self::Cost,
        Self::Listener,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Beacon => "beacon",
            Self::Report => "report",
            Self::Overflow => "overflow",
            Self::Dropped => "dropped",
            Self::Received => "received",
            Self::Repair => "repair",
            Self::Moved => "moved",
            Self::Counted => "counted",
            Self::Ignored => "ignored",
            Self::CountryFile => "country_file",
            Self::Cost => "cost",
            Self::Listener => "listener",
        }
    }
}

/// Name of one count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountKey {
    pub(crate) kind: Kind,
    /// Empty where the count is not by site.
    pub(crate) site: String,
    pub(crate) word: String,
}

impl CountKey {
    /// A count that is not by site.
    pub(crate) fn plain(kind: Kind, word: &str) -> Self {
        Self { kind, site: String::new(), word: word.to_owned() }
    }
}

/// All counts since ever.
#[derive(Default)]
pub(crate) struct Counts {
    all: BTreeMap<CountKey, u64>,
    stored: BTreeMap<CountKey, u64>,
    /// Counted since `all` was last brought up to date: what every single report counts in.
    handled: [u64; ReportResult::ALL.len()],
    /// The same of what every batch counts in.
    accepted: AcceptedCounts,
}

/// Batches that the journal holds, and their reports.
#[derive(Default)]
struct AcceptedCounts {
    batches: u64,
    reports: u64,
}

impl Counts {
    /// The counts that the store has.
    pub(crate) fn new(stored: BTreeMap<CountKey, u64>) -> Self {
        Self { all: stored.clone(), stored, ..Self::default() }
    }

    /// A batch that the journal holds, and with it what of it was left out.
    pub(crate) fn accepted(&mut self, JournaledBatch { reports, discarded, .. }: &JournaledBatch) {
        self.accepted.batches += 1;
        self.accepted.reports += reports.len() as u64;
        let site = reports.first().and_then(|first| first.report.site.as_deref());
        self.discarded(site.unwrap_or_default(), *discarded);
    }

    fn discarded(&mut self, site: &str, Discarded { sampled_out, ignored_fields }: Discarded) {
        self.add(Kind::Received, "", SAMPLED_OUT, sampled_out);
        self.add(Kind::Ignored, site, "fields", ignored_fields);
    }

    /// Adds the request counters, which start at 0 again.
    pub(crate) fn take(&mut self, counters: &RequestCounters) {
        let mut refusals = String::new();
        for (result, count) in counters.take_results() {
            self.add(Kind::Beacon, "", result.as_str(), count);
            if let RequestResult::Refused(reason) = result {
                refusals.push_str(&format!(" {}={count}", reason.code()));
            }
        }
        // One line however many were refused: a flood must not fill the log's disk.
        if !refusals.is_empty() {
            tracing::warn!("Refused beacons in the last second:{refusals}");
        }
        let refused = counters.take_refused_connections();
        self.add(Kind::Received, "", REFUSED_CONNECTIONS, refused);
        for (site, discarded) in counters.take_discarded() {
            self.discarded(&site, discarded);
        }
        for (result, count) in COUNTRY_FILES.into_iter().zip(counters.take_country_files()) {
            self.add(Kind::CountryFile, "", result, count);
        }
        self.add(Kind::Listener, "", REFUSED, counters.take_refused_listeners());
        // After the results: what arrives meanwhile is under way, not missing.
        self.add(Kind::Received, "", BEACONS, counters.take_received());
    }

    /// What was under way when the last process ended was never answered: it was not received.
    pub(crate) fn reset_in_flight(&mut self) {
        self.bring_up_to_date();
        let decided = self.iter(Kind::Beacon).map(|(_, count)| count).sum();
        let key = CountKey { kind: Kind::Received, site: String::new(), word: BEACONS.to_owned() };
        self.all.insert(key, decided);
    }

    pub(crate) fn handled(&mut self, handled: ReportResult) {
        self.handled[handled as usize] += 1;
    }

    /// A stream gave way to another collector's revision.
    pub(crate) fn moved(&mut self, became: ReportResult, in_cumulative: bool) {
        self.add(Kind::Moved, "", became.as_str(), 1);
        self.add(Kind::Moved, "", IN_CUMULATIVE, u64::from(in_cumulative));
    }

    /// What the journal held beside whole batches.
    pub(crate) fn damaged(&mut self, damage: Damage) {
        // Nobody knows how many reports it were: a stretch stands for one that was received.
        self.handled[ReportResult::Unreadable as usize] += damage.unreadable;
        self.accepted.reports += damage.unreadable;
        for (kind, count) in REPAIRS.into_iter().zip([damage.torn, damage.unreadable]) {
            self.add(Kind::Repair, "", kind, count);
        }
    }

    /// The last report of an open stream is unreadable, so the cumulative statistics never get it.
    pub(crate) fn lost_stream(&mut self) {
        self.add(Kind::Repair, "", LOST_STREAM, 1);
    }

    pub(crate) fn overflow(&mut self, site: &str, overflow: Overflow) {
        self.add(Kind::Overflow, site, overflow.as_str(), 1);
    }

    /// What a probe says it had to drop since its last report arrived.
    pub(crate) fn dropped(&mut self, dropped: Option<&Dropped>) {
        let Some(dropped) = dropped else { return };
        let counts = [dropped.queue_full, dropped.send_failed, dropped.refused, dropped.early];
        for (word, count) in DROPPED.into_iter().zip(counts) {
            self.add(Kind::Dropped, "", word, u64::from(count));
        }
    }

    /// What a probe says it cost its page, of a stream that ended. Times are nothing without the step of the clock
    /// that they were read from; and a machine that slept meanwhile, or a forged report, would be the mean of all.
    pub(crate) fn cost(&mut self, report: &StreamReport) {
        let Some(Cost { timed_chunks, chunks_ms, memory_bytes, sent_bytes: _ }) = report.cost else { return };
        if let (Some(chunks), Some(chunks_ms), Some(step_ms)) =
            (timed_chunks, chunks_ms, report.clock_resolution_ms)
            && chunks_ms <= f64::from(chunks) * LONGEST_CHUNK_MS
            && step_ms <= LONGEST_STEP_MS
        {
            self.add(Kind::Cost, "", TIMED_CHUNKS, chunks.into());
            self.add(Kind::Cost, "", CHUNKS_US, (chunks_ms * 1e3).round() as u64);
            self.add(Kind::Cost, "", OPEN_US2, (chunks_ms * step_ms * 1e6).round() as u64);
        }
        if let Some(bytes) = memory_bytes {
            self.add(Kind::Cost, "", MEMORIES, 1);
            self.add(Kind::Cost, "", MEMORY_BYTES, bytes);
        }
    }

    /// Merges the counts of several collectors: the report of a stream that a peer counts gets the result that it
    /// would have had there. Returns how many streams are in the cumulative statistics of more than one.
    pub(crate) fn merge_peers(&mut self) -> u64 {
        let moved: Vec<_> = [ReportResult::Revised, ReportResult::Duplicate]
            .into_iter()
            .map(|became| (became, self.get(Kind::Moved, became.as_str())))
            .collect();
        for (became, count) in moved {
            self.add(Kind::Report, "", became.as_str(), count);
            let new = CountKey::plain(Kind::Report, ReportResult::New.as_str());
            self.all.entry(new).and_modify(|new| *new = new.saturating_sub(count));
        }
        self.get(Kind::Moved, IN_CUMULATIVE)
    }

    /// Every count.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&CountKey, u64)> {
        self.all.iter().map(|(key, count)| (key, *count))
    }

    /// What was counted, in the order of kind, site and word.
    pub(crate) fn iter(&self, kind: Kind) -> impl Iterator<Item = (&CountKey, u64)> {
        self.all.iter().filter(move |(key, _)| key.kind == kind).map(|(key, count)| (key, *count))
    }

    /// A count that is not by site; 0 when nothing was counted.
    pub(crate) fn get(&self, kind: Kind, word: &str) -> u64 {
        self.iter(kind).filter(|(key, _)| key.word == word).map(|(_, count)| count).sum()
    }

    /// Counts that the store has otherwise or not at all.
    pub(crate) fn unflushed(&mut self) -> Vec<(&CountKey, u64)> {
        self.bring_up_to_date();
        let changed = |(key, count): &(&CountKey, &u64)| self.stored.get(key) != Some(*count);
        self.all.iter().filter(changed).map(|(key, count)| (key, *count)).collect()
    }

    pub(crate) fn mark_flushed(&mut self) {
        self.stored.clone_from(&self.all);
    }

    fn bring_up_to_date(&mut self) {
        for handled in ReportResult::ALL {
            let count = std::mem::take(&mut self.handled[handled as usize]);
            self.add(Kind::Report, "", handled.as_str(), count);
        }
        let AcceptedCounts { batches, reports } = std::mem::take(&mut self.accepted);
        self.add(Kind::Beacon, "", ACCEPTED, batches);
        self.add(Kind::Received, "", REPORTS, reports);
    }

    fn add(&mut self, kind: Kind, site: &str, word: &str, count: u64) {
        if count > 0 {
            let key = CountKey { kind, site: site.to_owned(), word: word.to_owned() };
            let all = self.all.entry(key).or_default();
            *all = all.saturating_add(count).min(MOST);
        }
    }
}

/// The probe's own time is microseconds a chunk, a second where it reads many at once.
const LONGEST_CHUNK_MS: f64 = 1_000.0;
/// No browser's clock steps wider.
const LONGEST_STEP_MS: f64 = 1_000.0;

/// Beyond it nothing is added: what probes say of themselves may be any number, and over a thousand collectors
/// the sum still fits.
const MOST: u64 = u64::MAX >> 10;

/// The result of a beacon that was not refused.
pub(crate) const ACCEPTED: &str = "accepted";

/// Streams that a peer counts and that are in the cumulative statistics here.
pub(crate) const IN_CUMULATIVE: &str = "totalled";

/// What a journal may be found to have lost: what was being written, never answered, a stretch in it, and the last
/// report of an open stream.
pub(crate) const REPAIRS: [&str; 3] = ["torn_end", "damaged", LOST_STREAM];
pub(crate) const LOST_STREAM: &str = "lost_stream";

/// Why probes had to drop something.
pub(crate) const DROPPED: [&str; 4] = ["queue_full", "send_failed", "refused", "early"];

/// What became of new files of countries.
pub(crate) const COUNTRY_FILES: [&str; 2] = ["read", "broken"];

/// Received: requests to the ingest endpoint.
pub(crate) const BEACONS: &str = "beacons";

/// What came in: reports in accepted beacons.
pub(crate) const REPORTS: &str = "reports";

/// What probes cost: chunks in which they timed themselves, and the time of their code in these.
pub(crate) const TIMED_CHUNKS: &str = "timed_chunks";
pub(crate) const CHUNKS_US: &str = "chunks_us";

/// That time by the step of the clock that it was read from, stream by stream, in square microseconds.
pub(crate) const OPEN_US2: &str = "chunks_us_by_step_us";

/// What probes cost: how many streams told of a memory, and the sizes of these.
pub(crate) const MEMORIES: &str = "memories";
pub(crate) const MEMORY_BYTES: &str = "memory_bytes";

/// The result of a listener for whom there was no place.
pub(crate) const REFUSED: &str = "refused";

/// What came in: connections that were closed, as their network had its share.
pub(crate) const REFUSED_CONNECTIONS: &str = "refused_connections";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_report_alone_is_the_cost_of_all() {
        let costing = |timed_chunks, chunks_ms, clock_resolution_ms| StreamReport {
            cost: Some(Cost {
                timed_chunks: Some(timed_chunks),
                chunks_ms: Some(chunks_ms),
                ..Cost::default()
            }),
            clock_resolution_ms: Some(clock_resolution_ms),
            ..StreamReport::new("0")
        };
        let mut counts = Counts::default();
        for (timed_chunks, chunks_ms, step_ms) in [
            (1, 1_000.0, 1.0),
            (1, 1_000.1, 1.0),
            (0, 0.1, 1.0),
            (1, 1.0, 1_000.1),
            (1, 86_400_000.0, 86_400_000.0),
        ] {
            counts.cost(&costing(timed_chunks, chunks_ms, step_ms));
        }
        assert_eq!((counts.get(Kind::Cost, TIMED_CHUNKS), counts.get(Kind::Cost, CHUNKS_US)), (1, 1_000_000));
        for _ in 0..3 {
            counts.cost(&costing(u32::MAX, f64::from(u32::MAX) * 1e3, 1_000.0));
        }
        let sum = counts.get(Kind::Cost, OPEN_US2);
        assert_eq!(sum.checked_mul(1_000), Some(sum * 1_000), "of a thousand collectors");
        assert!(sum > 0 && i64::try_from(sum).is_ok(), "in the store");
    }
}
