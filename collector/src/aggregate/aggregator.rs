//! Counts reports into windows, cumulative statistics, samples and internal metrics, and hands the changes to the
//! store. Each stream counts once, with its latest revision.

mod handover;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use beacon::{StreamKind, StreamReport};

use crate::aggregate::changes::{Changes, LoadedState, PeerRevision, Revisions};
use crate::aggregate::cumulative_stats::CumulativeStats;
use crate::aggregate::dedup::{Finalized, RegistryLimits, Sender, SeqNo, Stream, StreamRegistry};
use crate::aggregate::internal_metrics::{Counts, ReportResult};
use crate::aggregate::judgement::Judgement;
use crate::aggregate::own_edges::OwnEdges;
use crate::aggregate::recent_facts::RecentFacts;
use crate::aggregate::rough_wait::RoughWait;
use crate::aggregate::row_file::{RowFile, StoredRowFile};
use crate::aggregate::sampling::{Sampler, StoredSample};
use crate::aggregate::series::{Arrival, CumulativeKey, SeriesIndex};
use crate::aggregate::window::{Window, WindowKey};
use crate::aggregate::write_back_cache::WriteBackCache;
use crate::config::Config;
use crate::config::targets::Targets;
use crate::journal::batch::{JournaledBatch, JournaledReport};
use crate::journal::segments::RecordLocation;
use crate::memory::MemoryBudget;
use crate::report::server_fact::revision;
use crate::time::{MINUTE_MS, minute_of};

/// Earlier state that is no longer in memory: the store and the journal have it.
pub(crate) trait StoredState {
    /// Error of a failed read. It includes JSON errors, because a report that becomes a sample is written as
    /// JSON.
    type Error: From<serde_json::Error>;

    /// A window as it was last stored.
    fn window(&self, at: WindowKey) -> Result<Window, Self::Error>;
    /// Cumulative statistics, as they were last stored.
    fn total(&self, key: CumulativeKey) -> Result<CumulativeStats, Self::Error>;
    /// A report from the journal.
    fn report(&self, at: RecordLocation) -> Result<Option<StreamReport>, Self::Error>;
    /// The samples of a site and day, as they were last stored.
    fn samples(&self, site: &str, day: i64) -> Result<Vec<StoredSample>, Self::Error>;
}

/// Who made a revision of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportOrigin {
    Page,
    /// The collector, which added facts of the backend.
    Facts,
}

/// The state behind all counts. One thread owns it.
pub(crate) struct Aggregator {
    finalize_after_ms: i64,
    /// By site and use case. Each is looked up in the configuration once.
    targets: HashMap<String, HashMap<String, Targets>>,
    own_edges: OwnEdges,
    config: Config,
    /// Queries list streams from it.
    streams: Arc<RwLock<StreamRegistry>>,
    sender_hasher: RandomState,
    /// Number of the first revision that the store does not have.
    unflushed_from: SeqNo,
    /// Earlier revisions that were finalized since the last flush.
    finalized: Vec<SeqNo>,
    series: SeriesIndex,
    windows: WriteBackCache<WindowKey, Window>,
    cumulative: WriteBackCache<CumulativeKey, CumulativeStats>,
    memory: MemoryBudget,
    /// Limit for clean windows and cumulative statistics, after a flush.
    most_kept_bytes: usize,
    samples: Sampler,
    /// Most streams in a file. `None` if none are written.
    row_file_streams: Option<usize>,
    /// A file that the store does not know yet.
    row_file: Option<RowFile>,
    /// Position in the journal up to which everything is counted.
    counted_up_to: u64,
    recent_facts: RecentFacts,
    pub(crate) counts: Counts,
}

impl Aggregator {
    /// Continues from the stored state.
    pub(crate) fn new(config: Config, loaded: LoadedState) -> Self {
        let limits = RegistryLimits {
            most: config.dedupe.ids,
            keep_ms: i64::from(config.dedupe.minutes) * MINUTE_MS,
            listed: config.store.streams_kept as usize,
        };
        let (series, sender_hasher) = (SeriesIndex::new(&config, loaded.series), RandomState::new());
        let sender_of =
            |stream: &Stream| sender_hasher.hash_one((series.site_of(stream.series), None::<u64>));
        let streams = StreamRegistry::new(limits, loaded.remembered_from, loaded.streams, sender_of);
        let memory = MemoryBudget::of(&config);
        Self {
            finalize_after_ms: i64::from(config.settle_after_seconds) * 1_000,
            targets: HashMap::new(),
            own_edges: OwnEdges::of(&config),
            unflushed_from: streams.next(),
            streams: Arc::new(RwLock::new(streams)),
            sender_hasher,
            finalized: Vec::new(),
            series,
            windows: WriteBackCache::default(),
            cumulative: WriteBackCache::default(),
            memory,
            most_kept_bytes: memory.kept_window_bytes(),
            samples: Sampler::new(config.store.samples as usize),
            row_file_streams: config
                .store
                .writes_row_files()
                .then_some(config.store.row_file_streams as usize),
            row_file: None,
            counted_up_to: loaded.counted_up_to,
            recent_facts: RecentFacts::new(config.server.wait_seconds),
            counts: loaded.counts,
            config,
        }
    }

