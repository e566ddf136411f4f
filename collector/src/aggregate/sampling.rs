//! Samples single streams for the whole history. For each site and day, it stores the slowest, some of the failed,
//! and a uniform random sample.
//!
//! Each choice depends on the streams alone, not on their order. A restart that counts a stream again chooses it
//! again, and no stream is chosen twice.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use beacon::{Outcome, StreamReport};

use crate::aggregate::dedup::Stream;
use crate::aggregate::series::SeriesId;
use crate::report::stream_id::{StreamId, spread};
use crate::time::day_of;

/// Why a stream is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleKind {
    /// The longest waits for the first visible token, or for the first token of any kind if none was visible.
    Slowest,
    /// Random sample of the streams in which the service failed: eligible and not intact.
    Failed,
    /// Uniform random sample of all outcomes.
    Uniform,
}

impl SampleKind {
    pub(crate) const ALL: [Self; 3] = [Self::Slowest, Self::Failed, Self::Uniform];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Slowest => "slowest",
            Self::Failed => "failed",
            Self::Uniform => "uniform",
        }
    }

    /// Its bit in a row's `kinds`.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A sampled stream, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredSample {
    pub(crate) id: StreamId,
    /// The samples that contain it, one bit each.
    pub(crate) kinds: u8,
    /// At least 0.
    pub(crate) waited_ms: Option<f64>,
}

/// A stream that is to be stored, with everything that is known of it.
#[derive(Debug)]
pub(crate) struct NewSample {
    pub(crate) series: SeriesId,
    pub(crate) outcome: Outcome,
    pub(crate) received_ms: i64,
    /// As JSON.
    pub(crate) report: String,
}

/// Changes that the store does not have yet.
#[derive(Debug, Default)]
pub(crate) struct SampleChanges<'a> {
    /// Streams that left all samples, with their days.
    pub(crate) gone: &'a [(i64, StreamId)],
    /// Changed samples with their days, and with their rows if they are new.
    pub(crate) kept: Vec<(i64, &'a StoredSample, Option<&'a NewSample>)>,
}

/// The samples of the days in which streams are counted.
pub(crate) struct Sampler {
    /// Most streams of each kind, site and day.
    most: usize,
    by_site: HashMap<String, BTreeMap<i64, DaySamples>>,
    gone: Vec<(i64, StreamId)>,
}

/// The samples of one site and day.
#[derive(Default)]
struct DaySamples {
    held: Vec<SampleEntry>,
    /// By kind: only a stream with a score above this is sampled. `None` while there is room.
    floors: [Option<Score>; SampleKind::ALL.len()],
}

struct SampleEntry {
    kept: StoredSample,
    /// `None` once the store has it.
    row: Option<NewSample>,
    changed: bool,
}

impl Sampler {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, by_site: HashMap::new(), gone: Vec::new() }
    }

    /// Samples a stream that is being counted, if it qualifies. `stored` returns the stored samples of a site
    /// and day.
    pub(crate) fn offer<E: From<serde_json::Error>>(
        &mut self,
        stream: &Stream,
        report: &StreamReport,
        stored: impl FnOnce(&str, i64) -> Result<Vec<StoredSample>, E>,
    ) -> Result<(), E> {
        if self.most == 0 {
            return Ok(());
        }
        let (kept, most) = (StoredSample::of(stream.id, report), self.most);
        let number = day_of(stream.received_ms);
        let site = report.site.as_deref().unwrap_or_default();
        let day = self.day(site, number, stored)?;
        if !day.has_room_for(&kept) {
            return Ok(());
        }
        let row = NewSample {
            series: stream.series,
            outcome: report.outcome,
            received_ms: stream.received_ms,
            report: serde_json::to_string(report)?,
        };
        day.held.retain(|held| held.kept.id != kept.id);
        day.held.push(SampleEntry { kept, row: Some(row), changed: true });
        let gone = day.choose(most);
        self.gone.extend(gone.into_iter().map(|id| (number, id)));
        Ok(())
    }

    /// Removes an earlier revision of a stream, which was counted at `received_ms` and is retracted.
    pub(crate) fn retract<E>(
        &mut self,
        site: &str,
        id: StreamId,
        received_ms: i64,
        stored: impl FnOnce(&str, i64) -> Result<Vec<StoredSample>, E>,
    ) -> Result<(), E> {
        if self.most == 0 {
            return Ok(());
        }
        let (most, number) = (self.most, day_of(received_ms));
        let day = self.day(site, number, stored)?;
        let before = day.held.len();
        day.held.retain(|held| held.kept.id != id);
        if day.held.len() < before {
            day.choose(most);
            self.gone.push((number, id));
        }
        Ok(())
    }

    /// Changes since [`mark_flushed`](Self::mark_flushed).
    pub(crate) fn changes(&self) -> SampleChanges<'_> {
        let days = self.by_site.values().flatten();
        let held = days.flat_map(|(day, DaySamples { held, .. })| held.iter().map(|held| (*day, held)));
        let changed = held.filter(|(_, held)| held.changed);
        let kept = changed.map(|(day, held)| (day, &held.kept, held.row.as_ref())).collect();
        SampleChanges { gone: &self.gone, kept }
    }

    /// The store has all changes now. Evicts the samples of past days.
    pub(crate) fn mark_flushed(&mut self, now_ms: i64) {
        self.gone.clear();
        let yesterday = day_of(now_ms) - 1;
        for days in self.by_site.values_mut() {
            days.retain(|day, _| *day >= yesterday);
            for held in days.values_mut().flat_map(|day| &mut day.held) {
                held.changed = false;
                held.row = None;
            }
        }
    }

    fn day_mut(&mut self, site: &str, day: i64) -> Option<&mut DaySamples> {
        self.by_site.get_mut(site)?.get_mut(&day)
    }

    fn day<E>(
        &mut self,
        site: &str,
        day: i64,
        stored: impl FnOnce(&str, i64) -> Result<Vec<StoredSample>, E>,
    ) -> Result<&mut DaySamples, E> {
        if self.day_mut(site, day).is_none() {
            let held = stored(site, day)?.into_iter();
            let mut loaded = DaySamples {
                held: held.map(|kept| SampleEntry { kept, row: None, changed: false }).collect(),
                ..DaySamples::default()
            };
            // The store may have more samples than the configuration allows now.
            let gone = loaded.choose(self.most);
            self.gone.extend(gone.into_iter().map(|id| (day, id)));
            self.by_site.entry(site.to_owned()).or_default().insert(day, loaded);
        }
        Ok(self.day_mut(site, day).expect("it is there by now"))
    }
}

