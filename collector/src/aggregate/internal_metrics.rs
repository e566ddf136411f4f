//! Counts of the collector itself: results of beacons and reports, label limits, losses of probes. The store keeps
//! them, so that they rise over restarts.

use std::collections::BTreeMap;

use beacon::{Dropped, ProbeOverhead, StreamKind, StreamReport};

use crate::aggregate::series::Overflow;
use crate::config::notify::NotifyKind;
use crate::http::counters::{NotificationResult, RequestCounters, RequestResult, SAMPLED_OUT};
use crate::http::error::Reason;
use crate::journal::batch::{Damage, JournaledBatch};
use crate::report::accepted::Discarded;

/// Result of an accepted report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportResult {
    /// The first report of its stream.
    New,
    /// It replaces an earlier revision.
    Revised,
    /// This revision is known already.
    Duplicate,
    /// A later revision is known already.
    Stale,
    /// The earlier revision is no longer stored, so it cannot be replaced and stays counted.
    Late,
    /// Another site has a stream with this id.
    OtherSite,
    /// The journal contains bytes that are no report, or a damaged one.
    Unreadable,
}

impl ReportResult {
    const ALL: [Self; 7] = [
        Self::New,
        Self::Revised,
        Self::Duplicate,
        Self::Stale,
        Self::Late,
        Self::OtherSite,
        Self::Unreadable,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Revised => "revised",
            Self::Duplicate => "duplicate",
            Self::Stale => "stale",
            Self::Late => "late",
            Self::OtherSite => "other_site",
            Self::Unreadable => "unreadable",
        }
    }

    /// Whether the report is to be counted and stored.
    pub(crate) const fn changes_state(self) -> bool {
        matches!(self, Self::New | Self::Revised)
    }
}

/// A family of counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Requests to the ingest endpoint, by result.
    Beacon,
    /// Accepted reports, by result.
    Report,
    /// Streams that are counted as `other`, by site and label.
    Overflow,
    /// Items that probes dropped, by reason.
    Dropped,
    /// Received requests and reports, counted separately: they must agree with the results.
    Received,
    /// Losses that were found in the journal, by kind.
    Repair,
    /// Streams that a peer counts instead, by the result that the report here would have had there. Also the
    /// number of them that are in the cumulative statistics here.
    Moved,
    /// Streams in the cumulative statistics, as collectors publish them to their peers.
    Counted,
    /// Fields that this version does not know, by site.
    Ignored,
    /// Country files that replaced an earlier one, by result.
    CountryFile,
    /// Overhead of probes for their pages, as sums over streams.
    ProbeOverhead,
    /// Live-feed connections that were rejected because the subscriber limit was reached.
    Listener,
    /// Attempts to deliver a notification, by the receiver's kind and the result.
    Notification,
    /// Scrapes of engines, by result.
    EngineScrape,
    /// Requests for data that were refused access, by reason.
    Access,
    /// Requests other than beacons that were refused for the memory budget.
    Memory,
    /// Answers of `/metrics` that a limit ended, by the limit.
    MetricsCut,
    /// Streams that an operator deleted.
    Deleted,
    /// Facts of the backend, by result.
    ServerFact,
    /// Finalized streams that are in no statistics of answers, by kind.
    Apart,
    /// Numbers of streams that were out of range, by site.
    LeftOut,
}

/// The kind under which collectors publish how many streams are in their cumulative statistics.
pub(crate) const COUNTED: Kind = Kind::Counted;

impl Kind {
    pub(crate) const ALL: [Self; 21] = [
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
        Self::ProbeOverhead,
        Self::Listener,
        Self::Notification,
        Self::EngineScrape,
        Self::Access,
        Self::Memory,
        Self::MetricsCut,
        Self::Deleted,
        Self::ServerFact,
        Self::Apart,
        Self::LeftOut,
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
            Self::ProbeOverhead => "probe_overhead",
            Self::Listener => "listener",
            Self::Notification => "notification",
            Self::EngineScrape => "engine_scrape",
            Self::Access => "access",
            Self::Memory => "memory",
            Self::MetricsCut => "metrics_cut",
            Self::Deleted => "deleted",
            Self::ServerFact => "server_fact",
            Self::Apart => "apart",
            Self::LeftOut => "left_out",
        }
    }
}

/// Key of one count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountKey {
    pub(crate) kind: Kind,
    /// Empty if the count is not by site.
    pub(crate) site: String,
    pub(crate) word: String,
}

impl CountKey {
    /// A count that is not by site.
    pub(crate) fn plain(kind: Kind, word: &str) -> Self {
        Self { kind, site: String::new(), word: word.to_owned() }
    }
}

