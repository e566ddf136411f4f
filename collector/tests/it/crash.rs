//! kill -9 at any moment, a full disk, a journal that was damaged: what was answered is there exactly
//! once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use beacon::{Outcome, StreamReport};
use collector::{Collector, Config};
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{TIMEOUT, stream};
use crate::running::{Process, post};

const KILLS: u64 = 200;

/// Requests get 8 s to end; all that they brought is counted after them.
const STOPS_WITHIN: Duration = Duration::from_secs(15);

/// Ids of streams whose last report was answered with 204, and of those that got no answer.
#[derive(Default)]
struct Sent {
    answered: Vec<u128>,
    unanswered: Vec<u128>,
}

#[test]
fn two_hundred_kills_lose_and_double_no_acknowledged_stream() {
    let folder = TempDir::new().unwrap();
    let sent = Mutex::new(Sent::default());
    for kill in 0..KILLS {
        let mut process = start(folder.path(), if kill % 2 == 0 { "normal" } else { "full" });
        // Every length of life up to 64 answers, in no order.
        send_until_killed(&mut process, kill, (kill * 37 % 64) as usize, &sent);
    }
    let Sent { answered, unanswered } = sent.into_inner().unwrap();
    assert!(answered.len() > KILLS as usize && !unanswered.is_empty(), "{} answered", answered.len());

    let process = start(folder.path(), "full");
    let counted = process.json("/v1/summary")["outcomes"]["complete"].as_u64().unwrap() as usize;
    let all = answered.len() + unanswered.len();
    assert!((answered.len()..=all).contains(&counted), "{counted} of {} to {all}", answered.len());
    let mut client = process.connect();
    let again: Vec<_> = answered.iter().chain(&unanswered).map(|id| last(*id)).collect();
    for batch in again.chunks(100) {
        assert_eq!(client.reports(batch).unwrap().0, 204);
    }
    process.until("/v1/summary", |summary| summary["outcomes"] == json!({ "complete": all }));
    let metrics = process.get("/metrics").1;
    assert!(metrics.contains(&format!("llm_rum_streams_total{{outcome=\"complete\",model=\"gpt-5\",provider=\"openai\",site=\"demo\",use_case=\"chat\"}} {all}\n")), "{metrics}");
}

/// Memory forgets streams quickly here. Lives of up to some seconds, so that kills come while a file is written, before the
/// store knows it, and while the store learns of it.
#[test]
fn kills_lose_and_double_no_row_of_a_counted_stream() {
    let folder = TempDir::new().unwrap();
    let sent = Mutex::new(Sent::default());
    let small = "[store]\nstreams_kept = 10\nrow_file_streams = 2000\n[dedupe]\nids = 10\n";
    for kill in 0..KILLS / 12 {
        let mut process = start_with(folder.path(), "normal", small);
        send_until_killed(&mut process, kill, (kill * 37 % 64 * 150) as usize, &sent);
    }
    let Sent { answered, unanswered } = sent.into_inner().unwrap();
    let process = start_with(folder.path(), "normal", small);
    let export = || process.get("/v1/streams.ndjson").1;
    // Streams whose end never came are counted when they are written to a file.
    let agree = |summary: &serde_json::Value| summary["streams"] == export().lines().count();
    process.until("/v1/summary", agree);
    let exported = export();
    let mut times: BTreeMap<u128, u32> = BTreeMap::new();
    for line in exported.lines() {
        let stream: serde_json::Value = serde_json::from_str(line).unwrap();
        let id = u128::from_str_radix(stream["id"].as_str().unwrap(), 16).unwrap();
        *times.entry(id).or_default() += u32::from(!stream["open"].as_bool().unwrap_or(false));
    }
    let files = fs::read_dir(folder.path().join("data/streams")).unwrap().count();
    assert!(files > 5, "{files} files");
    for id in &answered {
        assert_eq!(times.get(id), Some(&1), "{id:x}");
    }
    assert!(unanswered.iter().all(|id| times.get(id).is_none_or(|times| *times <= 1)));
}

fn start(folder: &Path, sync: &str) -> Process {
    start_with(folder, sync, "")
}

