//! Random lives of one or two collectors: crashes, disks that fail, clocks that jump, revisions in any order, ids that are
//! forgotten. What may not change is the sum: each stream counts once, with its latest revision, wherever it was sent.
//!
//! A run depends on its seed alone. A run that fails prints the command that repeats it.

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use beacon::Outcome;

use super::tests::Past;
use super::*;
use crate::aggregate::dimension::Dimension;
use crate::aggregate::internal_metrics::{CountKey, Kind};
use crate::aggregate::row_file::RowBatch;
use crate::aggregate::series::{Series, SeriesId, StoredSeries};
use crate::aggregate::window_stats::WindowStats;
use crate::config::{Dedupe, Store};
use crate::report::source::ReportSource;
use crate::report::stream_id::StreamId;

const RUNS: u64 = 1_000;
const STEPS: usize = 120;
const SEED: &str = "LLM_RUM_SIMULATION_SEED";

/// Runs one seed of the environment, or all.
fn each_seed(test: &str, run: fn(u64)) {
    let seeds = match env::var(SEED) {
        Ok(seed) => {
            let seed = seed.parse().expect("the seed is a number");
            seed..=seed
        }
        Err(_) => 1..=RUNS,
    };
    for seed in seeds {
        if let Err(failure) = catch_unwind(AssertUnwindSafe(|| run(seed))) {
            eprintln!("repeat with: {SEED}={seed} cargo test -p collector --lib {test}");
            resume_unwind(failure);
        }
    }
}

/// Numbers that look random and depend on the seed.
struct Dice(u64);

impl Dice {
    /// A number below `end`.
    fn roll(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn one_in(&mut self, of: u64) -> bool {
        self.roll(of) == 0
    }
}

/// What survives a crash.
#[derive(Default)]
struct Disk {
    /// Every report, with the time of its arrival. Its index is its position.
    journal: Vec<(StreamReport, StreamId, i64)>,
    /// The journal before this position is deleted.
    journal_from: u64,
    sums: Past,
    counts: BTreeMap<CountKey, u64>,
    series: BTreeMap<SeriesId, (Series, i64)>,
    streams: BTreeMap<SeqNo, Stream>,
    remembered_from: SeqNo,
    counted_up_to: u64,
    /// Streams in files, without those that the store says do not count.
    rows: Vec<StreamId>,
}

impl StoredState for Disk {
    type Error = Box<dyn std::error::Error>;

    fn window(&self, at: WindowKey) -> Result<Window, Self::Error> {
        self.sums.window(at)
    }

    fn total(&self, key: CumulativeKey) -> Result<CumulativeStats, Self::Error> {
        self.sums.total(key)
    }

    fn report(&self, at: RecordLocation) -> Result<Option<StreamReport>, Self::Error> {
        assert!(at.position >= self.journal_from, "a report is needed whose part of the journal is deleted");
        Ok(Some(self.journal[at.position as usize].0.clone()))
    }

    fn samples(&self, _: &str, _: i64) -> Result<Vec<StoredSample>, Self::Error> {
        Ok(Vec::new())
    }
}

impl Disk {
    fn load(&self) -> LoadedState {
        let stored = |(id, (series, used_day)): (&SeriesId, &(Series, i64))| StoredSeries {
            id: *id,
            series: series.clone(),
            used_day: *used_day,
        };
        LoadedState {
            series: self.series.iter().map(stored).collect(),
            counts: Counts::new(self.counts.clone()),
            streams: self
                .streams
                .range(self.remembered_from..)
                .map(|(seq, stream)| (*seq, *stream))
                .collect(),
            remembered_from: self.remembered_from,
            counted_up_to: self.counted_up_to,
        }
    }