/// All counts since the store was created.
#[derive(Default)]
pub(crate) struct Counts {
    all: BTreeMap<CountKey, u64>,
    stored: BTreeMap<CountKey, u64>,
    /// Counts since `all` was last updated, for the results that every report changes.
    handled: [u64; ReportResult::ALL.len()],
    /// The same for the counts that every batch changes.
    accepted: AcceptedCounts,
}

/// Batches in the journal, and their reports.
#[derive(Default)]
struct AcceptedCounts {
    batches: u64,
    reports: u64,
}

impl Counts {
    /// Continues the stored counts.
    pub(crate) fn new(stored: BTreeMap<CountKey, u64>) -> Self {
        Self { all: stored.clone(), stored, ..Self::default() }
    }

    /// Counts a batch of a page in the journal, and the items that it discarded.
    pub(crate) fn accepted(&mut self, batch: &JournaledBatch) {
        if batch.is_of_facts() {
            return;
        }
        let JournaledBatch { reports, discarded, .. } = batch;
        self.accepted.batches += 1;
        self.accepted.reports += reports.len() as u64;
        let site = reports.first().and_then(|first| first.report.site.as_deref());
        self.discarded(site.unwrap_or_default(), *discarded);
    }

    fn discarded(&mut self, site: &str, Discarded { sampled_out, ignored_fields }: Discarded) {
        self.add(Kind::Received, "", SAMPLED_OUT, sampled_out);
        self.add(Kind::Ignored, site, "fields", ignored_fields);
    }

    /// Adds the request counters, and resets them to 0.
    pub(crate) fn take(&mut self, counters: &RequestCounters) {
        let mut refused = Vec::new();
        for (result, count) in counters.take_results() {
            self.add(Kind::Beacon, "", result.as_str(), count);
            if let RequestResult::Refused(reason) = result {
                refused.push((reason, count));
            }
        }
        log_refusals(&refused);
        self.take_access_refused(counters);
        let refused = counters.take_refused_connections();
        self.add(Kind::Received, "", REFUSED_CONNECTIONS, refused);
        for (site, discarded) in counters.take_discarded() {
            self.discarded(&site, discarded);
        }
        for (result, count) in COUNTRY_FILES.into_iter().zip(counters.take_country_files()) {
            self.add(Kind::CountryFile, "", result, count);
        }
        self.add(Kind::Listener, "", REJECTED, counters.take_rejected_listeners());
        self.add(Kind::Memory, "", REJECTED, counters.take_memory_limited());
        for (cut, count) in counters.take_metrics_cuts() {
            self.add(Kind::MetricsCut, "", cut.as_str(), count);
        }
        for (result, count) in counters.take_facts() {
            self.add(Kind::ServerFact, "", result.as_str(), count);
        }
        for (kind, result, count) in counters.take_notifications() {
            self.add(Kind::Notification, "", &notification_word(kind, result), count);
        }
        for (result, count) in counters.take_engine_scrapes() {
            self.add(Kind::EngineScrape, "", result.as_str(), count);
        }
        // After the results: requests that arrive in between count as in flight, not as missing.
        self.add(Kind::Received, "", BEACONS, counters.take_received());
    }

    fn take_access_refused(&mut self, counters: &RequestCounters) {
        let mut refusals = String::new();
        for (reason, count) in counters.take_access_refused() {
            self.add(Kind::Access, "", reason.code(), count);
            // Every first visit of the dashboard comes without a token.
            if reason != Reason::Unauthorized {
                refusals.push_str(&format!(" {}={count}", reason.code()));
            }
        }
        if !refusals.is_empty() {
            tracing::warn!("Refused requests for data in the last second:{refusals}");
        }
    }

    /// Requests that were in flight when the last process ended never got a response: they do not count as
    /// received.
    pub(crate) fn reset_in_flight(&mut self) {
        self.bring_up_to_date();
        let decided = self.iter(Kind::Beacon).map(|(_, count)| count).sum();
        let key = CountKey { kind: Kind::Received, site: String::new(), word: BEACONS.to_owned() };
        self.all.insert(key, decided);
    }

    pub(crate) fn handled(&mut self, handled: ReportResult) {
        self.handled[handled as usize] += 1;
    }

    /// Counts a stream that yielded to another collector's revision.
    pub(crate) fn moved(&mut self, became: ReportResult, in_cumulative: bool) {
        self.add(Kind::Moved, "", became.as_str(), 1);
        self.add(Kind::Moved, "", IN_CUMULATIVE, u64::from(in_cumulative));
    }

    /// Counts damage that was found in the journal.
    pub(crate) fn damaged(&mut self, damage: Damage) {
        // The number of lost reports is unknown: each damaged range counts as one received report.
        self.handled[ReportResult::Unreadable as usize] += damage.unreadable;
        self.accepted.reports += damage.unreadable;
        for (kind, count) in REPAIRS.into_iter().zip([damage.torn, damage.unreadable, damage.missing]) {
            self.add(Kind::Repair, "", kind, count);
        }
    }

