//! Countries: from a proxy's header or a file of networks into windows, filters and groups, and nowhere else.

mod database;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use database::database;

use crate::harness::{TIMEOUT, stream};
use crate::running::{Process, post};

const BEHIND_A_PROXY: &str = "[ingest]\nproxies = ['127.0.0.0/8']\nclient_header = 'x-forwarded-for'\n";

fn start(folder: &Path, config: &str) -> Process {
    let file = folder.join("llm-rum.toml");
    fs::write(&file, config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    Process::spawn(command.arg("--data").arg(folder.join("data")))
}

/// Sends one stream each with these header lines.
fn send(process: &Process, first: u128, lines: &[&str]) {
    let mut client = process.connect();
    for (id, line) in (first..).zip(lines) {
        let request = post(&json!({ "reports": [stream(id, 100.0)] }).to_string());
        let request = request.replacen("\r\n", &format!("\r\n{line}\r\n"), 1);
        assert_eq!(client.ask(&request).unwrap(), (204, String::new()), "{line}");
    }
}

/// Streams by country, once so many are counted.
fn by_country(process: &Process, streams: u64) -> BTreeMap<String, u64> {
    process.until("/v1/summary", |summary| summary["streams"] == streams);
    let groups = process.json("/v1/breakdown?by=country")["groups"].clone();
    let count =
        |group: &Value| (group["value"].as_str().unwrap().to_owned(), group["streams"].as_u64().unwrap());
    groups.as_array().unwrap().iter().map(count).collect()
}

fn expected(groups: &[(&str, u64)]) -> BTreeMap<String, u64> {
    groups.iter().map(|(country, streams)| ((*country).to_owned(), *streams)).collect()
}

#[test]
fn a_proxys_header_gives_a_valid_country_or_unknown() {
    let folder = TempDir::new().unwrap();
    let config = format!("{BEHIND_A_PROXY}[country]\nheader = 'CF-IPCountry'\n");
    let mut process = start(folder.path(), &config);
    let lines = ["DE", "de", "FR", "XX", "T1", "Germany", "", "\u{1f1e9}\u{1f1ea}"];
    send(&process, 1, &lines.map(|code| format!("cf-ipcountry: {code}")).each_ref().map(String::as_str));
    let all = expected(&[("DE", 2), ("FR", 1), ("unknown", 5)]);
    assert_eq!(by_country(&process, 8), all);
    for (filter, streams) in [
        ("country=DE", 2),
        ("country=unknown", 5),
        ("country=IT", 0),
        ("country=FR&model=gpt-5", 1),
        ("model=gpt-5", 8),
    ] {
        assert_eq!(process.json(&format!("/v1/summary?{filter}"))["streams"], streams, "{filter}");
    }
    let listed = process.json("/v1/streams?country=FR")["streams"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["id"], format!("{:032x}", 3));
    let countries = |path: &str| {
        let listed = process.json(path)["streams"].clone();
        let listed = listed.as_array().unwrap().iter();
        let mut told: Vec<_> = listed.map(|stream| stream["country"].as_str().unwrap().to_owned()).collect();
        told.sort_unstable();
        told
    };
    let all = ["DE", "DE", "FR", "unknown", "unknown", "unknown", "unknown", "unknown"];
    assert_eq!(countries("/v1/streams"), all);
    assert_eq!(countries("/v1/streams?sample=uniform"), all);
    assert_eq!(process.json(&format!("/v1/streams/{:032x}", 3))["country"], "FR");
    let metrics = process.get("/metrics").1;
    assert!(
        !metrics.contains("country=") && !metrics.contains("\"DE\""),
        "Prometheus is not told of countries"
    );
    let total = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
        line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok())
    };
    assert_eq!(total("llm_requests_total{"), Some(8.0), "all countries are one series: {metrics}");
    assert_eq!(total("llm_tpot_seconds{"), Some(0.04), "{metrics}");

    // What the journal alone holds is counted again as it was.
    send(&process, 9, &["cf-ipcountry: FR", "cf-ipcountry: IT"]);
    process.signal("KILL");
    process.child.wait().unwrap();
    let process = start(folder.path(), &config);
    assert_eq!(by_country(&process, 10), expected(&[("DE", 2), ("FR", 2), ("IT", 1), ("unknown", 5)]));
}

#[test]
fn the_country_header_is_ignored_unless_a_proxy_sends_it() {
    let folder = TempDir::new().unwrap();
    let config = "[ingest]\nproxies = ['10.0.0.0/8']\n[country]\nheader = 'CF-IPCountry'\n";
    let process = start(folder.path(), config);
    send(&process, 1, &["cf-ipcountry: DE"]);
    assert_eq!(by_country(&process, 1), expected(&[("unknown", 1)]));
}