impl DaySamples {
    fn has_room_for(&self, kept: &StoredSample) -> bool {
        let above = |floor: Option<Score>, score| floor.is_none_or(|floor| score > floor);
        SampleKind::ALL
            .into_iter()
            .any(|sample| kept.score(sample).is_some_and(|score| above(self.floors[sample as usize], score)))
    }

    /// Keeps the highest scores of each kind. Returns the streams that are in no sample any more.
    fn choose(&mut self, most: usize) -> Vec<StreamId> {
        for sample in SampleKind::ALL {
            let mut scores: Vec<_> = self.held.iter().filter_map(|held| held.kept.score(sample)).collect();
            scores.sort_unstable_by_key(|score| Reverse(*score));
            self.floors[sample as usize] = most.checked_sub(1).and_then(|last| scores.get(last)).copied();
        }
        let floors = self.floors;
        for held in &mut self.held {
            for sample in SampleKind::ALL {
                let below = |floor| held.kept.score(sample).is_some_and(|score| score < floor);
                if floors[sample as usize].is_some_and(below) {
                    held.kept.kinds &= !sample.bit();
                    held.changed = true;
                }
            }
        }
        self.held.extract_if(.., |held| held.kept.kinds == 0).map(|held| held.kept.id).collect()
    }
}

impl StoredSample {
    /// A stream, with all samples for which it qualifies.
    fn of(id: StreamId, report: &StreamReport) -> Self {
        // A sender may write `-0.0`, whose bits compare above those of every wait.
        let waited_ms = report.ttfv_ms.or(report.ttft_ms).map(f64::abs);
        let failed = report.outcome.is_eligible() && !report.is_intact();
        let may_be = |sample| match sample {
            SampleKind::Slowest => waited_ms.is_some(),
            SampleKind::Failed => failed,
            SampleKind::Uniform => true,
        };
        let kinds = SampleKind::ALL.into_iter().filter(|sample| may_be(*sample));
        Self { id, kinds: kinds.fold(0, |kinds, sample| kinds | sample.bit()), waited_ms }
    }

    /// Rank of the stream among those of this kind; the highest are kept. `None` if it does not qualify.
    fn score(&self, sample: SampleKind) -> Option<Score> {
        if self.kinds & sample.bit() == 0 {
            return None;
        }
        let score = match sample {
            // The bits of non-negative floats sort like the floats.
            SampleKind::Slowest => self.waited_ms?.to_bits(),
            SampleKind::Failed | SampleKind::Uniform => spread(self.id),
        };
        Some((score, self.id))
    }
}

