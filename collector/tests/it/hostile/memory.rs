//! The memory budget: values as far apart as reports may have, while scrapes and queries read them, and many series.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Target, request};
use crate::harness::{TIMEOUT, far};

impl Target {
    fn with_budget(memory_bytes: u64, sites: u64) -> Self {
        // The 90 models and 22 providers come from this machine.
        let limits = "[limits]\nmodels = 120\nproviders = 30\n";
        let mut config = format!("memory_bytes = {memory_bytes}\n{limits}");
        for n in 0..sites {
            writeln!(config, "[[sites]]\nname = 'site-{n}'\nkeys = ['key-{n}']\norigins = ['loopback']")
                .unwrap();
        }
        Self::start(&config)
    }

    /// Most private memory that the process ever had, in bytes. The kernel drops pages of files before it kills.
    fn peak_private_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.child.id())).unwrap();
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        (kib("VmHWM:") - kib("RssFile:")) * 1_024
    }

    /// Reads until all is sent. Each answer is whole, or says that the memory budget does not allow it.
    fn is_read(&self, path: &str, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            let (status, body) = self.process.get(path);
            assert!(
                status == 200 || status == 503 && body.contains("memory_limited"),
                "{path}: {status} {body}"
            );
        }
    }

    /// The accounting once all reports are counted. The answer is refused while memory is
    /// short, and each report changes 130 kB: a slow machine takes minutes.
    fn counts_all(&self, reports: u64) -> Value {
        let (mut counted, mut last) = (0, Instant::now());
        while last.elapsed() < 10 * TIMEOUT {
            let books: Value = serde_json::from_str(&self.process.get("/v1/accounting").1).unwrap();
            let now = books["streams"]["counted"].as_u64().unwrap_or_default();
            if now == reports {
                return books;
            }
            if now > counted {
                (counted, last) = (now, Instant::now());
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("{counted} of {reports} reports were counted");
    }
}

/// Sends the shortest and the longest values to each series, of which a batch has 100, and reads all the while.
fn far_values_fit(memory_bytes: u64, sites: u64, batches: u64) {
    let target = Target::with_budget(memory_bytes, sites);
    let sent = 2 * sites * batches;
    let beacons = (0..sent).map(|n| {
        let (end, site, batch) = (n / sites % 2, n % sites, n / sites / 2);
        let ms = [0.001, 80_000_000.0][end as usize];
        let reports = (0..100).map(|k: u64| far(ms, (n * 100 + k).into(), (batch * 100 + k) as usize));
        let reports: Vec<_> = reports.collect();
        let line = format!("POST /v1/beacons?site=key-{site} HTTP/1.1");
        request(&line, "", json!({ "reports": reports }).to_string())
    });
    let is_over = AtomicBool::new(false);
    let books = thread::scope(|scope| {
        for path in ["/metrics", "/v1/summary", "/v1/breakdown?by=model"] {
            scope.spawn(|| target.is_read(path, &is_over));
        }
        let answers = target.floods_at_once(beacons);
        let of = |status| answers.iter().find(|(of, _)| *of == status).map_or(0, |(_, count)| *count as u64);
        assert_eq!(of(204) + of(503), sent, "{answers:?}");
        let books = target.counts_all(of(204) * 100);
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(books["beacons"]["refused"]["memory_limited"].as_u64().unwrap_or(0), of(503), "{books}");
        books
    });
    assert_eq!(books["reports"]["unaccounted"], 0, "{books}");
    let peak = target.peak_private_bytes();
    println!("{sites} sites: at most {peak} of {memory_bytes} bytes; {}", books["beacons"]);
    assert!(peak < memory_bytes, "{peak} of {memory_bytes} bytes");
}

#[test]
fn far_values_of_a_site_fit_into_256_mib() {
    far_values_fit(256 * MIB, 1, 19);
}

#[test]
fn ten_thousand_series_fit_into_256_mib_without_a_refusal() {
    let (memory_bytes, sites) = (256 * MIB, 6);
    let target = Target::with_budget(memory_bytes, sites);
    let beacons = (0..sites * 18).map(|n| {
        let (site, batch) = (n % sites, n / sites);
        let reports = (0..100).map(|k: u64| far(100.0, (n * 100 + k).into(), (batch * 100 + k) as usize));
        let line = format!("POST /v1/beacons?site=key-{site} HTTP/1.1");
        request(&line, "", json!({ "reports": reports.collect::<Vec<_>>() }).to_string())
    });
    assert_eq!(target.floods_at_once(beacons), [(204, 108)]);
    target.counts_all(10_800);
    let (status, metrics) = target.process.get("/metrics");
    assert_eq!(status, 200);
    assert!(metrics.contains("\nllm_rum_omitted_series 9800\n"), "the other 1,000 are in the answer");
    assert!(metrics.contains(&format!("\nllm_rum_memory_budget_bytes {memory_bytes}\n")));
    let memory = target.process.json("/readyz")["memory"].clone();
    assert_eq!(memory["budget_bytes"], memory_bytes);
    assert!(memory["used_bytes"].as_u64().is_some_and(|used| used > MIB && used < memory_bytes), "{memory}");
    let peak = target.peak_private_bytes();
    assert!(peak < memory_bytes, "{peak} of {memory_bytes} bytes");
}

const MIB: u64 = 1 << 20;