fn start_with(folder: &Path, sync: &str, more: &str) -> Process {
    let file = folder.join("llm-rum.toml");
    fs::write(&file, format!("settle_after_seconds = 1700\n[journal]\nsync = \"{sync}\"\n{more}")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    command.env("LLM_RUM__INGEST__TRUST_LOOPBACK", "true");
    Process::spawn(command.arg("--data").arg(folder.join("data")))
}

/// Four connections, each stream first open and then at its end; killed after so many answers.
fn send_until_killed(process: &mut Process, kill: u64, answers: usize, sent: &Mutex<Sent>) {
    let count = AtomicUsize::new(0);
    thread::scope(|scope| {
        for worker in 0..4_u128 {
            let (mut client, count) = (process.connect(), &count);
            scope.spawn(move || {
                for n in 0.. {
                    let id = (u128::from(kill) << 64) | (worker << 32) | n;
                    let mut both = client.reports(&[first(id)]);
                    count.fetch_add(1, Ordering::Relaxed);
                    if both.is_ok() {
                        both = client.reports(&[last(id)]);
                    }
                    let mut sent = sent.lock().unwrap();
                    match both {
                        Ok((204, _)) => sent.answered.push(id),
                        Ok(other) => panic!("{other:?}"),
                        Err(_) => return sent.unanswered.push(id),
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let came = comes_to(&count, answers);
        // The senders end when the process does.
        process.child.kill().unwrap();
        assert!(came, "{count:?} of {answers} answers came");
    });
    process.child.wait().unwrap();
}

fn comes_to(count: &AtomicUsize, expected: usize) -> bool {
    let begun = Instant::now();
    while count.load(Ordering::Relaxed) < expected && begun.elapsed() < TIMEOUT {
        thread::yield_now();
    }
    count.load(Ordering::Relaxed) >= expected
}

fn first(id: u128) -> StreamReport {
    StreamReport {
        open: true,
        outcome: Outcome::Abandoned,
        e2e_ms: None,
        close_ms: None,
        ..stream(id, 100.0)
    }
}

fn last(id: u128) -> StreamReport {
    StreamReport { rev: 1, ..stream(id, 100.0) }
}

#[test]
fn journal_damage_costs_only_damaged_records_and_is_counted() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let mut process = start(folder.path(), "normal");
    // While another holds the store, nothing is counted there: all stands in the journal alone.
    let other = rusqlite::Connection::open(data.join("llm-rum.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut client = process.connect();
    let mut ends = Vec::new();
    for id in 0..5 {
        assert_eq!(client.report(id).unwrap().0, 204);
        ends.push(fs::metadata(journal_of(&data)).unwrap().len());
    }
    process.child.kill().unwrap();
    process.child.wait().unwrap();
    drop(other);

    let file = journal_of(&data);
    let mut bytes = fs::read(&file).unwrap();
    bytes[ends[1] as usize + 100] ^= 1;
    bytes.truncate(ends[3] as usize + 30);
    fs::write(&file, bytes).unwrap();
    let process = start(folder.path(), "normal");
    assert_eq!(process.json("/v1/summary")["outcomes"], json!({ "complete": 3 }));
    let metrics = process.get("/metrics").1;
    for kind in ["torn_end", "damaged"] {
        assert!(
            metrics.contains(&format!("llm_rum_journal_repairs_total{{kind=\"{kind}\"}} 1\n")),
            "{metrics}"
        );
    }
    let again: Vec<_> = (0..5).map(|id| stream(id, 100.0)).collect();
    assert_eq!(process.connect().reports(&again).unwrap().0, 204);
    process.until("/v1/summary", |summary| summary["streams"] == 5);
}

#[test]
fn sampled_out_reports_and_unknown_fields_survive_kill_9() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let file = folder.path().join("sampled.toml");
    fs::write(&file, "[[sites]]\nname = 'shop'\nkeys = ['demo']\norigins = ['loopback']\nsample = 0.5")
        .unwrap();
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
        Process::spawn(command.arg("--data").arg(&data))
    };
    let mut process = start();
    // While another holds the store, all stands in the journal alone.
    let other = rusqlite::Connection::open(data.join("llm-rum.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut batch = json!({ "reports": (0..50).map(|id| stream(id, 100.0)).collect::<Vec<_>>() });
    batch["later"] = json!(1);
    assert_eq!(process.connect().ask(&post(&batch.to_string())).unwrap().0, 204);
    process.child.kill().unwrap();
    process.child.wait().unwrap();
    drop(other);

    let books = start().json("/v1/accounting");
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let (received, sampled_out) =
        (number(&books["reports"]["received"]), number(&books["reports"]["sampled_out"]));
    assert!(received > 0 && sampled_out > 0 && received + sampled_out == 50, "{books}");
    assert_eq!(books["ignored_fields"], json!({ "shop": 1 }));
}

#[test]
fn sigterm_under_load_answers_counts_and_exits_well() {
    let folder = TempDir::new().unwrap();
    let mut process = start(folder.path(), "full");
    let (sent, count) = (Mutex::new(Sent::default()), AtomicUsize::new(0));
    let told = thread::scope(|scope| {
        for worker in 0..8_u128 {
            let (mut client, sent, count) = (process.connect(), &sent, &count);
            scope.spawn(move || {
                for n in 0.. {
                    let id = (worker << 32) | n;
                    match client.report(id) {
                        Ok((204, _)) => sent.lock().unwrap().answered.push(id),
                        Ok(other) => panic!("{other:?}"),
                        Err(_) => return sent.lock().unwrap().unanswered.push(id),
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let came = comes_to(&count, 200);
        process.signal("TERM");
        assert!(came, "{count:?} of 200 answers came");
        Instant::now()
    });
    assert!(process.child.wait().unwrap().success());
    assert!(told.elapsed() < STOPS_WITHIN, "it took {:?}", told.elapsed());
    let sent = sent.into_inner().unwrap();
    let counted = start(folder.path(), "full").json("/v1/summary")["streams"].as_u64().unwrap() as usize;
    let all = sent.answered.len() + sent.unanswered.len();
    assert!((sent.answered.len()..=all).contains(&counted), "{counted} of {}", sent.answered.len());
}

/// A limit on the size of files stands in for a full disk, so the test needs no file system of its own. To find out
/// whether there is space again, the journal writes more than this limit, also to a new file.
#[test]
fn a_full_disk_refuses_beacons_until_there_is_space() {
    let folder = TempDir::new().unwrap();
    let mut command = Command::new("sh");
    let serve = format!(
        "trap '' XFSZ; exec {} serve --listen 127.0.0.1:0 --data {}",
        env!("CARGO_BIN_EXE_llm-rum"),
        folder.path().display()
    );
    let process = Process::spawn(command.args(["-c", &serve]));
    let pid = process.child.id().to_string();
    let limit_files = |limit: &str| {
        let limited = Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={limit}:")]).status();
        assert!(limited.unwrap().success());
    };
    limit_files("32768");
    let mut client = process.connect();
    let mut answered = 0;
    let refused = loop {
        // Many at once: one by one they would be some thousand waits for the disk.
        let batch: Vec<_> = (answered..answered + 50).map(|id| stream(id, 100.0)).collect();
        match client.reports(&batch).unwrap() {
            (204, _) => answered += 50,
            (status, body) => break (status, body),
        }
        assert!(answered < 100_000, "the limit did not bite");
    };
    assert_eq!(refused.0, 503, "{}", refused.1);
    assert!(refused.1.contains("storage_unavailable"));
    assert_eq!(process.get("/readyz").0, 503);
    assert_eq!(process.get("/healthz").0, 200);

    limit_files("unlimited");
    let raised = Instant::now();
    while process.get("/readyz").0 != 200 {
        assert!(raised.elapsed() < TIMEOUT, "it is not ready again");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(client.report(answered + 50).unwrap().0, 204);
    let all = answered as u64 + 1;
    process.until("/v1/summary", |summary| summary["streams"] == all);
    drop(process);
    // What was refused is not in the journal either: nothing of it comes back.
    let process = Process::start(folder.path());
    assert_eq!(process.json("/v1/summary")["streams"], all);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let refused = Command::new(env!("CARGO_BIN_EXE_llm-rum"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data", "/proc/llm-rum-data"])
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("cannot use the folder /proc/llm-rum-data, "), "{said}");
}

/// The message of a start that fails, with a limit for the length of files.
fn failed_start(data: &Path, file_blocks: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f $1; shift; exec \"$@\"", "sh", file_blocks]);
    command.args([env!("CARGO_BIN_EXE_llm-rum"), "serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    let refused = command.output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    String::from_utf8_lossy(&refused.stderr).into_owned()
}

#[test]
fn a_start_without_room_names_the_file_and_a_remedy() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let names = |said: &str, path: &str, remedy: &str| {
        let expected = format!("{}, {remedy}", data.join(path).display());
        assert!(said.contains("cannot use ") && said.contains(&expected), "{said}");
    };
    let check_disk = "check that its disk works, has space, and allows files of any length: ";
    names(&failed_start(&data, "0"), "llm-rum.sqlite", check_disk);
    drop(Process::start(&data));
    names(&failed_start(&data, "0"), "llm-rum.sqlite", check_disk);
    for part in ["journal", "streams"] {
        fs::remove_dir_all(data.join(part)).unwrap();
        fs::write(data.join(part), "").unwrap();
        names(&failed_start(&data, "unlimited"), part, "check the path and its disk: ");
        fs::remove_file(data.join(part)).unwrap();
        drop(Process::start(&data));
    }
}

#[test]
fn a_store_of_an_older_layout_is_refused_with_a_remedy() {
    let folder = TempDir::new().unwrap();
    let older = rusqlite::Connection::open(folder.path().join("llm-rum.sqlite")).unwrap();
    older.pragma_update(None, "user_version", 1).unwrap();
    drop(older);
    let refused = Collector::open(Config { data: folder.path().into(), ..Config::default() });
    let Err(error) = refused else { panic!("an older store was opened") };
    let said = error.to_string();
    assert!(said.contains("layout 1") && said.contains("llm-rum.sqlite away"), "{said}");
}

/// The journal's first file.
fn journal_of(data: &Path) -> PathBuf {
    files_of(data).into_iter().min().unwrap()
}

fn files_of(data: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(data.join("journal")).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "log")).collect()
}
