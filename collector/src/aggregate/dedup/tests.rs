//! What the registry keeps, evicts and finds.

use super::*;

const MEMORY: RegistryLimits = RegistryLimits { most: 2, keep_ms: 1_000, listed: 0 };
const COUNTED: Finalized =
    Finalized { minute: 0, judgement: Judgement::WITHIN_SLO, wait: RoughWait::UNKNOWN };

fn open(id: StreamId, received_ms: i64) -> Stream {
    Stream {
        id,
        rev: 0,
        outcome: Outcome::Abandoned,
        series: 0,
        finalized: None,
        in_cumulative: false,
        superseded: false,
        received_ms,
        at: RecordLocation { position: 0, len: 1 },
    }
}

fn counted(id: StreamId, received_ms: i64) -> Stream {
    Stream { finalized: Some(COUNTED), in_cumulative: true, ..open(id, received_ms) }
}

fn with(memory: RegistryLimits, all: impl IntoIterator<Item = Stream>) -> StreamRegistry {
    let mut streams = StreamRegistry::new(memory, 0, [], |_| Sender::default());
    all.into_iter().for_each(|stream| streams.put(stream, Sender::default()));
    streams
}

fn known(streams: &StreamRegistry) -> Vec<StreamId> {
    (1..=4).filter(|id| streams.get(*id).is_some()).collect()
}

#[test]
fn an_idle_stream_is_returned_until_it_is_counted() {
    let mut streams = with(MEMORY, [open(1, 5)]);
    assert_eq!(streams.next_idle_open(14, 10), None);
    assert_eq!(streams.next_idle_open(15, 10), Some(0));
    assert_eq!(streams.next_idle_open(15, 10), Some(0));
    streams.finalize(0, COUNTED);
    assert_eq!(streams.next_idle_open(15, 10), None);
    assert_eq!(streams.open().count(), 0);
}

#[test]
fn a_later_revision_starts_the_wait_again() {
    let mut streams = with(MEMORY, [open(1, 5), open(1, 50)]);
    assert_eq!(streams.open().count(), 1);
    assert_eq!(streams.next_idle_open(59, 10), None);
    assert_eq!(streams.next_idle_open(60, 10), Some(1));
}

#[test]
fn an_idle_stream_is_found_after_the_clock_was_set_back() {
    let hour_ms = 3_600_000;
    let mut streams = with(MEMORY, [open(1, hour_ms), open(2, 0)]);
    assert_eq!(streams.next_idle_open(hour_ms - OUT_OF_ORDER_MS, 10), None, "batches come out of order");
    assert_eq!(streams.next_idle_open(5, 10), Some(0));
    streams.finalize(0, COUNTED);
    assert_eq!(streams.next_idle_open(9, 10), None);
    assert_eq!(streams.next_idle_open(10, 10), Some(1));
}

#[test]
fn streams_over_the_age_or_count_limit_are_evicted() {
    let mut streams = with(MEMORY, (1..=3).map(|id| counted(id, id as i64)));
    assert_eq!(streams.evict_next(10), None);
    assert_eq!(known(&streams), [2, 3]);
    assert_eq!(streams.evict_next(1_002), None);
    assert_eq!(known(&streams), [3]);
}

#[test]
fn streams_beyond_the_age_limit_are_not_listed() {
    let mut streams = with(RegistryLimits { listed: 1, ..MEMORY }, (1..=3).map(|id| counted(id, id as i64)));
    assert_eq!(streams.evict_next(1_000_000), None);
    assert_eq!(known(&streams), [3]);
}

#[test]
fn a_stream_of_several_revisions_is_listed_as_one() {
    let memory = RegistryLimits { most: 0, listed: 3, ..MEMORY };
    let mut streams = with(memory, (1..=4).flat_map(|id| (0..3).map(move |_| counted(id, id as i64))));
    assert_eq!(streams.evict_next(1_000_000), None);
    assert_eq!(known(&streams), [2, 3, 4]);
    assert_eq!(streams.newest(SeqNo::MAX).count(), 3);
    // A stream that a peer counts is not listed here, and does not count toward the limit.
    streams.put(Stream { at: RecordLocation { position: 0, len: 0 }, ..counted(3, 5) }, Sender::default());
    streams.put(counted(1, 6), Sender::default());
    assert_eq!(streams.evict_next(1_000_000), None);
    let listed: Vec<_> = streams.newest(SeqNo::MAX).map(|(_, stream)| stream.id).collect();
    assert_eq!(listed, [1, 4, 2]);
}