    /// Writes as one transaction. Gives back the revisions that peers may not know.
    fn write(&mut self, mut changes: Changes<'_>) -> Vec<PeerRevision> {
        for (id, series, day) in &changes.series {
            self.series.insert(*id, ((*series).clone(), *day));
        }
        for (id, day) in &changes.series_days {
            self.series.get_mut(id).expect("its series is stored").1 = *day;
        }
        self.sums.windows.extend(changes.windows.iter().map(|(key, window)| (*key, window.stats.encode())));
        self.sums.cumulative.extend(changes.cumulative.iter_mut().map(|(key, total)| (*key, total.encode())));
        self.counts.extend(changes.counts.iter().map(|(key, count)| ((*key).clone(), *count)));
        let revisions: Vec<_> = changes.revisions.each().collect();
        self.streams.extend(revisions.iter().copied());
        if let Some(stored) = &changes.row_file {
            let streams = &stored.file.batch.streams;
            let count = streams.iter().filter(|stream| !stored.gone.contains(&stream.id));
            self.rows.extend(count.map(|stream| stream.id));
        }
        self.remembered_from = changes.remembered_from;
        self.counted_up_to = changes.counted_up_to;
        self.journal_from = self.journal_from.max(changes.needs_journal_from);
        let ours = revisions.iter().filter(|(_, stream)| !stream.owned_by_peer());
        let site_of = |stream: &Stream| self.series[&stream.series].0[Dimension::Site].to_string();
        let published = ours.map(|(_, stream)| PeerRevision {
            id: stream.id,
            site: site_of(stream),
            rev: stream.rev,
            has_precedence: false,
        });
        published.collect()
    }

    fn outcomes(&self) -> BTreeMap<&'static str, u64> {
        let mut all = BTreeMap::new();
        for window in self.sums.windows.values().map(|bytes| WindowStats::decode(bytes).unwrap()) {
            for (outcome, streams) in window.outcomes().filter(|(_, streams)| *streams > 0) {
                *all.entry(outcome.as_str()).or_default() += streams;
            }
        }
        all
    }
}

/// One collector.
struct Machine {
    config: Config,
    disk: Disk,
    aggregator: Aggregator,
    /// Revisions of the peer, and those of them that a crash would make it read again.
    inbox: Vec<PeerRevision>,
    read: Vec<PeerRevision>,
    /// A file that is being written.
    writing: Option<RowBatch>,
}

impl Machine {
    fn new(config: Config) -> Self {
        let aggregator = Aggregator::new(config.clone(), LoadedState::default());
        Self { config, disk: Disk::default(), aggregator, inbox: Vec::new(), read: Vec::new(), writing: None }
    }

    fn receive(&mut self, id: StreamId, report: StreamReport, now_ms: i64) {
        self.disk.journal.push((report, id, now_ms));
        self.count(self.disk.journal.len() as u64 - 1);
    }

    fn count(&mut self, position: u64) {
        let (report, id, received_ms) = self.disk.journal[position as usize].clone();
        let at = RecordLocation { position, len: 1 };
        let (source, country, visit) = (ReportSource::Network(id as u64 % 3), None, None);
        let report = JournaledReport { id, source, country, visit, report, at };
        self.aggregator.add(&report, received_ms, &self.disk).unwrap();
        self.aggregator.set_counted_up_to(position + 1);
    }

    /// As the aggregation worker does. Gives back what peers are to know.
    fn flush(&mut self, now_ms: i64, disk_fails: bool) -> Vec<PeerRevision> {
        for peer in std::mem::take(&mut self.inbox) {
            self.aggregator.yield_to_peer(&peer, &self.disk).unwrap();
            self.read.push(peer);
        }
        while self.aggregator.finalize_next(now_ms, &self.disk).unwrap() {}
        if let Some(batch) = self.writing.take() {
            self.aggregator.add_row_file(RowFile { batch, bytes: 1 });
        }
        let changes = self.aggregator.changes();
        if disk_fails {
            return Vec::new();
        }
        let published = self.disk.write(changes);
        self.read.clear();
        self.aggregator.mark_flushed(now_ms);
        while self.aggregator.evict_some(now_ms, &self.disk).unwrap() {}
        if !self.aggregator.has_row_file() {
            self.writing = self.aggregator.next_row_batch(now_ms, &self.disk).unwrap();
        }
        published
    }

    fn crash(&mut self) {
        self.writing = None;
        self.inbox.append(&mut self.read);
        self.aggregator = Aggregator::new(self.config.clone(), self.disk.load());
        for position in self.disk.counted_up_to..self.disk.journal.len() as u64 {
            self.count(position);
        }
    }

    fn known(&self, id: StreamId) -> Option<Stream> {
        self.aggregator.read_streams().get(id).map(|(_, stream)| stream)
    }

    fn requests(&self) -> u64 {
        let requests = |bytes: &Vec<u8>| CumulativeStats::decode(bytes).unwrap().requests();
        self.disk.sums.cumulative.values().map(requests).sum()
    }

