//! `llm-rum delete`: no answer and no file has the streams of the site any more, and all other data is as before.

mod interrupted;

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::thread;
use std::time::Instant;

use beacon::{Outcome, Page, StreamReport};
use parquet::file::reader::{FileReader, SerializedFileReader};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{TIMEOUT, stream};
use crate::import::{line, now_ms};
use crate::running::Process;

const DAY_MS: i64 = 86_400_000;

/// The same time for all streams and questions.
static NOW_MS: LazyLock<i64> = LazyLock::new(now_ms);

/// Number of listed streams beyond the newest 20, as far as the store knows. Ninety fill a file.
const UNWRITTEN: &str = "SELECT max(newest) - 20 - remembered_from FROM remembered, journal";

/// Part of every name of the site that is deleted, and of nothing else.
const SIGN: &str = "zulu";

/// Part of every name that only the site's streams of earlier days have.
const EARLIER_SIGN: &str = "zulu-earlier";

/// A data folder and its configuration.
struct Folder {
    folder: TempDir,
    sites: &'static [&'static str],
}

/// Streams of one site and time.
#[derive(Clone, Copy)]
struct Part {
    site: &'static str,
    received_ms: i64,
    first: u128,
}

impl Part {
    /// Two series, failures, and a stream that does not end.
    fn lines(self) -> Vec<Value> {
        let Self { site, received_ms, first } = self;
        let is_recent = received_ms >= today_ms();
        let name = if is_recent { site.to_owned() } else { format!("{site}-earlier") };
        let named = |word: &str| Some(format!("{name}-{word}").into());
        let page = Page { route: Some(format!("/{name}").into()), ..Page::default() };
        let report = |n: u128| StreamReport {
            site: Some(site.into()),
            model: named(["model", "second-model"][n as usize % 2]),
            provider: named("provider"),
            response_model: named("response-model"),
            use_case: Some(if n.is_multiple_of(3) { "coding" } else { "chat" }.into()),
            outcome: if n.is_multiple_of(5) { Outcome::Truncated } else { Outcome::Complete },
            page: Some(page.clone()),
            open: received_ms > *NOW_MS - 3_600_000 && n == 50,
            ..stream(first + n, 100.0 + n as f64 * 17.0)
        };
        // Streams of several minutes, so that sums are of more than one.
        (0..60).map(|n| line(&report(n), received_ms + n as i64 * 5_000, "CH")).collect()
    }
}

/// Beginning of the day that began at least two hours ago, so that all recent streams are of it.
fn today_ms() -> i64 {
    (*NOW_MS - 2 * 3_600_000).div_euclid(DAY_MS) * DAY_MS
}

/// Streams of both sites: of days whose minutes are no longer stored, of yesterday, and of the last two hours. The last
/// streams of all are of the deleted site, and so are the first.
fn parts() -> Vec<Part> {
    let (today, now) = (today_ms(), *NOW_MS);
    let times = [today - 5 * DAY_MS + 1_000, today - DAY_MS + 7_200_000, now - 7_000_000, now - 1_200_000];
    let mut parts = Vec::new();
    for (at, received_ms) in times.into_iter().enumerate() {
        let first = 1_000 * (at as u128 + 1);
        let [one, other] = if at < 2 { [SIGN, "blog"] } else { ["blog", SIGN] };
        parts.push(Part { site: one, received_ms, first });
        parts.push(Part { site: other, received_ms, first: first + 500 });
    }
    parts
}