    /// The recent streams, for listing them.
    pub(crate) fn streams(&self) -> Arc<RwLock<StreamRegistry>> {
        self.streams.clone()
    }

    /// Counts one report that arrived at `received_ms`, unless it is known already.
    pub(crate) fn add<E: StoredState>(
        &mut self,
        report: &JournaledReport,
        received_ms: i64,
        earlier: &E,
    ) -> Result<(), E::Error> {
        self.add_from(ReportOrigin::Page, report, received_ms, earlier)
    }

    /// The same for a report to which the collector added facts of the backend.
    pub(crate) fn add_with_facts<E: StoredState>(
        &mut self,
        report: &JournaledReport,
        received_ms: i64,
        earlier: &E,
    ) -> Result<(), E::Error> {
        self.add_from(ReportOrigin::Facts, report, received_ms, earlier)
    }

    fn add_from<E: StoredState>(
        &mut self,
        from: ReportOrigin,
        &JournaledReport { id, country, source, ref report, at, .. }: &JournaledReport,
        received_ms: i64,
        earlier: &E,
    ) -> Result<(), E::Error> {
        let rev = revision(report);
        let known = self.read_streams().get(id).map(|(_, stream)| stream);
        let handled = match known {
            None => {
                self.read_streams().evicted(id).map_or(ReportResult::New, |evicted| match rev.cmp(&evicted) {
                    Ordering::Greater => ReportResult::Late,
                    Ordering::Equal => ReportResult::Duplicate,
                    Ordering::Less => ReportResult::Stale,
                })
            }
            Some(known) if !self.series.may_be_of_site(known.series, report) => ReportResult::OtherSite,
            Some(known) if rev > known.rev && known.owned_by_peer() => ReportResult::New,
            Some(known) if rev == known.rev => ReportResult::Duplicate,
            Some(known) if rev < known.rev => ReportResult::Stale,
            Some(known) => self.retract(&known, earlier)?,
        };
        if from == ReportOrigin::Page {
            self.counts.handled(handled);
        }
        if !handled.changes_state() {
            return Ok(());
        }
        if from == ReportOrigin::Page {
            self.counts.dropped(report.dropped.as_ref());
        }
        let mut beyond = Vec::new();
        let arrival = Arrival { received_ms, source };
        let series = self.series.of(report, country, arrival, |kind| beyond.push(kind));
        // A stream counts once per exceeded limit, whichever of its revisions exceeds it.
        let before = known.filter(|known| !known.owned_by_peer()).map(|known| known.series);
        for kind in beyond {
            if !before.is_some_and(|before| self.series.is_beyond(before, kind)) {
                self.counts.overflow(report.site.as_deref().unwrap_or_default(), kind);
            }
        }
        let mut stream = Stream {
            id,
            rev,
            outcome: report.outcome,
            series,
            finalized: None,
            in_cumulative: known.is_some_and(|known| known.in_cumulative && !known.owned_by_peer()),
            superseded: false,
            received_ms,
            at,
        };
        if !report.open {
            stream.finalized = Some(self.count(&stream, report, earlier)?);
            stream.in_cumulative = true;
        }
        let site = report.site.as_deref().unwrap_or_default();
        let sender = self.sender_hasher.hash_one((site, source.network()));
        self.write_streams().put(stream, sender);
        Ok(())
    }

    /// Yields to another collector's revision of a stream that is known here, unless the revision here is
    /// later. Retracts the stream from its window, and remembers only that a peer owns it.
    pub(crate) fn yield_to_peer<E: StoredState>(
        &mut self,
        peer: &PeerRevision,
        earlier: &E,
    ) -> Result<(), E::Error> {
        let Some((_, known)) = self.read_streams().get(peer.id) else { return Ok(()) };
        // The site of a deleted series is not known.
        if ![peer.site.as_str(), ""].contains(&self.series.site_of(known.series)) {
            return Ok(());
        }
        if known.rev > peer.rev || known.rev == peer.rev && !peer.has_precedence || known.owned_by_peer() {
            return Ok(());
        }
        if self.retract(&known, earlier)? == ReportResult::Late {
            // Too late to retract: both collectors count the stream, as with a revision that arrives too late
            // here.
            return Ok(());
        }
        let became = if known.rev == peer.rev { ReportResult::Duplicate } else { ReportResult::Revised };
        self.counts.moved(became, known.in_cumulative);
        let minute = minute_of(known.received_ms) as i32;
        let yielded = Stream {
            rev: peer.rev,
            finalized: Some(Finalized { minute, judgement: Judgement::default(), wait: RoughWait::UNKNOWN }),
            superseded: false,
            at: RecordLocation { len: 0, ..known.at },
            ..known
        };
        self.write_streams().put(yielded, Sender::default());
        Ok(())
    }

