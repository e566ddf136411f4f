//! Limits of an answer of `/metrics`: bytes, time, and memory while a client does not read it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::harness::{TIMEOUT, TestCollector, far, stream};
use crate::running::Process;

const NOT_CUT: &str = "\nllm_rum_metrics_cut{reason=\"bytes\"} 0\nllm_rum_metrics_cut{reason=\"time\"} 0\n";

#[tokio::test]
async fn an_ordinary_answer_says_that_it_is_whole() {
    let collector = TestCollector::new();
    collector.report(&[stream(1, 100.0)]).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 1).await;
    let metrics = collector.get("/metrics").await.body;
    assert!(metrics.ends_with(NOT_CUT), "{metrics}");
    for reason in ["bytes", "time"] {
        assert!(metrics.contains(&format!("\nllm_rum_metrics_cuts_total{{reason=\"{reason}\"}} 0\n")));
    }
    let place = |name: &str| metrics.find(&format!("# TYPE {name} ")).unwrap();
    let (own, counters) = (place("llm_rum_beacons_total"), place("llm_rum_streams_total"));
    assert!(own < counters && counters < place("llm_first_token_duration_seconds"));
}

#[tokio::test]
async fn an_answer_over_the_limit_of_bytes_says_so() {
    let collector = TestCollector::with(|config| config.limits.metrics_bytes = 20_000);
    let reports: Vec<_> = (0..20).map(|k| far(100.0, k as u128, k)).collect();
    collector.report(&reports).await;
    collector.until("/v1/summary", |summary| summary["streams"] == 20).await;
    let metrics = collector.get("/metrics").await.body;
    let end = "\nllm_rum_metrics_cut{reason=\"bytes\"} 1\nllm_rum_metrics_cut{reason=\"time\"} 0\n";
    assert!(metrics.ends_with(end), "{metrics}");
    assert_eq!(metrics.matches("\nllm_requests_total{").count(), 20, "counters come before histograms");
    assert!(metrics.contains("\nllm_rum_beacons_total{result=\"accepted\"} 1\n"));
    let of = |part: &str| metrics.lines().filter(|line| line.contains(part)).count();
    assert_eq!((of("le=\"+Inf\""), of("_sum{")), (of("_count{"), of("_count{")), "histograms are whole");
    assert!(of("_count{") < 20 * 13, "most histograms are missing");
    let asked = Instant::now();
    while collector.metric("llm_rum_metrics_cuts_total{reason=\"bytes\"}").await == 0.0 {
        assert!(asked.elapsed() < TIMEOUT, "the cut is never counted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A scraper that has read nothing but the status.
struct Stalled {
    connection: TcpStream,
    read: Vec<u8>,
}

impl Stalled {
    fn ask(process: &Process, timeout_seconds: u32) -> Self {
        let mut connection = TcpStream::connect(process.address).unwrap();
        connection.set_read_timeout(Some(TIMEOUT)).unwrap();
        let request = format!(
            "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             x-prometheus-scrape-timeout-seconds: {timeout_seconds}\r\n\r\n"
        );
        connection.write_all(request.as_bytes()).unwrap();
        let mut read = vec![0; 12];
        connection.read_exact(&mut read).unwrap();
        Self { connection, read }
    }

    fn status(&self) -> &str {
        std::str::from_utf8(&self.read[9..]).unwrap()
    }

    fn rest(mut self) -> String {
        self.connection.read_to_end(&mut self.read).unwrap();
        String::from_utf8(self.read).unwrap()
    }
}

/// A collector whose answer is longer than all buffers on the way.
fn with_a_thousand_series() -> (Process, TempDir) {
    let folder = TempDir::new().unwrap();
    let config = folder.path().join("llm-rum.toml");
    fs::write(&config, "[limits]\nmodels = 120\nproviders = 30\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(config);
    let process = Process::spawn(command.arg("--data").arg(folder.path().join("data")));
    let mut client = process.connect();
    for batch in 0..10 {
        let reports = (0..100).map(|k| batch * 100 + k).map(|k| far(100.0, k as u128, k));
        assert_eq!(client.reports(&reports.collect::<Vec<_>>()).unwrap().0, 204);
    }
    process.until("/v1/summary", |summary| summary["streams"] == 1_000);
    (process, folder)
}

#[test]
fn scrapers_that_do_not_read_hold_little_memory() {
    let (process, _folder) = with_a_thousand_series();
    let whole = process.get("/metrics").1;
    assert!(whole.ends_with(NOT_CUT) && whole.matches("\nllm_requests_total{").count() == 1_000);

    let used = || process.json("/readyz")["memory"]["used_bytes"].as_u64().unwrap();
    let before = used();
    let stalled = [(); 4].map(|()| Stalled::ask(&process, 60));
    assert!(stalled.iter().all(|scraper| scraper.status() == "200"));
    let fifth = Stalled::ask(&process, 1);
    assert_eq!(fifth.status(), "503", "four answers at a time");
    assert!(fifth.rest().contains("\"overloaded\""));
    let held = used().saturating_sub(before);
    println!("four answers of {} bytes hold {held} bytes", whole.len());
    assert!(held < whole.len() as u64, "{held} bytes, and an answer has {}", whole.len());
    drop(stalled);
    assert!(
        process.get("/metrics").1.ends_with(NOT_CUT),
        "others have their turn once the scrapers are gone"
    );
}

#[test]
fn an_answer_that_is_not_read_in_time_says_so() {
    let (process, _folder) = with_a_thousand_series();
    let stalled = Stalled::ask(&process, 1);
    let counted = "\nllm_rum_metrics_cuts_total{reason=\"time\"} 1\n";
    let begun = Instant::now();
    while !process.get("/metrics").1.contains(counted) {
        assert!(begun.elapsed() < TIMEOUT, "the cut is never counted");
    }
    let answer = stalled.rest();
    assert!(answer.contains("\nllm_rum_metrics_cut{reason=\"time\"} 1\n"));
    assert!(answer.matches("\nllm_rum_server_queue_seconds_count{").count() < 1_000);
}
