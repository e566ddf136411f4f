//! Everything at once: fakes from 40 networks with made-up names and ids, gzip bombs, and idle connections. The honest
//! hundredth of the traffic is answered as before and keeps its names.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use beacon::StreamReport;
use serde_json::{Value, json};

use super::bodies::gzip;
use super::{Connection, Target, beacon};
use crate::harness::stream;

/// Answers by status, and how long each took.
#[derive(Default)]
struct Answers {
    by_status: BTreeMap<u16, usize>,
    took: Vec<Duration>,
}

impl Answers {
    fn ask(&mut self, connection: &mut Connection, request: &[u8]) {
        let begun = Instant::now();
        connection.stream.write_all(request).unwrap();
        let (status, _) = connection.answer().expect("the connection is kept");
        self.took.push(begun.elapsed());
        *self.by_status.entry(status).or_default() += 1;
    }
}

/// Ends the senders when the test ends, even if it fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn of_network(network: &str, reports: &[StreamReport]) -> Vec<u8> {
    beacon(&format!("x-forwarded-for: {network}\r\n"), json!({ "reports": reports }).to_string())
}

/// One report of an honest network.
fn honest(id: u128) -> Vec<u8> {
    let report = StreamReport { model: Some("honest-model".into()), ..stream(HONEST + id, 100.0) };
    of_network(&format!("10.1.{}.1", id % HONEST_NETWORKS), &[report])
}

/// 100 fakes that move every percentile, each with names and an id of its own.
fn fakes(first: u128) -> Vec<u8> {
    let fake = |id: u128| StreamReport {
        model: Some(format!("made-up-{id}").into()),
        provider: Some(format!("made-up-{id}").into()),
        use_case: Some(format!("made-up-{id}").into()),
        ..stream(id, 80_000.0)
    };
    let reports: Vec<_> = (0..100).map(|id| fake(first + id)).collect();
    of_network(&format!("192.0.{}.1", first / 100 % FAKE_NETWORKS), &reports)
}

/// Sends until `is_over`, over one connection.
fn send(target: &Target, is_over: &AtomicBool, mut next: impl FnMut() -> Vec<u8>) -> Answers {
    let (mut answers, mut connection) = (Answers::default(), Connection::open(target.process.address));
    while !is_over.load(Ordering::Relaxed) {
        answers.ask(&mut connection, &next());
    }
    answers
}

/// Opens connections that send half a request and then nothing.
fn idle_connections(target: &Target) -> Vec<TcpStream> {
    let open = |_| {
        let mut stream = TcpStream::connect(target.process.address).unwrap();
        stream.write_all(b"POST /v1/beacons?site=demo HTTP/1.1\r\nhost:").unwrap();
        stream
    };
    (0..200).map(open).collect()
}

fn is_seen(summary: &Value) -> bool {
    let attack = &summary["attacks"][0];
    attack["networks"].as_u64() == Some(FAKE_NETWORKS as u64) && attack["refused"].as_u64() > Some(0)
}

/// `LLM_RUM_ATTACK_SECONDS=60` makes it last a minute.
#[test]
fn an_attack_of_every_kind_leaves_the_honest_alone() {
    let seconds = std::env::var("LLM_RUM_ATTACK_SECONDS").map_or(3, |text| text.parse().unwrap());
    let config = "[ingest]\nproxies = ['127.0.0.0/8']\nclient_header = 'x-forwarded-for'\n";
    let target = Target::start(config);
    let mut first = Answers::default();
    let mut connection = Connection::open(target.process.address);
    (0..10).for_each(|id| first.ask(&mut connection, &honest(id)));
    assert_eq!(first.by_status, BTreeMap::from([(204, 10)]));

    let (is_over, next_fake) = (AtomicBool::new(false), AtomicU64::new(0));
    let idle = idle_connections(&target);
    let bomb = beacon(
        "content-encoding: gzip\r\nx-forwarded-for: 198.51.100.1\r\n",
        gzip(&vec![b' '; 16 * 1024 * 1024]),
    );
    let next = || fakes(u128::from(next_fake.fetch_add(100, Ordering::Relaxed)));
    let (mut answers, fakes_answered, sent) = thread::scope(|scope| {
        let attackers: Vec<_> =
            (0..ATTACKERS).map(|_| scope.spawn(|| send(&target, &is_over, next))).collect();
        let bombs = scope.spawn(|| send(&target, &is_over, || bomb.clone()));
        let honest_sender = scope.spawn(|| {
            let mut id = 10;
            let answers = send(&target, &is_over, || {
                // A pace, not a wait for something: each honest network sends less than a report per second.
                thread::sleep(PACE);
                id += 1;
                honest(id - 1)
            });
            (answers, id)
        });
        let end = End(&is_over);
        let begun = Instant::now();
        target.process.until("/v1/summary", is_seen);
        thread::sleep(Duration::from_secs(seconds).saturating_sub(begun.elapsed()));
        drop(end);
        let mut fakes_answered = BTreeMap::<u16, usize>::new();
        for attacker in attackers {
            for (status, count) in attacker.join().unwrap().by_status {
                *fakes_answered.entry(status).or_default() += count;
            }
        }
        let bombs = bombs.join().unwrap().by_status;
        assert!(bombs.keys().all(|status| [413, 429].contains(status)), "{bombs:?}");
        let (answers, sent) = honest_sender.join().unwrap();
        (answers, fakes_answered, sent)
    });
    drop(idle);
    assert_eq!(answers.by_status, BTreeMap::from([(204, sent as usize - 10)]), "fakes: {fakes_answered:?}");
    assert!(fakes_answered[&429] > 0, "{fakes_answered:?}");
    answers.took.sort_unstable();
    let percentile = |percent: usize| answers.took[answers.took.len() * percent / 100];
    println!(
        "{} honest beacons in {seconds} s: p50 {:?}, p99 {:?}, max {:?}; answers to fakes {fakes_answered:?}",
        answers.took.len(),
        percentile(50),
        percentile(99),
        answers.took[answers.took.len() - 1]
    );

    let models = target.process.until("/v1/breakdown?by=model&limit=50", |models| {
        let mut groups = models["groups"].as_array().unwrap().iter();
        groups.any(|group| group["value"] == "honest-model" && group["streams"] == sent as u64)
    });
    assert!(models["groups"].as_array().unwrap().len() > 1, "{models}");
    let attack = target.process.json("/v1/summary")["attacks"][0].clone();
    assert!(attack["text"].as_str().unwrap().starts_with("Under attack since "), "{attack}");
    assert!(attack["share"].as_f64() > Some(0.9), "{attack}");
    let accounting = target.process.json("/v1/accounting");
    assert!(accounting["beacons"]["refused"]["share_limited"].as_u64() > Some(0), "{accounting}");
    assert_eq!(accounting["reports"]["unaccounted"], 0, "{accounting}");
}

const FAKE_NETWORKS: u128 = 40;
const HONEST_NETWORKS: u128 = 50;
const HONEST: u128 = 1 << 100;
const ATTACKERS: usize = 6;
const PACE: Duration = Duration::from_millis(50);