impl Folder {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), sites: &[SIGN, "blog"] }
    }

    /// A folder in which these streams were counted, rolled up and written to files.
    fn with(parts: &[Part]) -> Self {
        let folder = Self::new();
        folder.import(parts);
        folder.settle();
        folder.mark(parts);
        folder
    }

    /// Adds a marker at the time of each of these streams.
    fn mark(&self, parts: &[Part]) {
        let connection = Connection::open(self.data().join("llm-rum.sqlite")).unwrap();
        let row = "INSERT INTO markers (site, id, timestamp_ms, kind, title, url) VALUES (?1, ?2, ?3, 'deploy', ?2, '')";
        for Part { site, received_ms, first } in parts {
            let earlier = if *received_ms < today_ms() { "-earlier" } else { "" };
            let id = format!("{site}{earlier}-marker-{first}");
            connection.execute(row, rusqlite::params![site, id, received_ms]).unwrap();
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, name: &str) -> Command {
        let config = self.folder.path().join("llm-rum.toml");
        let site = |name: &&str| {
            format!("[[sites]]\nname = '{name}'\nkeys = ['{name}-key']\norigins = ['loopback']\n")
        };
        let sites: String = self.sites.iter().map(site).collect();
        let settings = "settle_after_seconds = 86000\n[dedupe]\nids = 20\nminutes = 1440\n\
                        [store]\nstreams_kept = 20\nrow_file_streams = 90\nsamples = 5\n";
        fs::write(&config, format!("{settings}{sites}")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
        command.arg(name).arg("--config").arg(config).arg("--data").arg(self.data());
        command
    }

    fn import(&self, parts: &[Part]) {
        let file = self.folder.path().join("lines.jsonl");
        let mut lines: Vec<_> = parts.iter().flat_map(|part| part.lines()).collect();
        lines.sort_by_key(|line| line["received_ms"].as_i64());
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&file, text).unwrap();
        let output = self.command("import").arg(&file).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    fn start(&self) -> Process {
        Process::spawn(self.command("serve").args(["--listen", "127.0.0.1:0"]))
    }

    /// Runs a collector until all finished spans are rolled up, and again until old minutes are deleted.
    fn settle(&self) {
        for query in [
            "SELECT count(*) FROM spans WHERE summed <> changes AND start + length < unixepoch() / 60 - 3",
            "SELECT count(*) FROM windows WHERE minute < unixepoch() / 60 - 49 * 60",
        ] {
            let process = self.start();
            let begun = Instant::now();
            while self.number(query) > 0 {
                assert!(begun.elapsed() < TIMEOUT, "{query}");
                thread::sleep(std::time::Duration::from_millis(20));
            }
            stop(process);
        }
        // A process may stop before it lists the file that it writes.
        let process = self.start();
        process.until("/v1/summary", |_| self.number(UNWRITTEN) < 90);
        stop(process);
    }

    fn number(&self, query: &str) -> i64 {
        let file = self.data().join("llm-rum.sqlite");
        let store = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        store.query_row(query, [], |row| row.get(0)).unwrap()
    }

    fn delete(&self, arguments: &[&str]) -> Output {
        self.command("delete").args(arguments).output().unwrap()
    }

    /// Deletes, and returns what is printed.
    fn deleted(&self, arguments: &[&str]) -> Value {
        let output = self.delete(&[arguments, &["--yes"]].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Files with a text in their names or bytes. Values in files of streams are compressed, so these are read.
    fn files_with(&self, sign: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.data()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                // The socket that a killed collector left has no content.
                if !path.is_file() {
                    continue;
                }
                let rows = if path.extension().is_some_and(|name| name == "parquet") {
                    let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
                    file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
                } else {
                    String::new()
                };
                let bytes = [fs::read(&path).unwrap(), rows.into_bytes()].concat();
                if bytes.windows(sign.len()).any(|part| part == sign.as_bytes()) {
                    found.push(path);
                }
            }
        }
        found
    }

    /// Copy of the folder, to try something else with.
    fn copy(&self) -> Self {
        let copy = Self { folder: TempDir::new().unwrap(), sites: self.sites };
        let copied = Command::new("cp").arg("-a").arg(self.data()).arg(copy.data()).status().unwrap();
        assert!(copied.success());
        copy
    }
}

fn stop(mut process: Process) {
    process.signal("TERM");
    assert!(process.child.wait().unwrap().success());
}

/// All streams.
fn whole_range() -> String {
    format!("from={}&to={}", today_ms() - 6 * DAY_MS, *NOW_MS)
}

/// All answers about some sites in which the present has no part, by their addresses.
fn answers(process: &Process, filter: &str) -> Vec<(String, String)> {
    let (from, to) = (today_ms() - 6 * DAY_MS, NOW_MS.div_euclid(3_600_000) * 3_600_000);
    let range = format!("from={from}&to={to}{filter}");
    let recent = format!("from={}&to={}{filter}", today_ms() - DAY_MS, NOW_MS.div_euclid(60_000) * 60_000);
    // Memory lists the newest 20 of all sites. Without one site, older streams of the others are among these.
    let mut paths = vec![format!("/v1/streams?limit=5{filter}")];
    for sample in ["slowest", "failed", "uniform"] {
        paths.push(format!("/v1/streams?sample={sample}&{range}"));
    }
    for route in
        ["summary", "timeseries", "histogram", "heatmap", "explain", "phases", "abandonment", "integrity"]
    {
        paths.push(format!("/v1/{route}?{range}"));
        paths.push(format!("/v1/{route}?{recent}"));
    }
    for by in ["site", "model", "provider", "use_case", "response_model", "country", "route", "release"] {
        paths.push(format!("/v1/breakdown?by={by}&{range}"));
    }
    paths.push(format!("/v1/summary?model=blog-model&{range}"));
    paths.push(format!("/v1/summary?outcome=truncated&{range}"));
    paths.push(format!("/v1/streams.ndjson?{range}"));
    paths.push(format!("/v1/markers?{range}"));
    let ask = |path: String| {
        let (status, body) = process.get(&path);
        assert_eq!(status, 200, "{path}: {body}");
        (path, body)
    };
    paths.into_iter().map(ask).collect()
}

/// Checks that two collectors answer the same, byte by byte.
#[track_caller]
fn same(one: &[(String, String)], other: &[(String, String)]) {
    assert_eq!(one.len(), other.len());
    for ((path, one), (_, other)) in one.iter().zip(other) {
        let differs = one.bytes().zip(other.bytes()).position(|(one, other)| one != other);
        let at = differs.unwrap_or(one.len().min(other.len())).saturating_sub(60);
        let near = |text: &str| text.chars().skip(at).take(200).collect::<String>();
        assert!(one == other, "{path} from byte {at}:\n{}\n{}", near(one), near(other));
    }
}

/// Checks that everything is accounted for, and that windows and single streams agree.
fn balances(process: &Process) -> Value {
    let books = process.json("/v1/accounting");
    let number = |value: &Value| value.as_i64().unwrap_or_else(|| panic!("{books}"));
    let by_result = books["reports"]["by_result"].as_object().unwrap();
    assert_eq!(number(&books["reports"]["received"]), by_result.values().map(number).sum::<i64>(), "{books}");
    assert_eq!(books["reports"]["unaccounted"], 0);
    let streams = &books["streams"];
    assert_eq!(number(&streams["new"]), number(&streams["counted"]) + number(&streams["open"]), "{books}");
    assert_eq!(books["last_hour"]["counted"], books["last_hour"]["kept"], "{books}");
    let (from, to) = (today_ms() - 6 * DAY_MS, *NOW_MS);
    let summary = process.json(&format!("/v1/summary?from={from}&to={to}"));
    let exported = process.get(&format!("/v1/streams.ndjson?from={from}&to={to}")).1;
    assert_eq!(number(&summary["streams"]), exported.lines().count() as i64, "windows and rows");
    books
}

#[test]
fn nothing_is_left_of_a_deleted_site() {
    let mut folder = Folder::with(&parts());
    fs::write(folder.data().join("notifications.json"), notifications()).unwrap();
    fs::write(folder.data().join("notifications.json.damaged"), SIGN).unwrap();
    fs::write(folder.data().join("journal/00000000.spare"), SIGN).unwrap();
    let process = folder.start();
    let before = answers(&process, "&site=blog");
    let open = process.json("/v1/summary?site=zulu")["open"].as_u64().unwrap();
    assert_eq!((balances(&process)["streams"]["new"].as_u64(), open), (Some(480), 1));
    stop(process);
    let with_sign = folder.files_with(SIGN);
    for part in ["llm-rum.sqlite", "journal", "streams", "notifications.json"] {
        let is_in = |path: &PathBuf| path.strip_prefix(folder.data()).unwrap().starts_with(part);
        assert!(with_sign.iter().any(is_in), "{part}: {with_sign:?}");
    }
    assert_eq!(folder.number("SELECT count(*) > 0 FROM spans WHERE frozen"), 1, "some hours are sealed");

    // The site is no longer configured.
    folder.sites = &["blog"];
    let deleted = folder.deleted(&["--site", SIGN]);
    let left = deleted["left"].as_object().unwrap();
    assert!(left.values().all(|count| *count == 0), "{deleted}");
    let found = &deleted["found"];
    for what in ["windows", "rollups", "samples", "recent_streams", "series"] {
        assert!(found[what].as_u64().unwrap() > 0, "{what}: {deleted}");
    }
    assert_eq!((&found["journal_reports"], &found["notifications"]), (&json!(240), &json!(2)), "{deleted}");
    let (listed, in_files) = (&found["recent_streams"], &found["streams_in_files"]);
    assert_eq!(listed.as_u64().unwrap() + in_files.as_u64().unwrap(), 240, "{deleted}");
    assert!(in_files.as_u64().unwrap() > 50, "{deleted}");
    assert_eq!(folder.files_with(SIGN), Vec::<PathBuf>::new());

    for _ in 0..2 {
        let process = folder.start();
        same(&before, &answers(&process, "&site=blog"));
        let books = balances(&process);
        assert_eq!(
            (&books["streams"]["new"], &books["streams"]["open"]),
            (&json!(240), &json!(1)),
            "{books}"
        );
        assert_eq!(books["reports"]["by_result"], json!({ "new": 240, "deleted": 240 }));
        let empty = process.json(&format!("/v1/summary?site=zulu&{}", whole_range()));
        assert_eq!((&empty["streams"], &empty["open"]), (&json!(0), &json!(0)), "{empty}");
        assert_eq!(process.json("/v1/streams?site=zulu")["streams"], json!([]));
        for path in ["/metrics", "/v1/slo", "/v1/alerts", "/v1/releases", "/v1/live"] {
            assert!(path == "/v1/live" || !process.get(path).1.contains(SIGN), "{path}");
        }
        stop(process);
        folder.settle();
    }
    assert_eq!(folder.files_with(SIGN), Vec::<PathBuf>::new(), "nothing of it comes back");
}

/// An alert of each site that fires.
fn notifications() -> String {
    let firing = |site: &str| {
        json!({ "site": site, "use_case": "chat", "subject": "availability", "severity": "page",
                "finding": site, "minutes": 60, "since_ms": 0, "absent_since_ms": null })
    };
    let state = json!({ "firing": [firing(SIGN), firing("blog"), firing(SIGN)], "queue": [] });
    json!({ "receiver": state }).to_string()
}

#[test]
fn later_streams_count_as_if_there_were_no_earlier_ones() {
    let folder = Folder::with(&parts());
    let is_later = |part: &Part| part.site != SIGN || part.received_ms >= today_ms();
    let later: Vec<_> = parts().into_iter().filter(is_later).collect();
    let never = Folder::with(&later);
    assert!(!folder.files_with(EARLIER_SIGN).is_empty() && never.files_with(EARLIER_SIGN).is_empty());
    let process = folder.start();
    let before = answers(&process, "&site=blog");
    stop(process);

    let date = jiff::Timestamp::from_millisecond(today_ms()).unwrap().to_string();
    let deleted = folder.deleted(&["--site", SIGN, "--before", &date[..10]]);
    let left = deleted["left"].as_object().unwrap();
    assert!(left.values().all(|count| *count == 0), "{deleted}");
    assert_eq!(deleted["found"]["journal_reports"], 120, "{deleted}");
    assert_eq!(folder.files_with(EARLIER_SIGN), Vec::<PathBuf>::new());

    let (process, other) = (folder.start(), never.start());
    same(&before, &answers(&process, "&site=blog"));
    let comparable = |process: &Process, filter: &str| {
        let mut all = answers(process, filter);
        // Cursors and the order of equal streams follow the order of arrival, which differs.
        all.retain(|(path, _)| !path.starts_with("/v1/streams"));
        all
    };
    for filter in ["&site=zulu", ""] {
        same(&comparable(&other, filter), &comparable(&process, filter));
    }
    for sample in ["slowest", "failed", "uniform"] {
        let path = format!("/v1/streams?sample={sample}&site=zulu&{}", whole_range());
        assert_eq!(process.json(&path), other.json(&path), "{sample}");
    }
    assert_eq!(balances(&process)["reports"]["by_result"], json!({ "new": 360, "deleted": 120 }));
    let metrics = process.get("/metrics").1;
    let requests = |metrics: &str| {
        let of_site = |line: &&str| line.starts_with("llm_requests_total") && line.contains("\"zulu");
        let lines = metrics.lines().filter(of_site);
        lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum::<f64>()
    };
    assert_eq!(requests(&metrics), requests(&other.get("/metrics").1), "no series has both");
}

/// The arguments that delete some minutes of the site.
fn minutes(from_ms: i64, to_ms: i64) -> [String; 6] {
    let minute =
        |ms: i64| jiff::Timestamp::from_millisecond(ms.div_euclid(60_000) * 60_000).unwrap().to_string();
    ["--site".into(), SIGN.into(), "--from".into(), minute(from_ms), "--to".into(), minute(to_ms)]
}

#[test]
fn deleted_minutes_count_as_if_they_had_been_quiet() {
    let folder = Folder::with(&parts());
    let (is_attack, begin_ms) = (|part: &Part| part.site == SIGN && part.first == 3_500, *NOW_MS - 7_000_000);
    let without: Vec<_> = parts().into_iter().filter(|part| !is_attack(part)).collect();
    assert_eq!(without.len(), parts().len() - 1);
    let never = Folder::with(&without);
    let markers = folder.number("SELECT count(*) FROM markers");

    let arguments = minutes(begin_ms, begin_ms + 6 * 60_000);
    let deleted = folder.deleted(&arguments.each_ref().map(String::as_str));
    let left = deleted["left"].as_object().unwrap();
    assert!(left.values().all(|count| *count == 0), "{deleted}");
    let found = &deleted["found"];
    let (listed, in_files) = (found["recent_streams"].as_u64(), found["streams_in_files"].as_u64());
    assert_eq!(
        (listed.unwrap() + in_files.unwrap(), &found["journal_reports"]),
        (60, &json!(60)),
        "{deleted}"
    );
    assert!(found["windows"].as_u64() > Some(0) && found["series"] == 0, "{deleted}");
    assert_eq!(folder.number("SELECT count(*) FROM markers"), markers, "markers stay");

    let comparable = |process: &Process, filter: &str| {
        let mut all = answers(process, filter);
        // Cursors differ, samples lack what fakes displaced, and markers are of both.
        all.retain(|(path, _)| !path.starts_with("/v1/streams") && !path.starts_with("/v1/markers"));
        all
    };
    for _ in 0..2 {
        let (process, other) = (folder.start(), never.start());
        for filter in ["&site=zulu", "&site=blog", ""] {
            same(&comparable(&other, filter), &comparable(&process, filter));
        }
        assert_eq!(balances(&process)["reports"]["by_result"], json!({ "new": 480 }));
        stop(process);
        stop(other);
        folder.settle();
    }
}

#[test]
fn sealed_hours_are_deleted_whole_or_not_at_all() {
    let folder = Folder::with(&parts());
    let hour_ms = today_ms() - 5 * DAY_MS;
    let before = folder.number("SELECT count(*) FROM sums");
    let part = minutes(hour_ms + 60_000, hour_ms + 3_600_000);
    let refused = folder.delete(&[&part.each_ref().map(String::as_str)[..], &["--yes"]].concat());
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("are no longer stored"), "{refused:?}");
    assert_eq!(folder.number("SELECT count(*) FROM sums"), before);

    let whole = minutes(hour_ms, hour_ms + 3_600_000);
    let deleted = folder.deleted(&whole.each_ref().map(String::as_str));
    assert!(deleted["found"]["rollups"].as_u64() > Some(0), "{deleted}");
    let left = deleted["left"].as_object().unwrap();
    assert!(left.values().all(|count| *count == 0), "{deleted}");
    for _ in 0..2 {
        let process = folder.start();
        let of = |site: &str| {
            process.json(&format!("/v1/summary?site={site}&{}", whole_range()))["streams"].clone()
        };
        assert_eq!((of(SIGN), of("blog")), (json!(179), json!(239)), "one of each is open");
        balances(&process);
        stop(process);
        folder.settle();
    }
}