    /// Keeps the journal from this batch on, if it has facts: a start restores those that still wait.
    pub(crate) fn keep_facts(&mut self, batch: &JournaledBatch) {
        if batch.is_of_facts() {
            self.recent_facts.add(batch.received_ms, batch.position);
        }
    }

    /// Records that everything up to this position in the journal is counted.
    pub(crate) const fn set_counted_up_to(&mut self, position: u64) {
        self.counted_up_to = position;
    }

    /// Finalizes an open stream that has been idle for too long, with its last revision. `false` if there is
    /// none.
    pub(crate) fn finalize_next<E: StoredState>(
        &mut self,
        now_ms: i64,
        earlier: &E,
    ) -> Result<bool, E::Error> {
        let next_idle_open = self.write_streams().next_idle_open(now_ms, self.finalize_after_ms);
        next_idle_open
            .map(|seq| self.finalize_one(seq, earlier))
            .transpose()
            .map(|finalized| finalized.is_some())
    }

    /// Evicts some entries over the age or count limit. Finalizes open streams among them first. `false` once
    /// no entry is over a limit. Entries that wait for a file stay, unless far too many wait.
    pub(crate) fn evict_some<E: StoredState>(&mut self, now_ms: i64, earlier: &E) -> Result<bool, E::Error> {
        if let Some(in_file) = self.row_file_streams {
            return self.evict_without_file(in_file, now_ms, earlier);
        }
        for _ in 0..FORGET_AT_ONCE {
            let evict_next = self.write_streams().evict_next(now_ms);
            let Some(seq) = evict_next else { return Ok(false) };
            self.finalize_one(seq, earlier)?;
        }
        Ok(true)
    }

    /// Number of revisions that the store does not have yet.
    pub(crate) fn unflushed(&self) -> u64 {
        self.read_streams().next() - self.unflushed_from
    }

    /// Memory limit reached: flush now. If the flush fails, reject new batches.
    pub(crate) fn over_memory_limit(&self) -> bool {
        let weight = self.weight();
        weight >= self.memory.window_bytes()
            || weight >= self.memory.least_flushed_bytes() && self.memory.is_short()
    }

