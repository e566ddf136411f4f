//! The real binary: how it starts, refuses to start and stops.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::harness::{TIMEOUT, TestCollector, stream};
use crate::running::{Process, post};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_llm-rum")).args(arguments).output().unwrap()
}

#[test]
fn sigterm_lets_a_request_finish_counts_it_and_exits_well() {
    let folder = TempDir::new().unwrap();
    let mut process = Process::start(folder.path());
    let request = post(&json!({ "reports": [stream(1, 100.0)] }).to_string());
    let (head, body) = request.split_at(request.find("\r\n\r\n").unwrap());
    let mut client = process.connect();
    // The collector says when it is waiting for the body.
    let head = format!("{head}\r\nexpect: 100-continue\r\n\r\n");
    assert_eq!(client.ask(&head).unwrap().0, 100);
    process.signal("TERM");
    let told = Instant::now();
    while TcpStream::connect(process.address).is_ok() {
        assert!(told.elapsed() < TIMEOUT, "the door stays open");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(client.ask(body.trim_start()).unwrap().0, 204);
    assert!(process.child.wait().unwrap().success());
    let process = Process::start(folder.path());
    assert_eq!(process.json("/v1/summary")["streams"], 1);
}

#[test]
fn a_request_that_outlasts_the_drain_does_not_block_a_stop() {
    let folder = TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.path());
    let mut process = Process::spawn(command.env("LLM_RUM__INGEST__BODY_SECONDS", "600"));
    let mut client = process.connect();
    let head = post("{}").replace("\r\n\r\n{}", "\r\nexpect: 100-continue\r\n\r\n");
    assert_eq!(client.ask(&head).unwrap().0, 100);
    process.signal("TERM");
    let told = Instant::now();
    assert!(process.child.wait().unwrap().success());
    assert!(told.elapsed() < TIMEOUT, "it took {:?}", told.elapsed());
    assert!(client.answer().is_err(), "the body never came");
}

/// A load balancer asks `/readyz` now and then, each time on a new connection.
#[test]
#[cfg(target_os = "linux")]
fn huge_pages_are_off_for_the_process() {
    let folder = TempDir::new().unwrap();
    let process = Process::start(folder.path());
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.child.id())).unwrap();
    assert!(status.contains("\nTHP_enabled:\t0\n"), "{status}");
}

#[test]
fn readiness_fails_before_a_stop_while_beacons_are_accepted() {
    let folder = TempDir::new().unwrap();
    let serve = |notice: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.path());
        Process::spawn(command.env("LLM_RUM__INGEST__NOTICE_SECONDS", notice))
    };
    let mut process = serve("600");
    process.signal("TERM");
    let told = Instant::now();
    while process.get("/readyz").0 == 200 && told.elapsed() < TIMEOUT {
        thread::sleep(Duration::from_millis(5));
    }
    let (status, ready) = process.get("/readyz");
    assert_eq!(status, 503);
    assert!(ready.contains("\"draining\":true"), "{ready}");
    assert_eq!(process.connect().report(1).unwrap().0, 204);
    // Who asks a second time does not wait for it.
    process.signal("TERM");
    assert!(process.child.wait().unwrap().success());
    let mut process = serve("1");
    assert_eq!(process.json("/v1/summary")["streams"], 1);
    process.signal("TERM");
    assert!(process.child.wait().unwrap().success(), "after a second");
}

/// Whoever is told to stop before it listens for signals is killed with its requests.
#[test]
fn a_collector_that_says_it_listens_can_be_stopped() {
    let folder = TempDir::new().unwrap();
    let process = Process::start(folder.path());
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.child.id())).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
    for (name, number) in [("SIGINT", 2), ("SIGTERM", 15)] {
        assert!(caught & (1 << (number - 1)) != 0, "{name}: {status}");
    }
}

#[test]
fn a_second_collector_on_the_same_folder_is_refused() {
    let folder = TempDir::new().unwrap();
    let process = Process::start(folder.path());
    let second = run(&["serve", "--listen", "127.0.0.1:0", "--data", folder.path().to_str().unwrap()]);
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("another collector uses the folder"));
    drop(process);
}