#[test]
fn a_deletion_that_cannot_be_meant_deletes_nothing() {
    let folder = Folder::with(&parts()[..2]);
    let refused = |arguments: &[&str], code: i32, said: &str| {
        let output = folder.delete(arguments);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(said), "{text}");
    };
    let before = folder.number("SELECT count(*) FROM sums");
    refused(&["--site", "zulo", "--yes"], 1, "there is no data of a site `zulo`: did you mean `zulu`?");
    refused(&["--site", "elsewhere", "--dry-run"], 1, "there is data of `blog`, `zulu`");
    refused(&["--site", SIGN], 2, "--dry-run");
    refused(&["--site", SIGN, "--yes", "--dry-run"], 2, "cannot be used with");
    refused(&["--site", SIGN, "--yes", "--before", "yesterday"], 2, "write a date such as 2026-11-25");
    let (from, later) = ("2026-11-25T14:05Z", "2026-11-25T14:06Z");
    refused(&["--site", SIGN, "--yes", "--from", from], 2, "--to");
    refused(&["--site", SIGN, "--yes", "--to", from], 2, "--from");
    refused(&["--site", SIGN, "--yes", "--from", from, "--to", "14:06"], 2, "the beginning of a minute");
    refused(&["--site", SIGN, "--yes", "--from", later, "--to", from], 1, "the range has no minute");
    let both = ["--site", SIGN, "--yes", "--from", from, "--to", later, "--before", "2026-11-25"];
    refused(&both, 2, "cannot be used with");

    let process = folder.start();
    refused(&["--site", "zulo", "--yes"], 1, "there is no data of a site `zulo`: did you mean `zulu`?");
    let dry_run = folder.delete(&["--site", SIGN, "--dry-run"]);
    assert_eq!(dry_run.status.code(), Some(0), "{dry_run:?}");
    let found: Value = serde_json::from_slice(&dry_run.stdout).unwrap();
    assert_eq!((&found["found"]["journal_reports"], &found["left"]), (&json!(60), &Value::Null), "{found}");
    stop(process);
    assert_eq!(folder.number("SELECT count(*) FROM sums"), before);
    // An import uses the folder, but takes no deletions.
    let lock = File::options().write(true).open(folder.data().join("lock")).unwrap();
    lock.lock().unwrap();
    refused(&["--site", SIGN, "--yes"], 1, "stop it, delete, and start it again");
    drop(lock);

    let nowhere = TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["delete", "--site", SIGN, "--yes", "--data"]).arg(nowhere.path());
    let output = command.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("contains no store"), "{output:?}");
    assert_eq!(fs::read_dir(nowhere.path()).unwrap().count(), 0, "no folder of a collector appears");
}

