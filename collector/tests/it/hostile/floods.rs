//! Floods: more names, sites, ids, networks and connections than there can be in good faith.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Mutex;
use std::time::Instant;
use std::{iter, thread};

use beacon::StreamReport;
use serde_json::{Value, json};

use super::bodies::gzip;
use super::{Connection, LEVEL_KIB, Target, beacon, good, request};
use crate::harness::{TIMEOUT, far, stream};

impl Target {
    /// Sends everything over one connection and counts the answers by status.
    fn floods(&self, requests: impl Iterator<Item = Vec<u8>>) -> Vec<(u16, usize)> {
        let mut connection = Connection::open(self.process.address);
        let mut counts = BTreeMap::new();
        for request in requests {
            connection.stream.write_all(&request).unwrap();
            let (status, _) = connection.answer().expect("the connection is kept");
            *counts.entry(status).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    /// The same over some connections at once: beacons that arrive together share a wait for the disk.
    pub(super) fn floods_at_once(&self, requests: impl Iterator<Item = Vec<u8>> + Send) -> Vec<(u16, usize)> {
        let requests = Mutex::new(requests);
        let next = || requests.lock().unwrap().next();
        let mut counts = BTreeMap::new();
        thread::scope(|scope| {
            let senders = [(); CONNECTIONS].map(|()| scope.spawn(|| self.floods(iter::from_fn(next))));
            for (status, count) in senders.into_iter().flat_map(|sender| sender.join().unwrap()) {
                *counts.entry(status).or_default() += count;
            }
        });
        counts.into_iter().collect()
    }

    /// Runs a flood, and gives back by how many KiB the process's memory grew at most and in the end.
    fn grows_by<T>(&self, name: &str, flood: impl FnOnce() -> T) -> (T, u64, u64) {
        let (before, start) = (self.memory().now, Instant::now());
        self.forget_peak();
        let answer = flood();
        let after = self.memory();
        let (peak, end) = (after.peak.saturating_sub(before), after.now.saturating_sub(before));
        println!(
            "{name}: {before} KiB before, peak +{peak}, end +{end}, {:.1} s",
            start.elapsed().as_secs_f64()
        );
        (answer, peak, end)
    }

    /// Runs one flood after the other, each of things not seen before, until one takes no more memory,
    /// and gives back how many that were. The allocator and SQLite's cache come to rest; what is kept
    /// of each of 20,000 things does not, and is more than that.
    fn levels_off(&self, name: &str, mut flood: impl FnMut(u64)) -> u64 {
        for at in 0..MOST_FLOODS {
            let ((), _, end) = self.grows_by(name, || flood(at));
            if end < LEVEL_KIB {
                return at + 1;
            }
        }
        panic!("{name} take more memory each time");
    }
}

fn batches(reports: impl Iterator<Item = StreamReport>) -> impl Iterator<Item = Vec<u8>> {
    let mut reports = reports.peekable();
    iter::from_fn(move || {
        reports.peek()?;
        let batch: Vec<_> = reports.by_ref().take(100).collect();
        Some(beacon("", json!({ "reports": batch }).to_string()))
    })
}

#[test]
fn fifty_thousand_models_become_a_few_and_other() {
    let target = Target::start("");
    let reports = (0..50_000).map(|n| StreamReport {
        model: Some(format!("made-up-{n}-{}", "x".repeat(100)).into()),
        provider: Some(format!("provider-{n}").into()),
        use_case: Some(format!("use-case-{n}").into()),
        ..stream(n, 100.0)
    });
    let (answers, peak, _) = target.grows_by("50,000 models", || target.floods(batches(reports)));
    assert_eq!(answers, [(204, 500)]);
    let books =
        target.process.until("/v1/accounting", |books| books["reports"]["by_result"]["new"] == 50_000);
    assert_eq!(books["reports"]["unaccounted"], 0);
    assert_eq!(books["streams"]["counted"], 50_000);
    let overflow = target.process.json("/v1/summary")["overflow"].clone();
    // Without a network, names get three quarters of the places at once.
    assert_eq!(overflow["model"], 49_925, "{overflow}");
    assert!(overflow["provider"].as_u64() >= Some(49_900) && overflow["use_case"].as_u64() >= Some(49_900));
    let metrics = target.process.get("/metrics").1;
    let series = metrics.lines().filter(|line| line.starts_with("llm_requests_total{")).count();
    assert!(series <= 2_000, "{series}");
    assert!(peak < 96 * 1024, "{peak} KiB for 50,000 streams");
}

/// What one histogram takes is up to the values in it: the shortest and the longest that a report may tell of, in
/// every figure of each series.
#[test]
fn histograms_of_far_apart_values_stay_within_the_memory_limit() {
    // Its 90 models and 22 providers come from this machine.
    let mut config = "[limits]\nmodels = 120\nproviders = 30\n".to_owned();
    for n in 0..SITES_APART {
        writeln!(config, "[[sites]]\nname = 'site-{n}'\nkeys = ['key-{n}']\norigins = ['loopback']").unwrap();
    }
    let target = Target::start(&config);
    let beacons = (0..2 * SITES_APART * BATCHES_APART).map(|n| {
        let (end, n) = (n % 2, n / 2);
        let (site, batch) = (n % SITES_APART, n / SITES_APART);
        let ms = [0.001, 80_000_000.0][end];
        let reports: Vec<_> =
            (0..100).map(|k| far(ms, ((n * 2 + end) * 100 + k) as u128, batch * 100 + k)).collect();
        let line = format!("POST /v1/beacons?site=key-{site} HTTP/1.1");
        request(&line, "", json!({ "reports": reports }).to_string())
    });
    let sent = 2 * SITES_APART * BATCHES_APART;
    let counted = sent * 100;
    let (answers, peak, _) = target.grows_by("7,600 series of far values", || {
        let answers = target.floods(beacons);
        let all = |books: &Value| books["streams"]["counted"] == counted;
        target.process.until_within(5 * TIMEOUT, "/v1/accounting", all);
        answers
    });
    assert_eq!(answers, [(204, sent)]);
    let summary = target.process.json("/v1/summary");
    assert_eq!(summary["streams"], counted, "{summary}");
    assert!(peak < 600 * 1024, "{peak} KiB for {counted} streams");
}

const SITES_APART: usize = 4;
const BATCHES_APART: usize = 19;

#[test]
fn five_thousand_sites_each_have_their_own_bounds() {
    let mut config = String::new();
    for n in 0..5_000 {
        writeln!(config, "[[sites]]\nname = 'site-{n}'\nkeys = ['key-{n}']\norigins = ['https://s{n}.example']\nrate = {{ per_second = 1, burst = 2 }}").unwrap();
    }
    let target = Target::start(&config);
    let to = |n: u32| request(&format!("POST /v1/beacons?site=key-{n} HTTP/1.1"), "", good(n.into()));
    let (answers, peak, _) = target.grows_by("5,000 sites", || target.floods_at_once((0..5_000).map(to)));
    assert_eq!(answers, [(204, 5_000)]);
    assert!(peak < 96 * 1024, "{peak} KiB for 5,000 sites");
    let foreign = (0..5_000_u32).map(|n| {
        let line = format!("POST /v1/beacons?site=key-{n} HTTP/1.1");
        request(&line, &format!("origin: https://s{}.example\r\n", n + 1), good(n.into()))
    });
    assert_eq!(target.floods(foreign), [(403, 5_000)], "no site's pages may send for another");
    let floods = target.levels_off("20,000 unknown keys", |flood| {
        let keys = flood * 20_000..(flood + 1) * 20_000;
        let to = |n| request(&format!("POST /v1/beacons?site=made-up-{n} HTTP/1.1"), "", "{}");
        assert_eq!(target.floods(keys.map(to)), [(403, 20_000)]);
    });
    target.process.until("/v1/accounting", |books| {
        books["beacons"]["refused"] == json!({ "foreign_origin": 5_000, "unknown_site": floods * 20_000 })
            && books["beacons"]["in_flight"] == 0
            && books["streams"]["counted"] == 5_000
    });
}

#[test]
fn remembered_ids_stay_within_their_limit() {
    let target = Target::start("[dedupe]\nids = 1000\n[store]\nstreams_kept = 1000\n");
    target.levels_off("20,000 more ids", |flood| {
        let ids = flood * 20_000..(flood + 1) * 20_000;
        let counted = ids.end;
        target.floods(batches(ids.map(|id| stream(id.into(), 100.0))));
        target.process.until("/v1/accounting", |books| books["reports"]["by_result"]["new"] == counted);
    });
}

#[test]
fn a_flooding_network_is_rate_limited_and_others_are_not() {
    let target = Target::start(
        "[ingest]\nproxies = ['127.0.0.0/8']\nclient_header = 'x-forwarded-for'\nnetwork_rate = { per_second = 1, burst = 100 }\n",
    );
    let from = |address: String, id: u128| beacon(&format!("x-forwarded-for: {address}\r\n"), good(id));
    let start = Instant::now();
    let flood = |address: &str, first: u128| {
        let answers = target
            .floods((first..first + 2_000).map(|n| from(address.replace('N', &(n % 256).to_string()), n)));
        assert_eq!(answers.iter().map(|(_, count)| count).sum::<usize>(), 2_000);
        answers.iter().find(|(status, _)| *status == 204).map_or(0, |(_, count)| *count)
    };
    let saved_up = || start.elapsed().as_secs() as usize + 1;
    let passed = flood("192.0.2.N", 0);
    assert!((100..=100 + saved_up()).contains(&passed), "{passed}");
    let passed = flood("\u{ff}, 192.0.2.N", 2_000);
    assert!(passed <= saved_up(), "what the client wrote before its address hides nothing: {passed}");
    let others = |n: u128| from(format!("forged, 10.{}.{}.7", n / 256, n % 256), 10_000 + n);
    let all = || target.floods_at_once((0..10_000).map(others));
    let (answers, _, end) = target.grows_by("10,000 networks", all);
    assert_eq!(answers, [(204, 10_000)]);
    assert!(end < 48 * 1024, "{end} KiB for 10,000 streams of as many networks");
    let passed = flood("not an address", 50_000);
    assert!(
        (100..=100 + saved_up()).contains(&passed),
        "what the proxy cannot say is of one network: {passed}"
    );
}

#[test]
fn clients_of_an_unnamed_proxy_share_a_rate() {
    let target = Target::start("[ingest]\nnetwork_rate = { per_second = 1, burst = 100 }\n");
    let own = target.floods_at_once((0..500).map(|id| beacon("", good(id))));
    assert_eq!(own, [(204, 500)]);
    let forwarded = |id: u128| beacon(&format!("x-forwarded-for: 192.0.2.{id}\r\n"), good(1_000 + id));
    let start = Instant::now();
    let answers = target.floods_at_once((0..250).map(forwarded));
    let passed = answers.iter().find(|(status, _)| *status == 204).map_or(0, |(_, count)| *count);
    assert!((100..=101 + start.elapsed().as_secs() as usize).contains(&passed), "{answers:?}");
}

/// Sends 40,000 reports as fast as they go from this machine, and gives back how many pass.
fn loopback_flood_of_the_example(target: &Target, headers: &str) -> usize {
    let reports: Vec<_> = (0..100_u128).map(|id| StreamReport::new(format!("{id:032x}"))).collect();
    let line = "POST /v1/beacons?site=pk_live_change_me HTTP/1.1";
    let headers = format!("user-agent: Mozilla/5.0\r\n{headers}");
    let batch = request(line, &headers, json!({ "reports": reports }).to_string());
    let answers: BTreeMap<_, _> = target.floods_at_once(iter::repeat_n(batch, 400)).into_iter().collect();
    assert!(answers.keys().all(|status| [204, 429].contains(status)), "{answers:?}");
    answers.get(&204).copied().unwrap_or_default() * 100
}

#[test]
fn loopback_is_limited_unless_it_is_trusted() {
    let example = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/llm-rum.toml"));
    let example = example.unwrap().replace("change-me-before-the-first-start", "0123456789abcdef");
    let unnamed = example.replace("proxies = ", "# ").replace("client_header = ", "# ");
    assert_ne!(example, unnamed);
    let is_limited = |target: &Target, headers: &str| {
        let start = Instant::now();
        let passed = loopback_flood_of_the_example(target, headers);
        // Ten seconds' worth at once, and one beacon that goes beyond.
        let most = 5_100 + 500 * (start.elapsed().as_secs() as usize + 1);
        assert!((5_000..=most).contains(&passed) && passed < 40_000, "{passed} of at most {most}: {headers}");
    };
    for config in [&example, &unnamed] {
        is_limited(&Target::start_distrusting(config), "");
        let trusting = Target::start(config);
        assert_eq!(loopback_flood_of_the_example(&trusting, ""), 40_000);
        // Trust is for programs of this machine, not for what a proxy has passed on.
        is_limited(&trusting, "x-forwarded-for: 192.0.2.1\r\n");
    }
}

#[test]
fn the_network_rate_counts_reports_and_not_only_beacons() {
    let target = Target::start(
        "[ingest]\nproxies = ['127.0.0.0/8']\nclient_header = 'x-forwarded-for'\nnetwork_rate = { per_second = 1, burst = 150 }\n",
    );
    let batch = |n: u128| {
        let reports: Vec<_> = (0..100).map(|id| stream(n * 100 + id, 100.0)).collect();
        beacon("x-forwarded-for: 192.0.2.1\r\n", json!({ "reports": reports }).to_string())
    };
    let answers = target.floods_at_once((0..200).map(batch));
    assert_eq!(answers, [(204, 2), (429, 198)], "the second goes beyond the burst");
    let one = |address: &str| beacon(&format!("x-forwarded-for: {address}\r\n"), good(1_000_000));
    assert_eq!(target.floods([one("192.0.2.9"), one("198.51.100.1")].into_iter()), [(204, 1), (429, 1)]);
}

#[test]
fn the_network_rate_counts_the_bytes_that_a_body_unpacks_to() {
    let target = Target::start(
        "[ingest]\nproxies = ['127.0.0.0/8']\nclient_header = 'x-forwarded-for'\nnetwork_rate = { per_second = 1, burst = 150 }\n",
    );
    let packed = |address: &str, mut body: Vec<u8>| {
        body.resize(204_800, b' ');
        let headers = format!("x-forwarded-for: {address}\r\ncontent-encoding: gzip\r\n");
        beacon(&headers, gzip(&body))
    };
    let good_ones = (0..200).map(|id| packed("192.0.2.1", good(id).into_bytes()));
    let answers = target.floods_at_once(good_ones);
    assert_eq!(
        answers,
        [(204, 2), (429, 198)],
        "each costs 100 reports, and the second goes beyond the burst"
    );
    let answers = target.floods_at_once((0..200).map(|_| packed("198.51.100.1", b"[".to_vec())));
    assert_eq!(answers, [(400, 2), (429, 198)], "what cannot be parsed costs the same");
    assert_eq!(target.floods(iter::once(packed("203.0.113.1", good(1_000).into_bytes()))), [(204, 1)]);
    let other = |address: &str, body: Vec<u8>| {
        beacon(&format!("x-forwarded-for: {address}\r\ncontent-encoding: gzip\r\n"), body)
    };
    let bomb = gzip(&vec![b' '; 1_000_000]);
    let answers = target.floods_at_once((0..200).map(|_| other("192.0.3.1", bomb.clone())));
    assert_eq!(answers, [(413, 2), (429, 198)], "what is too large costs 128 reports");
    let mut broken = gzip(&vec![b' '; 204_800]);
    broken.truncate(broken.len() - 1);
    let answers = target.floods_at_once((0..200).map(|_| other("192.0.4.1", broken.clone())));
    assert_eq!(answers, [(400, 2), (429, 198)], "what ends too early costs what it unpacked to");
}

#[test]
fn stalled_bodies_of_one_network_leave_room_for_others() {
    let target = Target::start(
        "[ingest]\nproxies = ['127.0.0.0/8']\nclient_header = 'x-forwarded-for'\nbodies_bytes = 2097152\n",
    );
    let stands = || {
        let mut connection = Connection::open(target.process.address);
        let headers = "x-forwarded-for: 192.0.2.1\r\ncontent-length: 200000\r\n";
        connection.stream.write_all(&beacon(headers, vec![b' '; 150_000])).unwrap();
        connection
    };
    let held: Vec<_> = (0..20).map(|_| stands()).collect();
    let one = |address: &str, id: u128| beacon(&format!("x-forwarded-for: {address}\r\n"), good(id));
    target
        .process
        .until("/v1/accounting", |books| books["beacons"]["refused"] == json!({ "overloaded": 19 }));
    assert_eq!(target.floods((0..100).map(|id| one("198.51.100.1", id))), [(204, 100)]);
    drop(held);
}

#[test]
fn stalled_bodies_of_many_networks_leave_room_for_others() {
    let target = Target::start(
        "[ingest]\nproxies = ['127.0.0.0/8']\nclient_header = 'x-forwarded-for'\nbody_bytes = 65536\nbodies_bytes = 1048576\n",
    );
    // Two bodies of each of eight networks take all but 16 bytes.
    let stands = |n: usize| {
        let mut connection = Connection::open(target.process.address);
        let headers = format!("x-forwarded-for: 192.0.{}.1\r\ncontent-length: 65536\r\n", n % 8);
        connection.stream.write_all(&beacon(&headers, vec![b' '; 65_535])).unwrap();
        connection
    };
    let held: Vec<_> = (0..16).map(stands).collect();
    let is_short = |books: &Value| books["beacons"]["refused"]["overloaded"].as_u64() >= Some(1);
    target.process.until("/v1/accounting", is_short);
    let other = |id: u128| beacon("x-forwarded-for: 198.51.100.1\r\n", good(id));
    assert_eq!(target.floods((0..100).map(other)), [(204, 100)]);
    drop(held);
}

const MOST_FLOODS: u64 = 8;

const CONNECTIONS: usize = 32;
