//! The books agree with what senders were told, whatever was sent and whenever the process was killed.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use beacon::StreamReport;
use serde_json::{Value, json};

use super::{Connection, Target, beacon, good, request};
use crate::harness::{PATIENCE, stream};

/// What one sender was told.
#[derive(Default)]
struct Told {
    accepted: u64,
    preflights: u64,
    refused: BTreeMap<String, u64>,
    /// Streams that were sent, answered or not.
    ids: Vec<u128>,
    unanswered: u64,
}

impl Told {
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
fn send(target: &Target, first: u128, most: u128, answered: &AtomicU64) -> Told {
    let (mut told, mut connection) = (Told::default(), Connection::open(target.process.address));
    for n in first..first + most {
        let (bytes, id) = mixed(n);
        told.ids.extend(id);
        let answer = connection.stream.write_all(&bytes).ok().and_then(|()| connection.answer());
        match answer {
            Some((204, _)) if n % 8 == 5 => told.preflights += 1,
            Some((204, _)) => told.accepted += 1,
            Some((_, code)) => *told.refused.entry(code).or_default() += 1,
            None => {
                told.unanswered += 1;
                return told;
            }
        }
        answered.fetch_add(1, Ordering::Relaxed);
    }
    told
}

/// What must hold at every moment.
fn check_sums(books: &Value) {
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{books}"));
    let sum = |value: &Value| value.as_object().unwrap().values().map(number).sum::<u64>();
    let beacons = &books["beacons"];
    let decided = number(&beacons["accepted"]) + number(&beacons["preflights"]) + sum(&beacons["refused"]);
    assert_eq!(number(&beacons["received"]), decided + number(&beacons["under_way"]), "{books}");
    assert_eq!(number(&books["reports"]["received"]), sum(&books["reports"]["became"]), "{books}");
    assert_eq!(books["reports"]["unexplained"], 0, "{books}");
    let streams = &books["streams"];
    assert_eq!(number(&streams["new"]), number(&streams["counted"]) + number(&streams["open"]), "{books}");
}

#[test]
fn the_books_agree_with_what_senders_were_told_after_every_kill() {
    let mut target = Target::start("");
    let mut told = Told::default();
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
                while answered.load(Ordering::Relaxed) < 400 && begun.elapsed() < PATIENCE {
                    check_sums(&target.process.json("/v1/accounting"));
                }
                // Senders end when it does.
                target.process.signal("KILL");
                assert!(answered.load(Ordering::Relaxed) >= 400, "{answered:?} answers came");
            }
            for sender in senders {
                told.add(sender.join().unwrap());
            }
        });
        if quiet {
            // Nobody sends, and the second has passed in which refusals are only in memory.
            target
                .process
                .until("/v1/accounting", |books| books["beacons"]["under_way"] == 0 && agrees(books, &told));
        }
        target.restart();
        let books = target.process.json("/v1/accounting");
        check_sums(&books);
        assert_eq!(books["beacons"]["under_way"], 0, "{books}");
        assert!(agrees(&books, &told) || !quiet, "{books}");
        told.take_over(&books);
    }
    every_stream_is_there_once(&target, &told.ids);
}

/// Whether the books say exactly what senders were told.
fn agrees(books: &Value, told: &Told) -> bool {
    books["beacons"]["accepted"] == told.accepted
        && books["beacons"]["preflights"] == told.preflights
        && books["beacons"]["refused"] == json!(told.refused)
}

impl Told {
    /// After a kill in the middle: what was kept without an answer counts, and what was refused in the
    /// last second does not.
    fn take_over(&mut self, books: &Value) {
        let accepted = books["beacons"]["accepted"].as_u64().unwrap();
        assert!((self.accepted..=self.accepted + self.unanswered).contains(&accepted), "{books}");
        let refused: BTreeMap<String, u64> =
            serde_json::from_value(books["beacons"]["refused"].clone()).unwrap();
        assert!(refused.iter().all(|(code, count)| self.refused.get(code) >= Some(count)), "{books}");
        assert!(self.refusals() - refused.values().sum::<u64>() < 2_000, "no more than a second's: {books}");
        let preflights = books["beacons"]["preflights"].as_u64().unwrap();
        assert!(preflights <= self.preflights, "{books}");
        (self.accepted, self.preflights, self.refused, self.unanswered) = (accepted, preflights, refused, 0);
    }
}

fn every_stream_is_there_once(target: &Target, ids: &[u128]) {
    let mut connection = Connection::open(target.process.address);
    for id in ids {
        connection.stream.write_all(&beacon("", good(*id))).unwrap();
        assert_eq!(connection.answer().unwrap().0, 204);
    }
    let books = target.process.until("/v1/accounting", |books| books["streams"]["new"] == ids.len());
    check_sums(&books);
    assert_eq!(books["streams"]["counted"], ids.len(), "{books}");
}
