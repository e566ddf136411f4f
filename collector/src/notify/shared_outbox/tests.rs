//! Clusters in virtual time. The number of entries in the states is the number of messages sent so far.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use super::*;
use crate::notify::state::ReceiverState;

thread_local! {
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

fn now() -> Duration {
    NOW.get()
}

fn pass(seconds: u64) {
    NOW.set(now() + Duration::from_secs(seconds));
}

/// The table in memory, with the time of each turn.
#[derive(Clone, Default)]
struct Memory {
    turns: Arc<Mutex<Vec<(Turn, Duration)>>>,
    is_away: Arc<Mutex<bool>>,
}

impl Memory {
    fn answers(&self) -> Result<(), StoreError> {
        if *self.is_away.lock().unwrap() { Err(std::io::Error::other("away").into()) } else { Ok(()) }
    }
}

impl Turns for Memory {
    fn last(&mut self) -> Result<Option<Turn>, StoreError> {
        self.answers()?;
        let turns = self.turns.lock().unwrap();
        let last = turns.iter().max_by_key(|(turn, _)| turn.number);
        Ok(last.map(|(turn, saved)| Turn {
            age_ms: (now().saturating_sub(*saved)).as_millis() as i64,
            ..turn.clone()
        }))
    }

    fn append(&mut self, number: u64, holder: &str, states: &str) -> Result<(), StoreError> {
        self.answers()?;
        let mut turns = self.turns.lock().unwrap();
        if turns.iter().all(|(turn, _)| turn.number != number) {
            let (holder, states) = (holder.to_owned(), states.to_owned());
            turns.push((Turn { number, holder, states, age_ms: 0 }, now()));
        }
        Ok(())
    }
}

/// One collector of a cluster.
struct Member {
    outbox: SharedOutbox<Memory>,
    states: ReceiverStates,
}

impl Member {
    fn new(memory: &Memory, name: usize) -> Self {
        let collector = format!("collector-{name}");
        let outbox = SharedOutbox { turns: memory.clone(), collector, clock: now, held: None };
        Self { outbox, states: ReceiverStates::new() }
    }

    /// Returns whether it sends.
    fn claims(&mut self) -> bool {
        match self.outbox.claim(&self.states) {
            Ok(Claim::Taken(states)) => self.states = states,
            Ok(Claim::Held) => {}
            Ok(Claim::Elsewhere) | Err(_) => return false,
        }
        true
    }

    /// Sends the next message unless it lost the turn, and stores that.
    fn sends(&mut self, sent: &mut Vec<usize>) {
        if self.outbox.may_send() {
            sent.push(self.states.len());
            self.states.insert(format!("{:04}", self.states.len()), ReceiverState::default());
            let _lost = self.outbox.save(&self.states);
        }
    }
}

/// A small generator of random numbers, so that a failing seed can be run again.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn each_message_of_a_random_cluster_is_sent_once() {
    for seed in 0..200 {
        let (memory, mut random) = (Memory::default(), Random(seed));
        let mut members: Vec<_> = (0..3).map(|name| Member::new(&memory, name)).collect();
        let mut sent = Vec::new();
        for _ in 0..300 {
            let at = random.below(3);
            match random.below(12) {
                0 => members[at] = Member::new(&memory, at),
                1 => {
                    let Member { outbox, states } = &mut members[at];
                    outbox.release(states);
                }
                2 => pass(100),
                // A collector that hangs between its claim and its message.
                3 if members[at].claims() => {
                    pass(random.below(200) as u64);
                    let other = (at + 1) % 3;
                    if members[other].claims() {
                        members[other].sends(&mut sent);
                    }
                    members[at].sends(&mut sent);
                }
                _ if members[at].claims() => members[at].sends(&mut sent),
                _ => pass(10),
            }
        }
        assert!(sent.len() > 30, "seed {seed}: {} messages", sent.len());
        assert_eq!(sent, (0..sent.len()).collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn a_collector_without_clickhouse_sends_for_a_while_only() {
    let memory = Memory::default();
    let mut member = Member::new(&memory, 0);
    assert!(member.claims() && member.outbox.may_send());
    *memory.is_away.lock().unwrap() = true;
    assert!(!member.claims());
    pass(39);
    assert!(member.outbox.may_send());
    pass(1);
    assert!(!member.outbox.may_send());
}

#[test]
fn another_takes_over_after_the_lease_or_a_release() {
    let memory = Memory::default();
    let [mut one, mut other] = [0, 1].map(|name| Member::new(&memory, name));
    let mut sent = Vec::new();
    assert!(one.claims());
    one.sends(&mut sent);
    pass(89);
    assert!(!other.claims());
    pass(1);
    assert!(other.claims());
    other.sends(&mut sent);
    assert!(!one.claims() && !one.outbox.may_send());
    let Member { outbox, states } = &mut other;
    outbox.release(states);
    assert!(one.claims());
    one.sends(&mut sent);
    assert_eq!(sent, [0, 1, 2]);
}

#[test]
fn a_restarted_collector_goes_on_with_its_own_turn() {
    let memory = Memory::default();
    let mut sent = Vec::new();
    for _ in 0..3 {
        let mut member = Member::new(&memory, 0);
        assert!(member.claims());
        member.sends(&mut sent);
    }
    assert_eq!(sent, [0, 1, 2]);
}
