//! The real binary: how it starts, refuses to start, dies and stops.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{TestCollector, stream};

/// A running binary, killed when dropped.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    pub(crate) fn start(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder);
        Self::spawn(&mut command)
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("llm-rum listening on http://").unwrap();
        Self { address: address.parse().unwrap(), child }
    }

    fn connect(&self) -> Client {
        Client::new(self.address)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.connect().ask(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).unwrap()
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path).1).unwrap()
    }

    pub(crate) fn until(&self, path: &str, wished: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..250 {
            let answer = self.json(path);
            if wished(&answer) {
                return answer;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("{path} never answered as wished: {}", self.json(path));
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// One connection, kept alive.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    fn ask(&mut self, request: &str) -> std::io::Result<(u16, String)> {
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.answer()
    }

    fn answer(&mut self) -> std::io::Result<(u16, String)> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let mut length = 0;
        while line != "\r\n" {
            line.clear();
            self.stream.read_line(&mut line)?;
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    fn report(&mut self, id: u128) -> std::io::Result<(u16, String)> {
        self.ask(&post(&json!({ "reports": [stream(id, 100.0)] }).to_string()))
    }
}

fn post(body: &str) -> String {
    let length = body.len();
    format!(
        "POST /v1/beacons?site=demo HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_llm-rum")).args(arguments).output().unwrap()
}

#[test]
fn kill_9_loses_nothing_that_was_answered_and_doubles_nothing() {
    let folder = TempDir::new().unwrap();
    let (answered, unanswered) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    for round in 0..3_u128 {
        let mut process = Process::start(folder.path());
        let count = AtomicUsize::new(0);
        thread::scope(|scope| {
            for worker in 0..4_u128 {
                let (answered, unanswered, count) = (&answered, &unanswered, &count);
                let mut client = process.connect();
                scope.spawn(move || {
                    for n in 0.. {
                        let id = (round << 64) | (worker << 32) | n;
                        match client.report(id) {
                            Ok((204, _)) => answered.lock().unwrap().push(id),
                            Ok(other) => panic!("{other:?}"),
                            Err(_) => return unanswered.lock().unwrap().push(id),
                        }
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            while count.load(Ordering::Relaxed) < 300 {
                thread::yield_now();
            }
            process.child.kill().unwrap();
        });
        process.child.wait().unwrap();
    }
    let (answered, unanswered) = (answered.into_inner().unwrap(), unanswered.into_inner().unwrap());
    let process = Process::start(folder.path());
    let streams = process.json("/v1/summary")["streams"].as_u64().unwrap() as usize;
    assert!((answered.len()..=answered.len() + unanswered.len()).contains(&streams), "{streams}");

    let mut client = process.connect();
    for id in answered.iter().chain(&unanswered) {
        assert_eq!(client.report(*id).unwrap().0, 204);
    }
    let all = answered.len() + unanswered.len();
    let reports = |metrics: &str, result: &str| -> usize {
        let start = format!("llm_rum_reports_total{{result=\"{result}\"}} ");
        metrics.lines().find_map(|line| line.strip_prefix(&start)?.parse().ok()).unwrap_or(0)
    };
    loop {
        let metrics = process.get("/metrics").1;
        let handled = reports(&metrics, "new") + reports(&metrics, "duplicate");
        if handled == streams + all {
            assert_eq!(reports(&metrics, "new"), all);
            break;
        }
        assert!(handled < streams + all, "{metrics}");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(process.json("/v1/summary")["outcomes"], json!({ "complete": all }));
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
    while TcpStream::connect(process.address).is_ok() {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(client.ask(body.trim_start()).unwrap().0, 204);
    assert!(process.child.wait().unwrap().success());
    let process = Process::start(folder.path());
    assert_eq!(process.json("/v1/summary")["streams"], 1);
}

#[test]
fn a_second_collector_on_the_same_folder_is_refused() {
    let folder = TempDir::new().unwrap();
    let process = Process::start(folder.path());
    let second = run(&["serve", "--listen", "127.0.0.1:0", "--data", folder.path().to_str().unwrap()]);
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("another collector works on"));
    drop(process);
}

#[test]
fn it_does_not_listen_to_the_network_without_a_token() {
    let folder = TempDir::new().unwrap();
    let refused = run(&["serve", "--listen", "0.0.0.0:0", "--data", folder.path().to_str().unwrap()]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("set `admin_token`"));
}

#[test]
fn a_configuration_is_checked() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("llm-rum.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        run(&["check-config", file.to_str().unwrap()])
    };
    assert!(check("admin_token = '0123456789abcdef'\nlisten = '0.0.0.0:8787'").status.success());
    let bad = check("listen = '127.0.0.1:8787'\n[limits]\nmodles = 3\n");
    assert!(!bad.status.success());
    let said = String::from_utf8_lossy(&bad.stderr);
    assert!(said.contains("llm-rum.toml:3: `limits.modles` does not exist: write `models`"), "{said}");
}

#[test]
fn health_is_what_the_collector_says() {
    let folder = TempDir::new().unwrap();
    let process = Process::start(folder.path());
    let url = format!("http://{}", process.address);
    assert!(run(&["healthcheck", "--url", &url]).status.success());
    drop(process);
    assert!(!run(&["healthcheck", "--url", &url]).status.success());
}

#[test]
fn a_head_that_never_ends_is_given_up() {
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
    while ready().await.status.as_u16() != 503 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(ready().await.body.contains("unavailable"));
    assert_eq!(collector.json("/v1/summary").await["streams"], 1, "questions are answered all the while");
    collector.report(&[stream(3, 100.0)]).await;
    other.execute_batch("ROLLBACK").unwrap();
    while ready().await.status.as_u16() != 200 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    collector.until("/v1/summary", |summary| summary["streams"] == 3).await;
}

/// A limit on file sizes stands in for a full disk: it needs no file system of its own.
#[test]
fn a_full_disk_refuses_beacons_until_there_is_space() {
    let folder = TempDir::new().unwrap();
    let mut command = Command::new("sh");
    let serve = format!(
        "trap '' XFSZ; ulimit -S -f 1000; exec {} serve --listen 127.0.0.1:0 --data {}",
        env!("CARGO_BIN_EXE_llm-rum"),
        folder.path().display()
    );
    let process = Process::spawn(command.args(["-c", &serve]));
    let mut client = process.connect();
    let mut answered = 0;
    let refused = loop {
        match client.report(answered).unwrap() {
            (204, _) => answered += 1,
            (status, body) => break (status, body),
        }
        assert!(answered < 100_000, "the limit did not bite");
    };
    assert_eq!(refused.0, 503, "{}", refused.1);
    assert!(refused.1.contains("storage_unavailable"));
    assert_eq!(process.get("/readyz").0, 503);
    assert_eq!(process.get("/healthz").0, 200);

    let pid = process.child.id().to_string();
    let raised = Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited:"]).status().unwrap();
    assert!(raised.success());
    while process.get("/readyz").0 != 200 {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(client.report(answered).unwrap().0, 204);
    process.until("/v1/summary", |summary| summary["streams"] == answered as u64 + 1);
}