    /// Counts an open stream whose last report is unreadable. The cumulative statistics never get it.
    pub(crate) fn lost_stream(&mut self) {
        self.add(Kind::Repair, "", LOST_STREAM, 1);
    }

    /// Counts a finalized stream that is in no statistics of answers.
    pub(crate) fn apart(&mut self, kind: StreamKind) {
        self.add(Kind::Apart, "", kind.as_str(), 1);
    }

    /// Counts the numbers of an ended stream that were out of range.
    pub(crate) fn left_out(&mut self, report: &StreamReport) {
        let site = report.site.as_deref().unwrap_or_default();
        self.add(Kind::LeftOut, site, "numbers", report.left_out.into());
    }

    /// Counts streams that memory forgot although no file of streams could be written.
    pub(crate) fn without_row(&mut self, streams: u64) {
        self.add(Kind::Repair, "", NO_ROW, streams);
    }

    pub(crate) fn overflow(&mut self, site: &str, overflow: Overflow) {
        self.add(Kind::Overflow, site, overflow.as_str(), 1);
    }

    /// Counts the items that a probe dropped since its last report arrived.
    pub(crate) fn dropped(&mut self, dropped: Option<&Dropped>) {
        let Some(dropped) = dropped else { return };
        let counts = [dropped.queue_full, dropped.send_failed, dropped.refused, dropped.early];
        for (word, count) in DROPPED.into_iter().zip(counts) {
            self.add(Kind::Dropped, "", word, u64::from(count));
        }
    }