#[test]
fn a_running_collector_deletes_and_goes_on() {
    let folder = Folder::with(&parts());
    let process = folder.start();
    let before = answers(&process, "&site=blog");
    let report = |key: &str, id: u128| {
        let body = json!({ "reports": [stream(id, 100.0)] }).to_string();
        process.connect().ask(&crate::running::post_to(key, &body)).unwrap().0
    };
    assert_eq!(report("zulu-key", 90_000), 204);
    // A reader that stays connected does not hold the deletion up.
    let mut reader = process.connect();
    let deleted = folder.deleted(&["--site", SIGN]);
    let left = deleted["left"].as_object().unwrap();
    assert!(left.values().all(|count| *count == 0), "{deleted}");
    assert_eq!(deleted["found"]["journal_reports"], 241, "{deleted}");
    assert!(reader.ask("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").is_err(), "it was closed");

    same(&before, &answers(&process, "&site=blog"));
    assert_eq!(process.json("/v1/streams?site=zulu")["streams"], json!([]));
    assert_eq!(report("blog-key", 90_001), 204);
    process.until("/v1/accounting", |books| books["reports"]["received"] == 482);
    let repeated = folder.deleted(&["--site", SIGN, "--before", "2020-01-01"]);
    assert_eq!(repeated["found"], repeated["left"]);
    stop(process);
    assert_eq!(folder.files_with(SIGN), Vec::<PathBuf>::new());
    assert!(!folder.data().join("delete.sock").exists());
}