    /// Everything that the store does not have yet. It stays pending until
    /// [`mark_flushed`](Self::mark_flushed).
    pub(crate) fn changes(&mut self) -> Changes<'_> {
        let streams = self.streams.read().unwrap_or_else(PoisonError::into_inner);
        let row_file = self.row_file.as_ref().map(|file| {
            let revised =
                |stream: &&Stream| streams.get(stream.id).is_some_and(|(_, latest)| latest.rev != stream.rev);
            let gone = file.batch.streams.iter().filter(revised).map(|stream| stream.id).collect();
            StoredRowFile { file, gone }
        });
        Changes {
            series: self.series.unflushed().collect(),
            series_days: self.series.newly_used().collect(),
            windows: self.windows.dirty(),
            cumulative: self.cumulative.dirty(),
            counts: self.counts.unflushed(),
            samples: self.samples.changes(),
            remembered_from: row_file
                .as_ref()
                .map_or(streams.first(), |stored| stored.file.batch.end_seq.max(streams.first())),
            row_file,
            needs_journal_from: [streams.needs_from(), self.recent_facts.needs_from()]
                .into_iter()
                .flatten()
                .fold(self.counted_up_to, u64::min),
            counted_up_to: self.counted_up_to,
            next_seq: streams.next(),
            revisions: Revisions { streams, finalized: &self.finalized, from: self.unflushed_from },
        }
    }

    /// The store has all of [`changes`](Self::changes) now. Evicts the windows of past minutes. If the rest
    /// is over the limit, or little memory is left, evicts all windows and cumulative statistics.
    pub(crate) fn mark_flushed(&mut self, now_ms: i64) {
        self.series.mark_flushed();
        self.counts.mark_flushed();
        self.samples.mark_flushed(now_ms);
        self.recent_facts.forget(now_ms);
        if let Some(file) = self.row_file.take() {
            self.write_streams().evict_before(file.batch.end_seq);
        }
        let next = self.read_streams().next();
        self.unflushed_from = next;
        self.finalized.clear();
        let recent = minute_of(now_ms);
        self.windows.mark_flushed(|at, window| at.minute >= recent && window.before.is_none());
        self.cumulative.mark_flushed(|_, _| true);
        if self.weight() > self.most_kept_bytes || self.memory.is_short() {
            self.windows = WriteBackCache::default();
            self.cumulative = WriteBackCache::default();
        }
    }

    /// Retracts an earlier revision from its window, so that a later one can replace it.
    fn retract<E: StoredState>(&mut self, known: &Stream, earlier: &E) -> Result<ReportResult, E::Error> {
        let Some(counted) = known.finalized else { return Ok(ReportResult::Revised) };
        if counted.judgement.kind != StreamKind::Answer {
            return Ok(ReportResult::Revised);
        }
        let Some(report) = earlier.report(known.at)? else { return Ok(ReportResult::Late) };
        let at = WindowKey { minute: i64::from(counted.minute), series: known.series };
        let retract =
            |window: &mut Window| window.stats.retract(&report, counted.judgement, known.received_ms);
        if !self.windows.change(at, || earlier.window(at), retract)? {
            return Ok(ReportResult::Late);
        }
        let site = report.site.as_deref().unwrap_or_default();
        let day = |site: &str, day| earlier.samples(site, day);
        self.samples.retract(site, known.id, at.minute * MINUTE_MS, day)?;
        Ok(ReportResult::Revised)
    }

    fn finalize_one<E: StoredState>(&mut self, seq: SeqNo, earlier: &E) -> Result<(), E::Error> {
        let Some(stream) = self.read_streams().at(seq) else { return Ok(()) };
        let counted = match earlier.report(stream.at)? {
            Some(report) => self.count(&stream, &report, earlier)?,
            None => {
                // The report is lost. The stream is finalized without it, so that it is not read again.
                if !stream.in_cumulative {
                    self.counts.lost_stream();
                }
                let minute = minute_of(stream.received_ms) as i32;
                Finalized { minute, judgement: Judgement::default(), wait: RoughWait::UNKNOWN }
            }
        };
        self.write_streams().finalize(seq, counted);
        if seq < self.unflushed_from {
            self.finalized.push(seq);
        }
        Ok(())
    }

    fn count<E: StoredState>(
        &mut self,
        stream: &Stream,
        report: &StreamReport,
        earlier: &E,
    ) -> Result<Finalized, E::Error> {
        let judgement = self.judge(report);
        let at = WindowKey { minute: minute_of(stream.received_ms), series: stream.series };
        let finalized = Finalized { minute: at.minute as i32, judgement, wait: RoughWait::of(report) };
        if !stream.in_cumulative {
            self.counts.left_out(report);
        }
        if judgement.kind != StreamKind::Answer {
            if !stream.in_cumulative {
                self.counts.apart(judgement.kind);
            }
            return Ok(finalized);
        }
        let add = |window: &mut Window| {
            window.stats.add(report, judgement);
            window.stats.add_in_flight(report, stream.received_ms);
            true
        };
        self.windows.change(at, || earlier.window(at), add)?;
        self.samples.offer(stream, report, |site, day| earlier.samples(site, day))?;
        if !stream.in_cumulative {
            self.counts.probe_overhead(report);
            let key = self.series.cumulative(stream.series, report);
            let own_edges = &self.own_edges;
            let add = |total: &mut CumulativeStats| {
                total.add(report, judgement, own_edges);
                true
            };
            self.cumulative.change(key, || earlier.total(key), add)?;
        }
        Ok(finalized)
    }

    const fn weight(&self) -> usize {
        self.windows.bytes() + self.cumulative.bytes()
    }

    fn judge(&mut self, report: &StreamReport) -> Judgement {
        let site = report.site.as_deref().unwrap_or_default();
        let use_case = report.use_case.as_deref().unwrap_or_default();
        if let Some(targets) = self.targets.get(site).and_then(|known| known.get(use_case)) {
            return Judgement::of(report, targets);
        }
        let targets = self.config.targets(Some(site), use_case);
        let judgement = Judgement::of(report, &targets);
        let known = self.targets.entry(site.to_owned()).or_default();
        // Pages choose use cases, so a map of all of them would grow without limit.
        if known.len() >= MOST_TARGETS {
            known.clear();
        }
        known.insert(use_case.to_owned(), targets);
        judgement
    }

    fn read_streams(&self) -> RwLockReadGuard<'_, StreamRegistry> {
        self.streams.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_streams(&self) -> RwLockWriteGuard<'_, StreamRegistry> {
        self.streams.write().unwrap_or_else(PoisonError::into_inner)
    }
}

const MOST_TARGETS: usize = 1_000;

/// Evicting this many takes a tenth of a millisecond.
const FORGET_AT_ONCE: usize = 512;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