#[test]
fn a_file_says_the_country_of_the_clients_network() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("countries.mmdb");
    let networks = [
        ("192.0.2.0", 24, "NL"),
        ("198.51.100.0", 23, "BR"),
        ("2001:db8::", 32, "JP"),
        ("203.0.113.0", 24, "XX"),
    ];
    fs::write(&file, database(&networks)).unwrap();
    let config = format!("{BEHIND_A_PROXY}[country]\nmmdb = '{}'\n", file.display());
    let process = start(folder.path(), &config);
    let lines = [
        "192.0.2.7",
        "::ffff:192.0.2.99",
        "198.51.101.1",
        "2001:db8:77::1",
        "2001:db9::1",
        "203.0.113.1",
        "8.8.8.8",
        "nobody",
    ];
    send(&process, 1, &lines.map(|from| format!("x-forwarded-for: {from}")).each_ref().map(String::as_str));
    assert_eq!(by_country(&process, 8), expected(&[("NL", 2), ("BR", 1), ("JP", 1), ("unknown", 4)]));
    for kept in files_in(&folder.path().join("data")) {
        let bytes = fs::read(&kept).unwrap();
        for address in ["192.0.2", "2001:db8"] {
            assert!(!holds(&bytes, address.as_bytes()), "{address} in {}", kept.display());
        }
    }
}

/// Of a label's value in `/metrics`, which is about a second behind.
fn until_files(process: &Process, result: &str, count: u64) {
    let line = format!("llm_rum_country_files_total{{result=\"{result}\"}} {count}");
    let asked = Instant::now();
    while asked.elapsed() < TIMEOUT {
        if process.get("/metrics").1.lines().any(|found| found == line) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("never {line}");
}

#[test]
fn a_new_country_file_is_read_and_a_broken_one_is_ignored() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("countries.mmdb");
    let replace = |bytes: &[u8]| {
        let new = folder.path().join("new.mmdb");
        fs::write(&new, bytes).unwrap();
        fs::rename(new, &file).unwrap();
    };
    let of = |code| database(&[("192.0.2.0", 24, code)]);
    let ask = |process: &Process, id: u128| send(process, id, &["x-forwarded-for: 192.0.2.7"]);
    replace(&of("NL"));
    let config = format!("{BEHIND_A_PROXY}[country]\nmmdb = '{}'\nlook_seconds = 1\n", file.display());
    let mut process = start(folder.path(), &config);
    ask(&process, 1);
    replace(&of("BR"));
    until_files(&process, "read", 1);
    ask(&process, 2);
    replace(&of("JP")[..100]);
    until_files(&process, "broken", 1);
    ask(&process, 3);
    fs::remove_file(&file).unwrap();
    until_files(&process, "broken", 2);
    ask(&process, 4);
    assert_eq!(by_country(&process, 4), expected(&[("NL", 1), ("BR", 3)]));
    assert!(process.child.try_wait().unwrap().is_none());
    // The next start needs a good one, which its own check says.
    drop(process);
    replace(&of("JP"));
    let process = start(folder.path(), &config);
    ask(&process, 5);
    assert_eq!(by_country(&process, 5), expected(&[("NL", 1), ("BR", 3), ("JP", 1)]));
}

#[test]
fn a_file_without_countries_is_reported_before_the_start() {
    let folder = TempDir::new().unwrap();
    let broken = folder.path().join("broken.mmdb");
    let whole = database(&[("192.0.2.0", 24, "NL")]);
    fs::write(&broken, &whole[..whole.len() - 40]).unwrap();
    let file = folder.path().join("llm-rum.toml");
    let broken = broken.display().to_string();
    for (mmdb, problem) in [
        (broken.as_str(), format!("{broken} is not a valid MaxMind DB file")),
        ("/nowhere.mmdb", "cannot read /nowhere.mmdb".to_owned()),
    ] {
        fs::write(&file, format!("\n[country]\nmmdb = '{mmdb}'\n")).unwrap();
        for command in [&["check-config"][..], &["serve", "--listen", "127.0.0.1:0", "--config"]] {
            let mut run = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
            let run = run.args(command).arg(&file).current_dir(folder.path()).output().unwrap();
            let said = String::from_utf8_lossy(&run.stderr);
            assert!(!run.status.success(), "{said}");
            let expected = format!("llm-rum.toml:3: `country.mmdb` cannot be used: {problem}: ");
            assert!(said.contains(&expected), "{said}");
        }
    }
}

fn holds(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

fn files_in(folder: &Path) -> Vec<std::path::PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let paths = paths.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] });
    // The socket for deletions holds nothing.
    paths.filter(|path| path.is_file()).collect()
}