    fn count_of(&self, kind: Kind, word: &str) -> u64 {
        self.disk.counts.get(&CountKey::plain(kind, word)).copied().unwrap_or(0)
    }
}

/// A stream as its page sees it.
#[derive(Clone, Copy)]
struct Sent {
    rev: u32,
    is_open: bool,
    outcome: Outcome,
}

impl Sent {
    fn report(self, id: StreamId) -> StreamReport {
        let Self { rev, is_open, outcome } = self;
        StreamReport { rev, open: is_open, outcome, ..StreamReport::new(format!("{id:032x}")) }
    }

    /// The next revision.
    fn next(self, dice: &mut Dice) -> Self {
        let is_open = self.is_open && !dice.one_in(3);
        let outcomes = [Outcome::Complete, Outcome::Truncated, Outcome::Aborted];
        let outcome = if is_open { Outcome::Abandoned } else { outcomes[dice.roll(3) as usize] };
        Self { rev: self.rev + 1, is_open, outcome }
    }
}

const START: Sent = Sent { rev: 0, is_open: true, outcome: Outcome::Abandoned };

fn add(counts: &mut BTreeMap<&'static str, u64>, outcome: Outcome) {
    *counts.entry(outcome.as_str()).or_default() += 1;
}

/// Small limits, so that ids are forgotten all the time. What is forgotten rightly may count again.
#[test]
fn one_collector_keeps_the_sum_of_streams() {
    each_seed("one_collector_keeps_the_sum_of_streams", |seed| {
        let mut dice = Dice(seed);
        let has_files = !dice.one_in(2);
        let row_files_days = if has_files { 30 } else { 0 };
        let store = Store { streams_kept: 4, row_file_streams: 8, row_files_days, ..Store::default() };
        // So few that no id is kept beyond its entry.
        let config = Config { store, dedupe: Dedupe { ids: 12, minutes: 30 }, ..Config::default() };
        let mut machine = Machine::new(config);
        let is_clock_good = dice.one_in(2);
        let mut now_ms = 1_000_000_000_000;
        let mut streams: BTreeMap<StreamId, Sent> = BTreeMap::new();
        // What was counted of streams before they were forgotten, and since which report they count again.
        let mut forgotten: Vec<(StreamId, Sent, u64)> = Vec::new();
        let mut next_id = 1;
        for _ in 0..STEPS {
            match dice.roll(20) {
                0 => {
                    machine.crash();
                    // The store did not know yet that the stream was to be forgotten.
                    let remembers = |id| machine.disk.load().streams.values().any(|stream| stream.id == id);
                    forgotten.retain(|&(id, before, again)| {
                        let is_forgotten = again < machine.disk.counted_up_to || !remembers(id);
                        let latest = streams.get_mut(&id).expect("it was sent again");
                        if !is_forgotten && before.rev >= latest.rev {
                            *latest = before;
                        }
                        is_forgotten
                    });
                }
                1..4 => drop(machine.flush(now_ms, dice.one_in(4))),
                4 if !is_clock_good => now_ms += dice.roll(400_000) as i64,
                5 if !is_clock_good => now_ms -= dice.roll(100_000) as i64,
                kind => {
                    now_ms += dice.roll(2_000) as i64;
                    let open = streams.values().filter(|sent| sent.is_open).count();
                    let is_new = streams.is_empty() || kind < 12;
                    let (id, sent) = if is_new {
                        // Few are open: those of a crowd may count twice.
                        (
                            next_id,
                            if open < 3 { START } else { Sent { is_open: false, ..START.next(&mut dice) } },
                        )
                    } else {
                        let recent = streams.len().min(12) as u64;
                        let (&id, &before) = streams.iter().rev().nth(dice.roll(recent) as usize).unwrap();
                        match dice.roll(4) {
                            // Sent twice, or overtaken by a later one.
                            0 => (id, before),
                            1 if before.rev > 0 => (id, Sent { rev: before.rev - 1, ..before }),
                            _ => (id, before.next(&mut dice)),
                        }
                    };
                    next_id += StreamId::from(is_new);
                    let known = machine.known(id);
                    if let Some(&before) = streams.get(&id)
                        && known.is_none()
                    {
                        // A jump of the clock may end one that is idle.
                        assert!(!before.is_open || !is_clock_good, "an open stream is forgotten: {id}");
                        forgotten.push((id, before, machine.disk.journal.len() as u64));
                        streams.remove(&id);
                    }
                    machine.receive(id, sent.report(id), now_ms);
                    let latest = streams.entry(id).or_insert(sent);
                    if sent.rev > latest.rev {
                        *latest = sent;
                    }
                }
            }
        }
        for _ in 0..3 {
            now_ms += 10_000_000;
            machine.flush(now_ms, false);
        }
        let mut expected = BTreeMap::new();
        forgotten.iter().for_each(|(_, sent, _)| add(&mut expected, sent.outcome));
        streams.values().for_each(|sent| add(&mut expected, sent.outcome));
        assert_eq!(machine.disk.outcomes(), expected);
        let counted: u64 = expected.values().sum();
        assert_eq!((machine.requests(), machine.count_of(Kind::Report, "new")), (counted, counted));
        assert_eq!(machine.count_of(Kind::Report, "late"), 0);
        let results =
            ["new", "revised", "duplicate", "stale"].map(|word| machine.count_of(Kind::Report, word));
        assert_eq!(
            results.iter().sum::<u64>(),
            machine.disk.journal.len() as u64,
            "each report has a result"
        );
        if has_files {
            let in_memory = machine.aggregator.read_streams().standing();
            let kept = machine.disk.rows.len() + in_memory;
            assert_eq!(kept as u64, counted, "each stream is in one file or in memory");
        }
    });
}

