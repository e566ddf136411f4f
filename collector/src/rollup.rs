//! What the reports add up to, in memory: accepted reports come in, windows, totals, stream rows and
//! counts go out to the store. Each stream counts once, as its latest revision says.

use std::collections::HashMap;
use std::mem;

use beacon::StreamReport;

use crate::admit::Accepted;
use crate::config::Config;
use crate::counts::{Counts, Handled};
use crate::seen::{Known, Seen, StreamId};
use crate::series::{Book, SeriesId};
use crate::slo::Targets;
use crate::store::{Changes, Counted, JournalSeq, Loaded, StoreError, StreamRow};
use crate::tally::Tally;
use crate::totals::Total;

/// Earlier state that is no longer in memory.
pub(crate) trait Earlier {
    /// A window as it was last stored.
    fn window(&self, at: WindowKey) -> Result<Option<Tally>, StoreError>;
    /// A stream as it was last stored.
    fn stream(&self, place: i64) -> Result<Option<StreamRow>, StoreError>;
    /// A report from the journal.
    fn report(&self, seq: JournalSeq) -> Result<Option<StreamReport>, StoreError>;
}

/// One minute of one series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct WindowKey {
    /// Minutes since 1970 by the collector's clock, of the report's arrival.
    pub(crate) minute: i64,
    pub(crate) series: SeriesId,
}

/// The state behind everything that is counted. One thread owns it.
pub(crate) struct Rollup {
    settle_after_ms: i64,
    /// By use case, looked up in the configuration once.
    targets: HashMap<String, Targets>,
    config: Config,
    seen: Seen,
    series: Book,
    windows: HashMap<WindowKey, Dirty<Tally>>,
    totals: Vec<Dirty<Total>>,
    rows: Rows,
    next_place: i64,
    pub(crate) counts: Counts,
}

/// A value, and whether the store has yet to learn of it.
#[derive(Default)]
struct Dirty<T> {
    value: T,
    changed: bool,
}

/// Stream rows that the store does not have yet, in order of arrival.
#[derive(Default)]
struct Rows {
    in_order: Vec<StreamRow>,
    by_place: HashMap<i64, usize>,
    /// Reports in the journal that no row is about.
    superseded: Vec<JournalSeq>,
}

impl Rollup {
    /// The state that the store was left in.
    pub(crate) fn new(config: Config, loaded: Loaded) -> Self {
        let keep_ms = i64::from(config.dedupe.minutes) * MINUTE_MS;
        let mut seen = Seen::new(config.dedupe.ids, keep_ms);
        for (id, known) in loaded.known {
            seen.put(id, known);
        }
        let stored = |value| Dirty { value, changed: false };
        Self {
            settle_after_ms: i64::from(config.settle_after_seconds) * 1_000,
            targets: HashMap::new(),
            seen,
            series: Book::new(config.limits.clone(), loaded.series),
            windows: HashMap::new(),
            totals: loaded.totals.into_iter().map(stored).collect(),
            rows: Rows::default(),
            next_place: loaded.next_place,
            counts: loaded.counts,
            config,
        }
    }

    /// Counts one report that arrived at `received_ms`, or finds that it is known. The journal holds it
    /// at `seq`.
    pub(crate) fn apply(
        &mut self,
        Accepted { id, report, .. }: Accepted,
        seq: JournalSeq,
        received_ms: i64,
        earlier: &impl Earlier,
    ) -> Result<(), StoreError> {
        let known = self.seen.get(id);
        let handled = match known {
            None => Handled::New,
            Some(known) if report.rev == known.rev => Handled::Duplicate,
            Some(known) if report.rev < known.rev => Handled::Stale,
            Some(known) if known.counted => self.take_back(known, earlier)?,
            Some(_) => Handled::Revised,
        };
        self.counts.handled(handled);
        if !handled.changes_state() {
            self.rows.superseded.push(seq);
            return Ok(());
        }
        self.counts.dropped(report.dropped.as_ref());
        let series = self.series.of(&report, {
            let site = report.site.as_deref().unwrap_or_default();
            let counts = &mut self.counts;
            move |kind| counts.overflow(site, kind)
        });
        let totalled = known.is_some_and(|known| known.totalled);
        let place = known.map_or(self.next_place, |known| known.place);
        self.next_place = self.next_place.max(place + 1);
        let mut row = StreamRow {
            place,
            id,
            rev: report.rev,
            outcome: report.outcome,
            series,
            counted: None,
            totalled,
            received_ms,
            report: seq,
        };
        if !report.open {
            self.count(&mut row, &report, earlier)?;
        }
        let counted = row.counted.is_some();
        self.seen.put(id, Known { rev: row.rev, place, received_ms, counted, totalled: row.totalled });
        self.rows.put(row);
        Ok(())
    }

    /// Counts every open stream that has been silent for too long, or is about to be forgotten, as
    /// what it last said.
    pub(crate) fn settle(&mut self, now_ms: i64, earlier: &impl Earlier) -> Result<(), StoreError> {
        while let Some(id) = self.seen.silent(now_ms - self.settle_after_ms) {
            self.settle_one(id, earlier)?;
        }
        while let Some(id) = self.seen.crowded_out(now_ms) {
            self.settle_one(id, earlier)?;
        }
        Ok(())
    }