#[test]
fn listed_revisions_of_one_stream_stay_bounded() {
    let memory = RegistryLimits { most: 0, listed: 5, ..MEMORY };
    let mut streams = with(memory, [counted(1, 0)]);
    for received_ms in 0..1_000 {
        streams.put(counted(2, received_ms), Sender::default());
        assert_eq!(streams.evict_next(received_ms), None);
        assert!(streams.revisions.len() <= 5 * MOST_REVISIONS);
    }
    assert_eq!(streams.standing, streams.newest(SeqNo::MAX).count());
}

#[test]
fn an_old_open_stream_is_counted_before_it_is_forgotten() {
    let mut streams = with(MEMORY, [open(1, 1), counted(2, 2)]);
    assert_eq!(streams.evict_next(1_001), Some(0));
    streams.finalize(0, COUNTED);
    assert_eq!(streams.evict_next(1_001), None);
    assert_eq!(known(&streams), [2]);
}

#[test]
fn an_open_stream_stays_however_many_others_end() {
    let at = |position| RecordLocation { position, len: 1 };
    let mut streams = with(RegistryLimits { most: 4, ..MEMORY }, [Stream { at: at(7), ..open(1, 1) }]);
    for id in 2..100 {
        streams.put(Stream { at: at(10 * id as u64), ..counted(id, 2) }, 1);
        assert_eq!(streams.evict_next(3), None);
        assert!(streams.get(1).is_some_and(|(_, stream)| stream.finalized.is_none()), "{id}");
        assert_eq!(streams.needs_from(), Some(7), "the report of the open stream");
    }
    assert_eq!((streams.open().count(), streams.standing()), (1, 4));
    let (seq, _) = streams.get(1).unwrap();
    streams.finalize(seq, COUNTED);
    for id in 100..104 {
        streams.put(Stream { at: at(10 * id as u64), ..counted(id, 2) }, 1);
        assert_eq!(streams.evict_next(3), None);
    }
    assert_eq!((streams.get(1), streams.out_of_order.len()), (None, 0));
    assert_eq!(streams.needs_from(), Some(1_000));
}

#[test]
fn a_sender_of_many_open_streams_loses_its_own() {
    const LIMITS: RegistryLimits = RegistryLimits { most: 400, keep_ms: 1_000, listed: 0 };
    let mut streams = with(LIMITS, []);
    (1..=20).for_each(|id| streams.put(open(id, 1), 1));
    for id in 1_000..5_000 {
        streams.put(open(id, 1), 2);
        while let Some(seq) = streams.evict_next(2) {
            assert!(streams.at(seq).unwrap().id >= 1_000, "of the sender of many");
            streams.finalize(seq, COUNTED);
        }
    }
    assert!((1..=20).all(|id| streams.get(id).is_some_and(|(_, stream)| stream.finalized.is_none())));
    assert!(streams.revisions.len() <= LIMITS.most);
    assert_eq!(streams.open_of_sender.values().sum::<usize>(), streams.open_streams.len());
}

#[test]
fn made_up_ids_do_not_evict_ended_streams_of_others() {
    const LIMITS: RegistryLimits = RegistryLimits { most: 960, keep_ms: 1_000, listed: 0 };
    let mut streams = with(LIMITS, []);
    (1..=20).for_each(|id| streams.put(Stream { rev: 3, ..counted(id, 1) }, 1));
    (21..=40).for_each(|id| streams.put(counted(id, 1), 3));
    for id in 1_000..100_000 {
        streams.put(counted(id, 2), 2);
        assert_eq!(streams.evict_next(2), None);
    }
    assert!((1..=20).all(|id| streams.get(id).is_none() && streams.evicted(id) == Some(3)));
    assert!((21..=40).all(|id| streams.evicted(id) == Some(0)));
    assert_eq!((streams.evicted(1_000), streams.revisions.len(), streams.senders.len()), (None, 960, 960));

    streams.put(counted(7, 3), 1);
    assert_eq!(streams.evicted(7), None, "it has an entry again");
    for id in 1_000..2_000 {
        streams.put(counted(id, 1_100), 2);
        assert_eq!(streams.evict_next(1_100), None);
    }
    assert_eq!((streams.evicted(7), streams.evicted(8)), (None, None), "too old");
}