#[test]
fn the_collector_refuses_the_network_without_a_token() {
    let folder = TempDir::new().unwrap();
    let refused = run(&["serve", "--listen", "0.0.0.0:0", "--data", folder.path().to_str().unwrap()]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("add a `[[tokens]]` table"));
}

#[test]
fn a_configuration_is_checked() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("llm-rum.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let mut check = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
        check.arg("check-config").arg(&file).env("RUST_BACKTRACE", "1").output().unwrap()
    };
    assert!(
        check("listen = '0.0.0.0:8787'\n[[tokens]]\nname = 'a'\ntoken = '0123456789abcdef'").status.success()
    );
    let bad = check("listen = '127.0.0.1:8787'\n[limits]\nmodles = 3\n");
    assert!(!bad.status.success());
    let said = String::from_utf8_lossy(&bad.stderr);
    assert!(said.contains("llm-rum.toml:3: `limits.modles` is not a known field: write `models`"), "{said}");
    assert_eq!(said.lines().count(), 1, "what is wrong, and not where the program found it: {said}");
}

#[test]
fn the_health_check_reflects_the_state_of_the_collector() {
    let folder = TempDir::new().unwrap();
    let process = Process::start(folder.path());
    let url = format!("http://{}", process.address);
    assert!(run(&["healthcheck", "--url", &url]).status.success());
    drop(process);
    assert!(!run(&["healthcheck", "--url", &url]).status.success());
}

#[test]
fn a_request_head_that_never_ends_is_aborted() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("llm-rum.toml");
    std::fs::write(&file, "[ingest]\nhead_seconds = 1").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    command.arg("--data").arg(folder.path().join("data"));
    let process = Process::spawn(&mut command);
    let mut client = process.connect();
    client.stream.get_mut().write_all(b"GET /healthz HTTP/1.1\r\nhost: ").unwrap();
    let mut rest = Vec::new();
    client.stream.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&rest));
}

#[test]
fn a_sender_of_ten_megabytes_reads_why_it_was_refused() {
    let folder = TempDir::new().unwrap();
    let process = Process::start(folder.path());
    let (status, body) = process.connect().ask(&post(&" ".repeat(10_000_000))).unwrap();
    assert_eq!(status, 413, "{body}");
    assert!(body.contains("body_too_large"));
}

#[tokio::test]
async fn while_the_store_is_locked_beacons_are_kept_and_counted_later() {
    let collector = TestCollector::new();
    collector.report(&[stream(1, 100.0)]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 1).await;
    let other = rusqlite::Connection::open(collector.config.data.join("llm-rum.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    collector.report(&[stream(2, 100.0)]).await;
    let ready = async || collector.get("/readyz").await;
    let becomes = async |status: u16| {
        let begun = Instant::now();
        while ready().await.status.as_u16() != status {
            assert!(begun.elapsed() < TIMEOUT, "/readyz does not answer {status}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    becomes(503).await;
    assert!(ready().await.body.contains("unavailable"));
    assert_eq!(collector.json("/v1/summary").await["streams"], 1, "questions are answered all the while");
    collector.report(&[stream(3, 100.0)]).await;
    other.execute_batch("ROLLBACK").unwrap();
    becomes(200).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 3).await;
}

/// A container's environment may name a proxy, for what it loads from elsewhere.
#[test]
fn requests_to_clickhouse_ignore_the_proxy_of_the_environment() {
    let folder = TempDir::new().unwrap();
    let (tell, told) = mpsc::channel();
    let listen = |name| {
        let (listener, tell) = (TcpListener::bind("127.0.0.1:0").unwrap(), tell.clone());
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || listener.accept().map(|_| tell.send(name)));
        url
    };
    let (clickhouse, proxy) = (listen("ClickHouse"), listen("the proxy"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.path());
    command.env("LLM_RUM__STORE__CLICKHOUSE__URL", clickhouse);
    command.env_remove("NO_PROXY").env_remove("no_proxy");
    command.envs(["HTTP_PROXY", "http_proxy", "ALL_PROXY"].map(|name| (name, &proxy)));
    let process = Process::spawn(&mut command);
    assert_eq!(told.recv_timeout(TIMEOUT), Ok("ClickHouse"));
    drop(process);
}
