//! Disks that fail: read-only, full, so slow that nothing comes back, and with a page that is lost. `disk.c`,
//! between the binary and libc, says so to every call on a file; mounting one needs root, and a file that is open for writing keeps its file
//! system from becoming read-only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use beacon::StreamReport;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{TIMEOUT, far, stream};
use crate::running::{Answered, Client, Process, post, post_to};

/// A collector on a disk that does as it is told.
struct Fallible {
    process: Process,
    folder: TempDir,
}

impl Fallible {
    fn start(journal: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let process = start(folder.path(), journal);
        Self { process, folder }
    }

    /// `read-only`, `store-full`, `journal-full`, `slow`, `unreadable`, or nothing.
    fn disk(&self, mode: &str) {
        let told = self.folder.path().join("disk.part");
        fs::write(&told, mode).unwrap();
        fs::rename(told, self.folder.path().join("disk")).unwrap();
    }

    fn until_ready(&self, status: u16) {
        let asked = Instant::now();
        while self.process.get("/readyz").0 != status {
            assert!(asked.elapsed() < TIMEOUT, "/readyz never was {status}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// All that came in is accounted for, and so many streams are counted.
    fn balances(&self, streams: u64) -> Value {
        let is_balanced = |books: &Value| {
            let refused: u64 =
                books["beacons"]["refused"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
            let accepted = books["beacons"]["accepted"].as_u64().unwrap();
            books["beacons"]["in_flight"] == 0
                && books["beacons"]["received"] == accepted + refused
                && books["reports"]["unaccounted"] == 0
                && books["streams"] == json!({ "new": streams, "counted": streams, "open": 0, "apart": {} })
        };
        self.process.until("/v1/accounting", is_balanced)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Nothing is being counted, as far as its processor time tells.
    fn until_at_rest(&self) {
        let asked = Instant::now();
        let mut used = 0;
        while self.processor_ticks() > used + MOST_TICKS_AT_REST {
            assert!(asked.elapsed() < TIMEOUT, "it never came to rest");
            used = self.processor_ticks();
            thread::sleep(Duration::from_millis(500));
        }
    }

    fn processor_ticks(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/stat", self.process.child.id())).unwrap();
        // In user space and in the system, behind the name and eleven others.
        let (_, fields) = status.rsplit_once(')').unwrap();
        fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
    }

    fn rss_kb(&self) -> u64 {
        self.status_kb("VmRSS:")
    }

    fn peak_kb(&self) -> u64 {
        self.status_kb("VmHWM:")
    }

    fn status_kb(&self, line_start: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.child.id())).unwrap();
        let held = status.lines().find_map(|line| line.strip_prefix(line_start)).unwrap();
        held.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

fn start(folder: &Path, journal: &str) -> Process {
    Process::spawn_logging(&mut command(folder, journal), log_of(folder))
}

fn log_of(folder: &Path) -> fs::File {
    fs::File::create(folder.join("log")).unwrap()
}

fn command(folder: &Path, journal: &str) -> Command {
    let file = folder.join("llm-rum.toml");
    fs::write(
        &file,
        format!("{TOP}\n[journal]\n{journal}\n[ingest]\nqueue_batches = 16\ntrust_loopback = true\n"),
    )
    .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    command.env("LD_PRELOAD", library(folder)).env("LLM_RUM_DISK", folder.join("disk"));
    command.arg("--data").arg(folder.join("data"));
    command
}

/// Of ten milliseconds each, in half a second.
const MOST_TICKS_AT_REST: u64 = 3;

/// What is open is soon counted.
const TOP: &str = "settle_after_seconds = 1";

fn library(folder: &Path) -> PathBuf {
    let (library, source) = (folder.join("disk.so"), concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/disk.c"));
    let mut compiler = Command::new("cc");
    let made =
        compiler.args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"]).arg(&library).args([source, "-ldl"]);
    assert!(made.status().expect("cc, which builds SQLite too").success());
    library
}

/// Sends a beacon and checks that it is refused as the disk cannot take it, and when to come again.
fn is_refused(client: &mut Client, key: &str, id: u128) {
    assert_eq!(client.ask(&post_to(key, "")).unwrap().0, 400);
    let request = post_to(key, &json!({ "reports": [stream(id, 100.0)] }).to_string());
    std::io::Write::write_all(client.stream.get_mut(), request.as_bytes()).unwrap();
    let answer = client.whole_answer().unwrap();
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert!(answer.body.contains("storage_unavailable"), "{}", answer.body);
    assert_eq!(answer.header("retry-after"), Some("5"));
}

fn a_read_only_disk_is_survived(journal: &str) {
    let collector = Fallible::start(journal);
    let mut client = collector.process.connect();
    (0..20).for_each(|id| assert_eq!(client.report(id).unwrap().0, 204));
    collector.process.until("/v1/summary", |summary| summary["streams"] == 20);

    collector.disk("read-only");
    let unknown = post(&json!({ "reports": [stream(20, 100.0)], "later": 1 }).to_string());
    assert_eq!(client.ask(&unknown).unwrap().0, 503);
    is_refused(&mut client, "demo", 100);
    collector.until_ready(503);
    assert_eq!(collector.process.get("/healthz").0, 200);
    assert_eq!(collector.process.json("/v1/summary")["streams"], 20, "questions are answered all the while");
    let before = collector.rss_kb();
    (100..2_100).for_each(|id| assert_eq!(client.report(id).unwrap().0, 503));
    let grown = collector.rss_kb().saturating_sub(before);
    assert!(grown < 8 * 1024, "{grown} kB more after 2,000 refused beacons");

    // Nobody sends: it finds out by itself.
    collector.disk("");
    collector.until_ready(200);
    assert_eq!(client.ask(&unknown).unwrap().0, 204);
    (21..30).for_each(|id| assert_eq!(client.report(id).unwrap().0, 204));
    let books = collector.balances(30);
    assert_eq!(books["beacons"]["refused"]["storage_unavailable"], 2_002, "{books}");
    assert_eq!(
        books["ignored_fields"],
        json!({ "demo": 1 }),
        "what was refused is not counted before it is kept"
    );
    drop(client);
    let Fallible { process, folder } = collector;
    drop(process);
    let collector = Fallible { process: start(folder.path(), journal), folder };
    assert_eq!(
        collector.process.json("/v1/summary")["streams"],
        30,
        "nothing of what was refused comes back"
    );
}

#[test]
fn a_read_only_disk_refuses_beacons_until_it_can_be_written() {
    a_read_only_disk_is_survived("sync = 'full'");
}

#[test]
fn a_read_only_disk_is_survived_with_sync_normal() {
    a_read_only_disk_is_survived("sync = 'normal'");
}

/// Values far apart, a thousand times as large in memory as on their way.
#[test]
fn memory_stays_bounded_while_the_store_rejects_writes() {
    let sites: String = (0..SITES)
        .map(|n| format!("\n[[sites]]\nname = 'site-{n}'\nkeys = ['key-{n}']\norigins = ['loopback']"))
        .collect();
    let mut collector = Fallible::start(&format!("sync = 'normal'{ROOM_FOR_FAR}{sites}"));
    let before = collector.rss_kb();
    collector.disk("store-full");
    let beacons: Vec<_> = (0..2 * SITES * BATCHES).map(beacon_of_far_values).collect();
    let refused = send_at_once(&collector.process, &beacons);
    collector.until_at_rest();
    let grown = collector.peak_kb() - before;
    println!("{} of {} beacons refused, {grown} kB more", refused.len(), beacons.len());
    assert!(grown < 450 * 1024, "{grown} kB more");
    collector.until_ready(503);
    is_refused(&mut collector.process.connect(), "key-0", 1 << 64);

    // What stands in the journal is too much to be counted by a new process too, while the store takes nothing.
    let folder = collector.folder.path();
    collector.process.child.kill().unwrap();
    collector.process.child.wait().unwrap();
    let journal = format!("sync = 'normal'{sites}");
    let ended = command(folder, &journal).stderr(log_of(folder)).status().unwrap();
    assert_eq!(ended.code(), Some(1), "{}", collector.log());
    assert!(collector.log().contains("the journal backlog exceeds the memory for it"), "{}", collector.log());

    collector.disk("");
    collector.process = start(collector.folder.path(), &journal);
    collector.until_ready(200);
    assert_eq!(send_at_once(&collector.process, &refused), Vec::<String>::new());
    collector.balances(100 * beacons.len() as u64);
}

#[test]
fn a_collector_starts_and_serves_while_its_store_rejects_writes() {
    let mut collector = Fallible::start("");
    let mut client = collector.process.connect();
    (0..20).for_each(|id| assert_eq!(client.report(id).unwrap().0, 204));
    collector.process.until("/v1/summary", |summary| summary["streams"] == 20);
    collector.disk("store-full");
    assert_eq!(client.report(20).unwrap().0, 204, "the journal takes it");
    collector.process.child.kill().unwrap();
    collector.process.child.wait().unwrap();

    collector.process = start(collector.folder.path(), "");
    collector.until_ready(503);
    assert_eq!(collector.process.json("/v1/summary")["streams"], 20);
    assert_eq!(collector.process.connect().report(21).unwrap().0, 204, "there is room for it");

    collector.disk("");
    collector.until_ready(200);
    assert_eq!(collector.process.connect().report(22).unwrap().0, 204);
    collector.balances(23);
}

#[test]
fn a_stop_exits_1_if_the_store_rejects_the_last_flush() {
    let mut collector = Fallible::start("");
    let mut client = collector.process.connect();
    (0..20).for_each(|id| assert_eq!(client.report(id).unwrap().0, 204));
    collector.process.until("/v1/summary", |summary| summary["streams"] == 20);
    collector.disk("store-full");
    assert_eq!(client.report(20).unwrap().0, 204, "the journal takes it");
    drop(client);

    collector.process.signal("TERM");
    let status = collector.process.child.wait().unwrap();
    let log = collector.log();
    assert_eq!(status.code(), Some(1), "{log}");
    for said in ["the next start counts them", "the store rejects the last flush", "database or disk is full"]
    {
        assert!(log.contains(said), "`{said}` is missing in: {log}");
    }

    collector.disk("");
    collector.process = start(collector.folder.path(), "");
    collector.process.until("/v1/summary", |summary| summary["streams"] == 21);
    collector.balances(21);
}

#[test]
fn a_store_that_is_moved_away_is_not_written_until_it_is_back() {
    let mut collector = Fallible::start("");
    let mut client = collector.process.connect();
    (0..20).for_each(|id| assert_eq!(client.report(id).unwrap().0, 204));
    collector.process.until("/v1/summary", |summary| summary["streams"] == 20);
    let data = collector.folder.path().join("data");
    let (store, away) = (data.join("llm-rum.sqlite"), data.join("away.sqlite"));
    fs::rename(&store, &away).unwrap();
    collector.until_ready(503);
    assert_eq!(client.report(20).unwrap().0, 204, "the journal takes it");
    post_marker(&collector, 503);
    assert!(!store.exists(), "no thread makes a new file");
    let log = collector.log();
    assert!(log.contains("data/llm-rum.sqlite was deleted, moved or replaced"), "{log}");

    fs::rename(&away, &store).unwrap();
    collector.until_ready(200);
    collector.balances(21);
    collector.process.child.kill().unwrap();
    collector.process.child.wait().unwrap();
    collector.process = start(collector.folder.path(), "");
    collector.balances(21);
}

fn a_store_is_deleted_while_it_runs(has_backup: bool) {
    let mut collector = Fallible::start("");
    let mut client = collector.process.connect();
    (0..20).for_each(|id| assert_eq!(client.report(id).unwrap().0, 204));
    collector.process.until("/v1/summary", |summary| summary["streams"] == 20);
    let (data, backup) = (collector.folder.path().join("data"), collector.folder.path().join("backup"));
    if has_backup {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
        let written = command.args(["backup", "--data"]).arg(&data).arg(&backup).output().unwrap();
        assert!(written.status.success(), "{written:?}");
    }
    fs::remove_file(data.join("llm-rum.sqlite")).unwrap();
    collector.until_ready(503);
    (20..40).for_each(|id| assert_eq!(client.report(id).unwrap().0, 204));
    drop(client);
    collector.process.signal("TERM");
    let status = collector.process.child.wait().unwrap();
    let log = collector.log();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("the next start counts them"), "{log}");

    if has_backup {
        for log in ["llm-rum.sqlite-wal", "llm-rum.sqlite-shm"] {
            // They are there or not.
            let _gone = fs::remove_file(data.join(log));
        }
        fs::copy(backup.join("llm-rum.sqlite"), data.join("llm-rum.sqlite")).unwrap();
    }
    collector.process = start(collector.folder.path(), "");
    collector.until_ready(200);
    // Without a backup, the journal still has the first 20 too, because its file was not full.
    collector.balances(40);
}

#[test]
fn a_start_on_a_full_disk_is_not_ready_before_a_beacon() {
    let Fallible { process, folder } = Fallible::start("");
    drop(process);
    fs::write(folder.path().join("disk"), "journal-full").unwrap();
    let collector = Fallible { process: start(folder.path(), ""), folder };
    assert_eq!(collector.process.get("/readyz").0, 503);
    collector.disk("");
    collector.until_ready(200);
    assert_eq!(collector.process.connect().report(1).unwrap().0, 204);
    collector.balances(1);
}

#[test]
fn the_journal_counts_what_a_deleted_store_did_not_take() {
    a_store_is_deleted_while_it_runs(false);
}

#[test]
fn a_restored_store_and_the_newer_journal_make_a_whole() {
    a_store_is_deleted_while_it_runs(true);
}

fn post_marker(collector: &Fallible, status: u16) -> Answered {
    let body = json!({ "title": "v42", "id": "deploy-42" }).to_string();
    let request = format!(
        "POST /v1/markers HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = collector.process.connect().whole_answer_to(&request);
    assert_eq!(answer.status, status, "{}", answer.body);
    answer
}

#[test]
fn a_marker_is_refused_while_the_disk_is_full() {
    let collector = Fallible::start("");
    collector.disk("store-full");
    let refused = post_marker(&collector, 503);
    assert_eq!(refused.header("retry-after"), Some("5"), "{}", refused.body);
    assert!(refused.body.contains("storage_unavailable"), "{}", refused.body);
    assert_eq!(collector.process.json("/v1/markers")["markers"], json!([]));
    collector.disk("");
    post_marker(&collector, 201);
    post_marker(&collector, 200);
}

/// Sends all over some connections, and gives back those that were refused.
fn send_at_once(process: &Process, beacons: &[String]) -> Vec<String> {
    let send = |beacons: &[String]| {
        let mut client = process.connect();
        let mut refused = Vec::new();
        for beacon in beacons {
            match client.ask(beacon).unwrap() {
                (204, _) => {}
                (503, _) => refused.push(beacon.clone()),
                (status, body) => panic!("{status} {body}"),
            }
        }
        refused
    };
    thread::scope(|scope| {
        let senders: Vec<_> = beacons
            .chunks(beacons.len().div_ceil(8).max(1))
            .map(|part| scope.spawn(move || send(part)))
            .collect();
        senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect()
    })
}

/// Each series has one of the least and one of the greatest.
fn beacon_of_far_values(n: usize) -> String {
    let (end, site, batch) = (n % 2, n / 2 % SITES, n / 2 / SITES);
    let of = |k| far([0.001, 80_000_000.0][end], (n * 100 + k) as u128, batch * 100 + k);
    let reports: Vec<_> = (0..100).map(of).collect();
    post_to(&format!("key-{site}"), &json!({ "reports": reports }).to_string())
}

const SITES: usize = 4;
/// Places for 90 models and 22 providers that come from this machine.
const ROOM_FOR_FAR: &str = "\n[limits]\nmodels = 120\nproviders = 30";
const BATCHES: usize = 19;

#[test]
fn a_hanging_disk_refuses_in_time_and_counts_streams_once() {
    let collector = Fallible::start("wait_seconds = 1");
    assert_eq!(collector.process.connect().report(0).unwrap().0, 204);
    collector.process.until("/v1/summary", |summary| summary["streams"] == 1);

    collector.disk("slow");
    let before = collector.rss_kb();
    let answers: Vec<_> = thread::scope(|scope| {
        let send = |id| {
            let mut client = collector.process.connect();
            move || {
                let sent = Instant::now();
                let (status, body) = client.report(id).unwrap();
                (status, body, sent.elapsed())
            }
        };
        let senders: Vec<_> = (1..65).map(|id| scope.spawn(send(id))).collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    });
    for (status, body, waited) in &answers {
        assert!(*status == 503 && *waited < Duration::from_secs(5), "{status} {body} after {waited:?}");
    }
    let coded = |code| answers.iter().filter(|(_, body, _)| body.contains(code)).count();
    assert!(coded("storage_unavailable") > 0 && coded("overloaded") > 0, "{answers:?}");
    collector.until_ready(503);
    let asked = Instant::now();
    assert_eq!(collector.process.get("/healthz").0, 200);
    assert_eq!(collector.process.json("/v1/summary")["streams"], 1);
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    let grown = collector.rss_kb().saturating_sub(before);
    assert!(grown < 16 * 1024, "{grown} kB more");

    collector.disk("");
    collector.until_ready(200);
    // Whoever was refused sends again; what the disk took after all is known by then.
    let again: Vec<_> = (0..65).map(|id| stream(id, 100.0)).collect();
    assert_eq!(collector.process.connect().reports(&again).unwrap().0, 204);
    collector.process.until("/v1/summary", |summary| summary["streams"] == 65);
    let books = collector.balances(65);
    let overloaded = books["beacons"]["refused"]["overloaded"].as_u64();
    assert_eq!(overloaded, Some(coded("overloaded") as u64), "{books}");
}

#[test]
fn a_stop_on_a_hanging_disk_ends_in_time_and_loses_no_stream() {
    let mut collector = Fallible::start("wait_seconds = 1");
    let mut client = collector.process.connect();
    (0..20).for_each(|id| assert_eq!(client.report(id).unwrap().0, 204));
    collector.disk("slow");
    assert_eq!(client.report(20).unwrap().0, 503);

    let told = Instant::now();
    collector.process.signal("TERM");
    let status = collector.process.child.wait().unwrap();
    // Supervisors are told to wait for 30 s.
    assert!(told.elapsed() < Duration::from_secs(25), "it took {:?}", told.elapsed());
    let log = collector.log();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(
        log.contains("the next start counts them") && log.contains("did not reach the disk within 15s"),
        "{log}"
    );

    collector.disk("");
    collector.process = start(collector.folder.path(), "wait_seconds = 1");
    // Whoever was refused sends again.
    assert_eq!(collector.process.connect().report(20).unwrap().0, 204);
    collector.process.until("/v1/summary", |summary| summary["streams"] == 21);
    collector.balances(21);
}

/// Forty-two streams of which the first two stand in the page that is lost: one open, and one that is to be
/// replaced.
#[test]
fn an_unreadable_journal_page_loses_only_its_own_streams() {
    let collector = Fallible::start("sync = 'normal'");
    collector.disk("unreadable");
    let mut client = collector.process.connect();
    let open = StreamReport { open: true, ..stream(0, 100.0) };
    assert_eq!(client.reports(&[open, stream(1, 100.0)]).unwrap().0, 204);
    (2..42).for_each(|id| assert_eq!(client.report(id).unwrap().0, 204));
    let later = StreamReport { rev: 1, ..stream(1, 200.0) };
    assert_eq!(client.reports(&[later]).unwrap().0, 204);
    let books = collector.balances(41);
    assert_eq!(
        (&books["reports"]["by_result"]["late"], &books["reports"]["by_result"]["unreadable"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(collector.process.get("/v1/streams").0, 200, "the others are listed");
    drop(client);

    let Fallible { process, folder } = collector;
    drop(process);
    let collector = Fallible { process: start(folder.path(), "sync = 'normal'"), folder };
    collector.balances(41);

    let Fallible { process, folder } = collector;
    drop(process);
    for file in ["llm-rum.sqlite", "llm-rum.sqlite-wal", "llm-rum.sqlite-shm"] {
        // The last two are there or not.
        let _gone = fs::remove_file(folder.path().join("data").join(file));
    }
    let collector = Fallible { process: start(folder.path(), "sync = 'normal'"), folder };
    let streams = collector.process.json("/v1/accounting")["streams"]["new"].as_u64().unwrap();
    assert!((8..40).contains(&streams), "{streams}");
    let books = collector.balances(streams);
    assert_eq!(books["reports"]["by_result"]["unreadable"], 1, "{books}");
    assert!(collector.log().contains("The journal is damaged in 1 places"), "{}", collector.log());
}