/// Unique, because it includes the id.
type Score = (u64, StreamId);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::journal::segments::RecordLocation;

    fn stream(id: StreamId) -> Stream {
        Stream {
            id,
            rev: 0,
            outcome: Outcome::Complete,
            series: 0,
            finalized: None,
            in_cumulative: false,
            superseded: false,
            received_ms: 5,
            at: RecordLocation { position: 0, len: 0 },
        }
    }

    fn report(outcome: Outcome, waited_ms: f64) -> StreamReport {
        StreamReport { outcome, open: false, ttft_ms: Some(waited_ms), ..StreamReport::new("0") }
    }

    fn nothing_stored(_: &str, _: i64) -> Result<Vec<StoredSample>, serde_json::Error> {
        Ok(Vec::new())
    }

    fn offer(samples: &mut Sampler, id: StreamId, report: &StreamReport) {
        samples.offer(&stream(id), report, nothing_stored).unwrap();
    }

    /// Ids by kind, sorted.
    fn chosen(samples: &Sampler) -> [Vec<StreamId>; 3] {
        let kept = samples.changes().kept;
        SampleKind::ALL.map(|sample| {
            let of_kind = kept.iter().filter(|(_, kept, _)| kept.kinds & sample.bit() > 0);
            let mut ids: Vec<_> = of_kind.map(|(_, kept, _)| kept.id).collect();
            ids.sort_unstable();
            ids
        })
    }

    #[test]
    fn each_kind_of_sample_is_kept_up_to_its_limit() {
        let mut samples = Sampler::new(3);
        for id in 0..100 {
            let outcome = if id % 2 == 0 { Outcome::Complete } else { Outcome::Truncated };
            offer(&mut samples, id, &report(outcome, id as f64));
        }
        let [slowest, failed, uniform] = chosen(&samples);
        assert_eq!(slowest, [97, 98, 99]);
        assert_eq!((failed.len(), uniform.len()), (3, 3));
        assert!(failed.iter().all(|id| id % 2 == 1));
    }

    #[test]
    fn a_negative_wait_is_not_the_slowest() {
        let mut samples = Sampler::new(1);
        for (id, waited_ms) in [(1, 5.0), (2, -0.0), (3, 0.0)] {
            offer(&mut samples, id, &report(Outcome::Complete, waited_ms));
        }
        assert_eq!(chosen(&samples)[0], [1]);
    }

    #[test]
    fn a_stream_that_its_user_ended_is_no_failure() {
        let mut samples = Sampler::new(3);
        offer(&mut samples, 1, &report(Outcome::Aborted, 5.0));
        assert_eq!(chosen(&samples), [vec![1], vec![], vec![1]]);
    }

    #[test]
    fn a_revision_takes_the_place_of_the_one_before() {
        let mut samples = Sampler::new(2);
        offer(&mut samples, 1, &report(Outcome::Truncated, 9.0));
        samples.retract("", 1, 5, nothing_stored).unwrap();
        offer(&mut samples, 1, &report(Outcome::Complete, 9.0));
        assert_eq!(chosen(&samples), [vec![1], vec![], vec![1]]);
    }

    #[test]
    fn a_stored_sample_competes_with_new_streams() {
        let mut samples = Sampler::new(1);
        let slow = StoredSample { id: 7, kinds: SampleKind::Slowest.bit(), waited_ms: Some(50.0) };
        let stored = |_: &str, _| Ok::<_, serde_json::Error>(vec![slow.clone()]);
        samples.offer(&stream(1), &report(Outcome::Complete, 49.0), stored).unwrap();
        assert_eq!(chosen(&samples), [vec![], vec![], vec![1]]);
        offer(&mut samples, 2, &report(Outcome::Complete, 51.0));
        assert_eq!(samples.changes().gone.iter().filter(|(_, id)| *id == 7).count(), 1);
    }

    #[test]
    fn a_limit_of_zero_keeps_no_samples() {
        let mut samples = Sampler::new(0);
        offer(&mut samples, 1, &report(Outcome::Truncated, 9.0));
        assert!(samples.changes().kept.is_empty());
    }

    proptest! {
        #[test]
        fn the_order_of_streams_does_not_matter(
            mut waits in prop::collection::vec((any::<u128>(), 0..20_u32, any::<bool>()), 1..80),
            order in any::<prop::sample::Index>(),
        ) {
            waits.sort_unstable();
            waits.dedup_by_key(|(id, _, _)| *id);
            let chosen_from = |waits: &[(u128, u32, bool)]| {
                let mut samples = Sampler::new(4);
                for (id, wait, whole) in waits {
                    let outcome = if *whole { Outcome::Complete } else { Outcome::Empty };
                    offer(&mut samples, *id, &report(outcome, f64::from(*wait)));
                }
                chosen(&samples)
            };
            let before = chosen_from(&waits);
            let turned = order.index(waits.len());
            waits.rotate_left(turned);
            waits.reverse();
            prop_assert_eq!(chosen_from(&waits), before);
        }
    }
}