/// Two collectors that a load balancer sends reports to at random.
#[test]
fn two_collectors_keep_the_sum_of_streams() {
    each_seed("two_collectors_keep_the_sum_of_streams", |seed| {
        let mut dice = Dice(seed);
        let store = Store { row_files_days: 0, streams_kept: 1_000, ..Store::default() };
        let config = Config { store, dedupe: Dedupe { ids: 1_000, minutes: 1_000_000 }, ..Config::default() };
        let mut machines = [Machine::new(config.clone()), Machine::new(config)];
        // The latest revision that each has published.
        let mut published: [BTreeMap<StreamId, u32>; 2] = Default::default();
        let mut now_ms = 1_000_000_000_000;
        let mut streams: BTreeMap<StreamId, Sent> = BTreeMap::new();
        let mut publish = |machines: &mut [Machine; 2], at: usize, now_ms: i64, fails: bool| {
            for revision in machines[at].flush(now_ms, fails) {
                published[at].insert(revision.id, revision.rev);
                machines[1 - at].inbox.push(PeerRevision { has_precedence: at == 0, ..revision.clone() });
                if let Some(&rev) = published[1 - at].get(&revision.id) {
                    machines[at].inbox.push(PeerRevision { rev, has_precedence: at == 1, ..revision });
                }
            }
        };
        for _ in 0..STEPS {
            let at = dice.roll(2) as usize;
            match dice.roll(16) {
                0 => machines[at].crash(),
                1..4 => publish(&mut machines, at, now_ms, dice.one_in(4)),
                4 => now_ms += dice.roll(200_000) as i64,
                5 => now_ms -= dice.roll(50_000) as i64,
                _ => {
                    now_ms += dice.roll(2_000) as i64;
                    let id = StreamId::from(dice.roll(12));
                    let sent = match streams.get(&id) {
                        None => START,
                        Some(before) if dice.one_in(4) => *before,
                        Some(before) => before.next(&mut dice),
                    };
                    machines[at].receive(id, sent.report(id), now_ms);
                    streams.insert(id, sent);
                }
            }
        }
        for _ in 0..4 {
            now_ms += 1_000_000;
            for at in [0, 1] {
                machines[at].crash();
                publish(&mut machines, at, now_ms, false);
            }
        }
        let mut counted = machines[0].disk.outcomes();
        for (outcome, streams) in machines[1].disk.outcomes() {
            *counted.entry(outcome).or_default() += streams;
        }
        let mut expected = BTreeMap::new();
        streams.values().for_each(|sent| add(&mut expected, sent.outcome));
        assert_eq!(counted, expected);
        let sum = |kind, word| machines.iter().map(|machine| machine.count_of(kind, word)).sum::<u64>();
        let moved = sum(Kind::Moved, "revised") + sum(Kind::Moved, "duplicate");
        assert_eq!(sum(Kind::Report, "new") - moved, streams.len() as u64);
    });
}