#[test]
fn a_site_that_sends_again_begins_anew() {
    let folder = Folder::with(&parts());
    folder.deleted(&["--site", SIGN]);
    let repeated = folder.deleted(&["--site", SIGN]);
    assert_eq!((&repeated["found"], &repeated["left"]), (&repeated["left"], &repeated["found"]));
    let recent: Vec<_> = parts().into_iter().filter(|part| part.site == SIGN).skip(3).collect();
    folder.import(&recent);
    folder.settle();
    let process = folder.start();
    let counted = process.json(&format!("/v1/summary?site=zulu&{}", whole_range()));
    assert_eq!((&counted["streams"], &counted["open"]), (&json!(59), &json!(1)), "{counted}");
    let books = balances(&process);
    assert_eq!(books["reports"]["by_result"], json!({ "new": 300, "deleted": 240 }));
}

#[test]
fn reports_that_only_the_journal_has_are_deleted_too() {
    let folder = Folder::with(&parts()[..2]);
    let mut process = folder.start();
    let reports: Vec<_> = (0..50).map(|n| stream(90_000 + n, 100.0)).collect();
    for key in ["zulu-key", "blog-key"] {
        let body = json!({ "reports": reports }).to_string();
        assert_eq!(process.connect().ask(&crate::running::post_to(key, &body)).unwrap().0, 204);
    }
    // Killed before the next flush, or after it.
    process.child.kill().unwrap();
    process.child.wait().unwrap();
    folder.deleted(&["--site", SIGN]);
    assert_eq!(folder.files_with(SIGN), Vec::<PathBuf>::new());
    let process = folder.start();
    let of = |site: &str| process.json(&format!("/v1/summary?range=1h&site={site}"))["streams"].clone();
    assert_eq!(of(SIGN), 0);
    balances(&process);
}

#[test]
fn an_unreadable_file_is_named_and_nothing_is_deleted() {
    let folder = Folder::with(&parts());
    let streams = fs::read_dir(folder.data().join("streams")).unwrap().map(|entry| entry.unwrap().path());
    let file = streams.min().unwrap();
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let before = folder.number("SELECT count(*) FROM windows");
    let output = folder.delete(&["--site", SIGN, "--yes"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(file.to_str().unwrap()), "{said}");
    assert_eq!(folder.number("SELECT count(*) FROM windows"), before);
    fs::write(&file, &bytes).unwrap();
    folder.deleted(&["--site", SIGN]);
}