    /// The journal held bytes at `seq` that are no report.
    pub(crate) fn skip_unreadable(&mut self, seq: JournalSeq) {
        self.counts.handled(Handled::Unreadable);
        self.rows.superseded.push(seq);
    }

    /// Everything that the store does not have yet. It stays so until [`stored`](Self::stored).
    pub(crate) fn changes(&mut self) -> Changes<'_> {
        let windows = self.windows.iter().filter(|(_, window)| window.changed);
        let totals = self.totals.iter().enumerate().filter(|(_, total)| total.changed);
        Changes {
            series: self.series.unstored().collect(),
            windows: windows.map(|(key, window)| (*key, window.value.encode())).collect(),
            totals: totals.map(|(id, total)| (id as SeriesId, total.value.encode())).collect(),
            counts: self.counts.unstored(),
            rows: &self.rows.in_order,
            superseded: &self.rows.superseded,
        }
    }

    /// The store has all of [`changes`](Self::changes) now. Windows of the past leave the memory.
    pub(crate) fn stored(&mut self, now_ms: i64) {
        self.series.mark_stored();
        self.counts.mark_stored();
        self.rows = Rows::default();
        let recent = minute_of(now_ms) - 1;
        self.windows.retain(|key, window| {
            window.changed = false;
            key.minute >= recent
        });
        for total in &mut self.totals {
            total.changed = false;
        }
    }

    /// Takes an earlier revision out of its window, so that a later one can take its place.
    fn take_back(&mut self, known: Known, earlier: &impl Earlier) -> Result<Handled, StoreError> {
        let Some(row) = self.rows.get(known.place, earlier)? else { return Ok(Handled::Late) };
        let Some(counted) = row.counted else { return Ok(Handled::Late) };
        let Some(report) = earlier.report(row.report)? else { return Ok(Handled::Late) };
        let at = WindowKey { minute: counted.minute, series: row.series };
        Ok(match self.window(at, earlier)?.take_back(&report, counted.good) {
            true => Handled::Revised,
            false => Handled::Late,
        })
    }

    fn settle_one(&mut self, id: StreamId, earlier: &impl Earlier) -> Result<(), StoreError> {
        if let Some(known) = self.seen.get(id)
            && let Some(mut row) = self.rows.get(known.place, earlier)?
            && let Some(report) = earlier.report(row.report)?
        {
            self.count(&mut row, &report, earlier)?;
            self.rows.put(row);
        }
        self.seen.mark_counted(id);
        Ok(())
    }

    fn count(
        &mut self,
        row: &mut StreamRow,
        report: &StreamReport,
        earlier: &impl Earlier,
    ) -> Result<(), StoreError> {
        let good = self.targets_of(report).met_by(report);
        let at = WindowKey { minute: minute_of(row.received_ms), series: row.series };
        self.window(at, earlier)?.add(report, good);
        row.counted = Some(Counted { minute: at.minute, good });
        if !mem::replace(&mut row.totalled, true) {
            let total = self.total(row.series);
            total.changed = true;
            total.value.add(report);
        }
        Ok(())
    }

    fn window(&mut self, at: WindowKey, earlier: &impl Earlier) -> Result<&mut Tally, StoreError> {
        let window = match self.windows.entry(at) {
            std::collections::hash_map::Entry::Occupied(held) => held.into_mut(),
            std::collections::hash_map::Entry::Vacant(free) => {
                let value = earlier.window(at)?.unwrap_or_default();
                free.insert(Dirty { value, changed: false })
            }
        };
        window.changed = true;
        Ok(&mut window.value)
    }

    fn total(&mut self, series: SeriesId) -> &mut Dirty<Total> {
        let at = series as usize;
        if at >= self.totals.len() {
            self.totals.resize_with(at + 1, Dirty::default);
        }
        &mut self.totals[at]
    }

    fn targets_of(&mut self, report: &StreamReport) -> &Targets {
        let use_case = report.use_case.as_deref().unwrap_or_default();
        if !self.targets.contains_key(use_case) {
            // Pages choose use cases: a map of all that ever came must not grow.
            if self.targets.len() >= MOST_TARGETS {
                self.targets.clear();
            }
            self.targets.insert(use_case.to_owned(), self.config.targets(use_case));
        }
        &self.targets[use_case]
    }
}

impl Rows {
    fn put(&mut self, row: StreamRow) {
        match self.by_place.get(&row.place) {
            Some(&at) => {
                let before = mem::replace(&mut self.in_order[at], row);
                if before.report != self.in_order[at].report {
                    self.superseded.push(before.report);
                }
            }
            None => {
                self.by_place.insert(row.place, self.in_order.len());
                self.in_order.push(row);
            }
        }
    }

    fn get(&self, place: i64, earlier: &impl Earlier) -> Result<Option<StreamRow>, StoreError> {
        match self.by_place.get(&place) {
            Some(&at) => Ok(Some(self.in_order[at].clone())),
            None => earlier.stream(place),
        }
    }
}

/// The window that a moment falls into.
pub(crate) const fn minute_of(ms: i64) -> i64 {
    ms.div_euclid(MINUTE_MS)
}

/// Length of a window.
pub(crate) const MINUTE_MS: i64 = 60_000;

const MOST_TARGETS: usize = 1_000;
