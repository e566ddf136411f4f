//! Ingest accounting agrees with the answers that senders got, whatever was sent and whenever the process was killed.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use beacon::StreamReport;
use serde_json::{Value, json};

use super::{Connection, Target, beacon, good, request};
use crate::harness::{TIMEOUT, stream};

/// What one sender was told.
#[derive(Default)]
struct Answers {
    accepted: u64,
    preflights: u64,
    refused: BTreeMap<String, u64>,
    /// Streams that were sent, answered or not.
    ids: Vec<u128>,
    unanswered: u64,
}

impl Answers {
    fn add(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.preflights += other.preflights;
        for (code, count) in other.refused {
            *self.refused.entry(code).or_default() += count;
        }
        self.ids.extend(other.ids);
        self.unanswered += other.unanswered;
    }

    fn refusals(&self) -> u64 {
        self.refused.values().sum()
    }
}

/// The `n`th request of a mixed load, and the stream that it is about.
fn mixed(n: u128) -> (Vec<u8>, Option<u128>) {
    let id = n - n % 8;
    match n % 8 {
        0 => (beacon("", good(id)), Some(id)),
        1 => (beacon("", good(id)), None),
        2 => (
            beacon("", json!({ "reports": [StreamReport { rev: 2, ..stream(id, 90.0) }] }).to_string()),
            None,
        ),
        3 => (beacon("", "{"), None),
        4 => (request("POST /v1/beacons?site=nobody HTTP/1.1", "", "{}"), None),
        5 => (request("OPTIONS /v1/beacons?site=demo HTTP/1.1", "", ""), None),
        6 => (beacon("content-encoding: br\r\n", "{}"), None),
        _ => (
            beacon("", json!({ "reports": [stream(id + 7, 100.0), stream(id, 100.0)] }).to_string()),
            Some(id + 7),
        ),
    }
}

/// Sends the mixed load from number `first` on, until it has sent `most` or the process is gone.
fn send(target: &Target, first: u128, most: u128, answered: &AtomicU64) -> Answers {
    let (mut answers, mut connection) = (Answers::default(), Connection::open(target.process.address));
    for n in first..first + most {
        let (bytes, id) = mixed(n);
        answers.ids.extend(id);
        let answer = connection.stream.write_all(&bytes).ok().and_then(|()| connection.answer());
        match answer {
            Some((204, _)) if n % 8 == 5 => answers.preflights += 1,
            Some((204, _)) => answers.accepted += 1,
            Some((_, code)) => *answers.refused.entry(code).or_default() += 1,
            None => {
                answers.unanswered += 1;
                return answers;
            }
        }
        answered.fetch_add(1, Ordering::Relaxed);
    }
    answers
}

/// What must hold at every moment.
fn check_sums(accounting: &Value) {
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{accounting}"));
    let sum = |value: &Value| value.as_object().unwrap().values().map(number).sum::<u64>();
    let beacons = &accounting["beacons"];
    let decided = number(&beacons["accepted"]) + number(&beacons["preflights"]) + sum(&beacons["refused"]);
    assert_eq!(number(&beacons["received"]), decided + number(&beacons["in_flight"]), "{accounting}");
    assert_eq!(
        number(&accounting["reports"]["received"]),
        sum(&accounting["reports"]["by_result"]),
        "{accounting}"
    );
    assert_eq!(accounting["reports"]["unaccounted"], 0, "{accounting}");
    let streams = &accounting["streams"];
    assert_eq!(
        number(&streams["new"]),
        number(&streams["counted"]) + number(&streams["open"]),
        "{accounting}"
    );
}

#[test]
fn ingest_accounting_matches_responses_after_every_kill() {
    let mut target = Target::start("");
    let mut answers = Answers::default();
    for round in 0..12_u128 {
        let first = round << 64;
        let answered = AtomicU64::new(0);
        let quiet = round % 2 == 0;
        thread::scope(|scope| {
            let most = if quiet { 80 } else { u128::MAX >> 64 };
            let senders: Vec<_> = (0..4_u128)
                .map(|sender| {
                    scope.spawn({
                        let (target, answered) = (&target, &answered);
                        move || send(target, first + (sender << 32), most, answered)
                    })
                })
                .collect();
            if !quiet {
                let begun = Instant::now();
                while answered.load(Ordering::Relaxed) < 400 && begun.elapsed() < TIMEOUT {
                    check_sums(&target.process.json("/v1/accounting"));
                }
                // Senders end when it does.
                target.process.signal("KILL");
                assert!(answered.load(Ordering::Relaxed) >= 400, "{answered:?} answers came");
            }
            for sender in senders {
                answers.add(sender.join().unwrap());
            }
        });
        if quiet {
            // Nobody sends, and the second has passed in which refusals are only in memory.
            target.process.until("/v1/accounting", |accounting| {
                accounting["beacons"]["in_flight"] == 0 && agrees(accounting, &answers)
            });
        }
        target.restart();
        let accounting = target.process.json("/v1/accounting");
        check_sums(&accounting);
        assert_eq!(accounting["beacons"]["in_flight"], 0, "{accounting}");
        assert!(agrees(&accounting, &answers) || !quiet, "{accounting}");
        answers.take_over(&accounting);
    }
    every_stream_is_there_once(&target, &answers.ids);
}

/// Whether the ingest accounting agrees with the answers that senders got.
fn agrees(accounting: &Value, answers: &Answers) -> bool {
    accounting["beacons"]["accepted"] == answers.accepted
        && accounting["beacons"]["preflights"] == answers.preflights
        && accounting["beacons"]["refused"] == json!(answers.refused)
}

impl Answers {
    /// After a kill in the middle: what was kept without an answer counts, and what was refused in the
    /// last second does not.
    fn take_over(&mut self, accounting: &Value) {
        let accepted = accounting["beacons"]["accepted"].as_u64().unwrap();
        assert!((self.accepted..=self.accepted + self.unanswered).contains(&accepted), "{accounting}");
        let refused: BTreeMap<String, u64> =
            serde_json::from_value(accounting["beacons"]["refused"].clone()).unwrap();
        assert!(refused.iter().all(|(code, count)| self.refused.get(code) >= Some(count)), "{accounting}");
        assert!(
            self.refusals() - refused.values().sum::<u64>() < 2_000,
            "no more than a second's: {accounting}"
        );
        let preflights = accounting["beacons"]["preflights"].as_u64().unwrap();
        assert!(preflights <= self.preflights, "{accounting}");
        (self.accepted, self.preflights, self.refused, self.unanswered) = (accepted, preflights, refused, 0);
    }
}

fn every_stream_is_there_once(target: &Target, ids: &[u128]) {
    let mut connection = Connection::open(target.process.address);
    for id in ids {
        connection.stream.write_all(&beacon("", good(*id))).unwrap();
        assert_eq!(connection.answer().unwrap().0, 204);
    }
    let accounting =
        target.process.until("/v1/accounting", |accounting| accounting["streams"]["new"] == ids.len());
    check_sums(&accounting);
    assert_eq!(accounting["streams"]["counted"], ids.len(), "{accounting}");
}