    /// Counts the overhead that a probe reports for an ended stream. Times mean nothing without the
    /// resolution of their clock. Implausible times are left out: a machine that slept meanwhile, or a forged
    /// report, would dominate the mean.
    pub(crate) fn probe_overhead(&mut self, report: &StreamReport) {
        let Some(ProbeOverhead { timed_chunks, chunks_ms, memory_bytes, sent_bytes: _ }) =
            report.probe_overhead
        else {
            return;
        };
        if let (Some(chunks), Some(chunks_ms), Some(step_ms)) =
            (timed_chunks, chunks_ms, report.clock_resolution_ms)
            && chunks_ms <= f64::from(chunks) * LONGEST_CHUNK_MS
            && step_ms <= LONGEST_STEP_MS
        {
            self.add(Kind::ProbeOverhead, "", TIMED_CHUNKS, chunks.into());
            self.add(Kind::ProbeOverhead, "", CHUNKS_US, (chunks_ms * 1e3).round() as u64);
            self.add(Kind::ProbeOverhead, "", OPEN_US2, (chunks_ms * step_ms * 1e6).round() as u64);
        }
        if let Some(bytes) = memory_bytes {
            self.add(Kind::ProbeOverhead, "", MEMORIES, 1);
            self.add(Kind::ProbeOverhead, "", MEMORY_BYTES, bytes);
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

    /// Only the counts of some sites, and those that are not by site if the empty name is selected.
    pub(crate) fn of_sites(mut self, selects: impl Fn(&str) -> bool) -> Self {
        self.all.retain(|key, _| selects(&key.site));
        self
    }

    /// Every count.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&CountKey, u64)> {
        self.all.iter().map(|(key, count)| (key, *count))
    }

    /// Counts of one kind, sorted by site and word.
    pub(crate) fn iter(&self, kind: Kind) -> impl Iterator<Item = (&CountKey, u64)> {
        self.all.iter().filter(move |(key, _)| key.kind == kind).map(|(key, count)| (key, *count))
    }

    /// A count that is not by site; 0 if nothing was counted.
    pub(crate) fn get(&self, kind: Kind, word: &str) -> u64 {
        self.iter(kind).filter(|(key, _)| key.word == word).map(|(_, count)| count).sum()
    }

    /// Counts that are not stored, or stored with another value.
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

/// A probe takes microseconds for a chunk, and up to a second when it reads many at once.
const LONGEST_CHUNK_MS: f64 = 1_000.0;
/// No browser's clock has a coarser resolution.
const LONGEST_STEP_MS: f64 = 1_000.0;

/// The word under which a notification is counted.
pub(crate) fn notification_word(kind: NotifyKind, result: NotificationResult) -> String {
    format!("{}/{}", kind.as_str(), result.as_str())
}

/// Upper bound of every count. Probes may report any number, and the sum over a thousand collectors still
/// fits.
const MOST: u64 = u64::MAX >> 10;

/// Result of an accepted beacon.
pub(crate) const ACCEPTED: &str = "accepted";

/// Streams that a peer counts and that are in the cumulative statistics here.
pub(crate) const IN_CUMULATIVE: &str = "in_cumulative";

/// Losses in a journal: the end that was being written and never answered, a damaged range, an end that was counted and
/// is no longer there, the last report of an open stream, and a stream that is counted but in no file of streams.
pub(crate) const REPAIRS: [&str; 5] = ["torn_end", "damaged", "missing_end", LOST_STREAM, NO_ROW];
pub(crate) const LOST_STREAM: &str = "lost_stream";
const NO_ROW: &str = "no_row";

/// Reasons for which probes drop items.
pub(crate) const DROPPED: [&str; 4] = ["queue_full", "send_failed", "refused", "early"];

/// Kinds of streams that are in no statistics of answers.
pub(crate) const APART: [&str; 2] = [StreamKind::Background.as_str(), StreamKind::Output.as_str()];

/// Results of new country files.
pub(crate) const COUNTRY_FILES: [&str; 2] = ["read", "broken"];

/// Deleted: streams in the cumulative statistics, and those that were open.
pub(crate) const DELETED_STREAMS: &str = "streams";

/// Received: requests to the ingest endpoint.
pub(crate) const BEACONS: &str = "beacons";

/// Received: reports in accepted beacons.
pub(crate) const REPORTS: &str = "reports";

/// Probe overhead: number of timed chunks, and the time of the probe's code in them.
pub(crate) const TIMED_CHUNKS: &str = "timed_chunks";
pub(crate) const CHUNKS_US: &str = "chunks_us";

/// Sum over all streams of that time multiplied by the resolution of its clock, in square microseconds.
pub(crate) const OPEN_US2: &str = "chunks_us_by_step_us";

/// Probe overhead: number of streams that report memory, and the sum of their memory.
pub(crate) const MEMORIES: &str = "memories";
pub(crate) const MEMORY_BYTES: &str = "memory_bytes";

/// Result of a rejected live-feed connection.
pub(crate) const REJECTED: &str = "rejected";

/// Received: connections that were closed because their network had reached its limit.
pub(crate) const REFUSED_CONNECTIONS: &str = "refused_connections";

/// One line for any number of refusals: a flood of requests must not fill the disk with logs. Refusals by the
/// operator's own filters are expected, so they are no warning.
fn log_refusals(refused: &[(Reason, u64)]) {
    let (unexpected, filtered) = refusal_lists(refused);
    if !unexpected.is_empty() {
        tracing::warn!("Refused beacons in the last second:{unexpected}");
    }
    if !filtered.is_empty() {
        tracing::info!("Filtered beacons in the last second:{filtered}");
    }
}

/// Unexpected refusals, and those that the operator configured.
fn refusal_lists(refused: &[(Reason, u64)]) -> (String, String) {
    let list = |filtered: bool| {
        let listed = refused.iter().filter(|(reason, _)| reason.is_filter() == filtered);
        listed.map(|(reason, count)| format!(" {}={count}", reason.code())).collect()
    };
    (list(false), list(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_by_configured_filters_are_no_warning() {
        let refused = [
            (Reason::UnknownSite, 2),
            (Reason::FilteredBot, 3),
            (Reason::FilteredPrerender, 1),
            (Reason::FilteredTest, 4),
        ];
        let (unexpected, filtered) = refusal_lists(&refused);
        assert_eq!(unexpected, " unknown_site=2");
        assert_eq!(filtered, " filtered_bot=3 filtered_prerender=1 filtered_test=4");
        assert_eq!(refusal_lists(&refused[1..2]).0, "");
    }

    #[test]
    fn no_single_report_decides_the_probe_overhead() {
        let costing = |timed_chunks, chunks_ms, clock_resolution_ms| StreamReport {
            probe_overhead: Some(ProbeOverhead {
                timed_chunks: Some(timed_chunks),
                chunks_ms: Some(chunks_ms),
                ..ProbeOverhead::default()
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
            counts.probe_overhead(&costing(timed_chunks, chunks_ms, step_ms));
        }
        assert_eq!(
            (counts.get(Kind::ProbeOverhead, TIMED_CHUNKS), counts.get(Kind::ProbeOverhead, CHUNKS_US)),
            (1, 1_000_000)
        );
        for _ in 0..3 {
            counts.probe_overhead(&costing(u32::MAX, f64::from(u32::MAX) * 1e3, 1_000.0));
        }
        let sum = counts.get(Kind::ProbeOverhead, OPEN_US2);
        assert_eq!(sum.checked_mul(1_000), Some(sum * 1_000), "of a thousand collectors");
        assert!(sum > 0 && i64::try_from(sum).is_ok(), "in the store");
    }
}