#[test]
fn restored_streams_of_a_small_site_stay_open() {
    const LIMITS: RegistryLimits = RegistryLimits { most: 400, keep_ms: 1_000, listed: 0 };
    let small = (1..=20).map(|id| open(id, 1));
    let large = (1_000..1_300).map(|id| Stream { series: 1, ..open(id, 1) });
    let stored = (0..).zip(small.chain(large));
    let mut streams = StreamRegistry::new(LIMITS, 0, stored, |stream| stream.series.into());
    for id in 2_000..5_000 {
        streams.put(open(id, 1), 9);
        while let Some(seq) = streams.evict_next(2) {
            assert!(streams.at(seq).unwrap().id >= 1_000, "of the small site");
            streams.finalize(seq, COUNTED);
        }
    }
    assert!((1..=20).all(|id| streams.get(id).is_some_and(|(_, stream)| stream.finalized.is_none())));
}

#[test]
fn recent_streams_are_found_before_a_renewed_one() {
    let late = 2 * OUT_OF_ORDER_MS;
    let mut streams = with(RegistryLimits { most: 3, keep_ms: late + 10, listed: 0 }, []);
    let at = |position| RecordLocation { position, len: 1 };
    streams.put(Stream { at: at(1), ..open(1, 0) }, 0);
    for id in 2..=4 {
        streams.put(Stream { at: at(id as u64), ..counted(id, late + id as i64) }, 0);
    }
    assert_eq!(streams.evict_next(late + 5), None);
    let arrived: Vec<_> = streams.arrived(late, late + 9).map(|stream| stream.id).collect();
    assert_eq!(arrived, [4, 3]);
    assert_eq!(streams.complete_since_ms(), Some(late + 3), "not that of the renewed one");
}

#[test]
fn an_open_stream_knows_its_first_report() {
    let mut streams = with(MEMORY, [open(1, 100), open(2, 150), open(1, 200)]);
    let since = |streams: &StreamRegistry| {
        streams.open().map(|stream| (stream.id, streams.open_since_ms(&stream))).collect::<Vec<_>>()
    };
    assert_eq!(since(&streams), [(2, 150), (1, 100)]);
    streams.put(counted(1, 300), Sender::default());
    streams.finalize(1, COUNTED);
    assert!(
        since(&streams).is_empty() && streams.open_streams.is_empty() && streams.open_of_sender.is_empty()
    );
}

#[test]
fn unlisted_revisions_of_one_stream_stay_bounded() {
    let mut streams = with(MEMORY, []);
    for received_ms in 0..10_000 {
        streams.put(counted(1, received_ms), Sender::default());
        assert_eq!(streams.evict_next(received_ms), None);
    }
    assert!(streams.revisions.len() <= 2);
    assert_eq!(streams.newest(SeqNo::MAX).count(), 0, "none is to be listed");
}

#[test]
fn each_stream_is_listed_once_newest_first() {
    let memory = RegistryLimits { listed: 2, ..MEMORY };
    let streams = with(memory, [counted(1, 1), counted(2, 2), counted(3, 3), counted(2, 4)]);
    let listed = |before| streams.newest(before).map(|(_, stream)| stream.id).collect::<Vec<_>>();
    assert_eq!(listed(SeqNo::MAX), [2, 3]);
    assert_eq!(listed(3), [3]);
}

#[test]
fn recent_streams_are_found_whatever_their_order() {
    let memory = RegistryLimits { most: 4, ..MEMORY };
    let mut streams = with(memory, [counted(1, 100), open(2, 300), counted(3, 200), counted(2, 350)]);
    let arrived = |streams: &StreamRegistry, since_ms, now_ms| {
        streams.arrived(since_ms, now_ms).map(|stream| (stream.id, stream.superseded)).collect::<Vec<_>>()
    };
    assert_eq!(arrived(&streams, 200, 400), [(2, false), (2, true)]);
    assert_eq!(arrived(&streams, 100, 300), [(3, false), (2, true)], "what comes after is of a later clock");
    assert_eq!(streams.complete_since_ms(), None);
    streams.put(counted(4, 400), Sender::default());
    assert_eq!(streams.evict_next(400), None);
    assert_eq!(streams.complete_since_ms(), Some(300));
}

#[test]
fn a_registry_built_from_stored_streams_is_the_same() {
    let before = with(MEMORY, [counted(1, 1), open(2, 2), counted(1, 3)]);
    let stored = before.from(0).filter(|(_, stream)| !stream.superseded);
    let stored = stored.map(|(seq, stream)| (seq, *stream));
    let after = StreamRegistry::new(MEMORY, 0, stored, |_| Sender::default());
    assert_eq!((after.first(), after.next()), (before.first(), before.next()));
    assert_eq!((after.get(1), after.get(2)), (before.get(1), before.get(2)));
    assert_eq!(after.open().count(), 1);
}
