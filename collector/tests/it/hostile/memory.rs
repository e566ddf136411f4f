//! The memory budget, configured and found in a cgroup: values as far apart as reports may have, while scrapes and
//! queries read them, and many series.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::cgroup::MemoryGroup;
use super::{Target, request};
use crate::harness::{TIMEOUT, far};

/// How a collector gets its budget.
enum Budget {
    /// `memory_bytes` of the configuration.
    Configured(u64),
    /// The limit of a cgroup.
    Detected(MemoryGroup, u64),
}

impl Budget {
    /// The limit of a cgroup. Where none can be made, the configuration has it.
    fn of_group(name: &str, memory_bytes: u64) -> Self {
        let group = MemoryGroup::of(name, memory_bytes);
        group.map_or(Self::Configured(memory_bytes), |group| Self::Detected(group, memory_bytes))
    }

    const fn bytes(&self) -> u64 {
        match self {
            Self::Configured(bytes) | Self::Detected(_, bytes) => *bytes,
        }
    }
}

impl Target {
    fn with_budget(budget: &Budget, sites: u64) -> Self {
        // The 90 models and 22 providers come from this machine.
        // A beacon whose answer would come too late is counted all the same, and would be one too many.
        let mut config = "[ingest]\ntrust_loopback = true\n[journal]\nwait_seconds = 60\n\
            [limits]\nmodels = 120\nproviders = 30\n"
            .to_owned();
        for n in 0..sites {
            writeln!(config, "[[sites]]\nname = 'site-{n}'\nkeys = ['key-{n}']\norigins = ['loopback']")
                .unwrap();
        }
        let target = match budget {
            Budget::Configured(bytes) => Self::start(&format!("memory_bytes = {bytes}\n{config}")),
            Budget::Detected(group, _) => Self::start_as(&config, |command| group.within(&command)),
        };
        let memory = target.process.json("/readyz")["memory"].clone();
        assert_eq!(memory["budget_bytes"], budget.bytes(), "{memory}");
        target
    }

    /// Attacks, and checks that the process stays within its budget and that the kernel kills none.
    fn stays_within(&self, budget: &Budget, attack: impl FnOnce(&AtomicBool)) {
        let is_over = AtomicBool::new(false);
        let peak = thread::scope(|scope| {
            let samples = scope.spawn(|| self.peak_private_bytes(&is_over));
            let over = Over(&is_over);
            attack(&is_over);
            drop(over);
            samples.join().unwrap()
        });
        println!("at most {peak} of {} bytes", budget.bytes());
        assert!(peak < budget.bytes(), "{peak} of {} bytes", budget.bytes());
        if let Budget::Detected(group, _) = budget {
            let (kills, peak) = group.kills_and_peak();
            println!("the group had at most {peak:?} bytes, with pages of files");
            assert_eq!(kills, 0, "the kernel has killed the collector");
        }
        assert_eq!(self.process.get("/readyz").0, 200);
    }

    /// Most private memory of the process, in bytes, of many samples. The kernel drops pages of files before it kills,
    /// and its own peak of a process includes them.
    fn peak_private_bytes(&self, is_over: &AtomicBool) -> u64 {
        let path = format!("/proc/{}/status", self.process.child.id());
        let mut peak = 0;
        while !is_over.load(Ordering::Relaxed) {
            let status = std::fs::read_to_string(&path).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
            let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
            peak = peak.max(kib * 1_024);
            thread::sleep(BETWEEN_SAMPLES);
        }
        peak
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

/// These attacks run one at a time: each takes all cores, and several would leave none to the other tests.
fn alone() -> MutexGuard<'static, ()> {
    static ATTACK: Mutex<()> = Mutex::new(());
    ATTACK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends the shortest and the longest values to each series, of which a batch has 100, and reads all the while.
fn far_values_fit(budget: &Budget, sites: u64, batches: u64) {
    let _alone = alone();
    let target = Target::with_budget(budget, sites);
    let sent = 2 * sites * batches;
    let beacons = (0..sent).map(|n| {
        let (end, site, batch) = (n / sites % 2, n % sites, n / sites / 2);
        let ms = [0.001, 80_000_000.0][end as usize];
        let reports = (0..100).map(|k: u64| far(ms, (n * 100 + k).into(), (batch * 100 + k) as usize));
        let reports: Vec<_> = reports.collect();
        let line = format!("POST /v1/beacons?site=key-{site} HTTP/1.1");
        request(&line, "", json!({ "reports": reports }).to_string())
    });
    target.stays_within(budget, |is_over| {
        thread::scope(|scope| {
            let over = Over(is_over);
            for path in ["/metrics", "/v1/summary", "/v1/breakdown?by=model"] {
                scope.spawn(|| target.is_read(path, is_over));
            }
            let answers = target.floods_at_once(beacons);
            let of =
                |status| answers.iter().find(|(of, _)| *of == status).map_or(0, |(_, count)| *count as u64);
            assert_eq!(of(204) + of(503), sent, "{answers:?}");
            let books = target.counts_all(of(204) * 100);
            drop(over);
            assert_eq!(
                books["beacons"]["refused"]["memory_limited"].as_u64().unwrap_or(0),
                of(503),
                "{books}"
            );
            assert_eq!(books["reports"]["unaccounted"], 0, "{books}");
            println!("{sites} sites: {}", books["beacons"]);
        });
    });
}

/// Sends one stream to each of 10,800 series.
fn ten_thousand_series_fit(budget: &Budget) {
    let _alone = alone();
    let sites = 6;
    let target = Target::with_budget(budget, sites);
    let beacons = (0..sites * 18).map(|n| {
        let (site, batch) = (n % sites, n / sites);
        let reports = (0..100).map(|k: u64| far(100.0, (n * 100 + k).into(), (batch * 100 + k) as usize));
        let line = format!("POST /v1/beacons?site=key-{site} HTTP/1.1");
        request(&line, "", json!({ "reports": reports.collect::<Vec<_>>() }).to_string())
    });
    target.stays_within(budget, |_| {
        assert_eq!(target.floods_at_once(beacons), [(204, 108)]);
        target.counts_all(10_800);
        let (status, metrics) = target.process.get("/metrics");
        assert_eq!(status, 200);
        assert!(metrics.contains("\nllm_rum_omitted_series 9800\n"), "the other 1,000 are in the answer");
        assert_eq!(metrics.matches("\nllm_requests_total{").count(), 1_000);
        assert!(metrics.contains("\nllm_rum_metrics_cut{reason=\"bytes\"} 0\n"), "{} bytes", metrics.len());
        assert!(metrics.contains(&format!("\nllm_rum_memory_budget_bytes {}\n", budget.bytes())));
        let memory = target.process.json("/readyz")["memory"].clone();
        assert!(
            memory["used_bytes"].as_u64().is_some_and(|used| used > MIB && used < budget.bytes()),
            "{memory}"
        );
    });
}

#[test]
fn far_values_of_a_site_fit_into_256_mib() {
    far_values_fit(&Budget::Configured(256 * MIB), 1, 19);
}

#[test]
fn far_values_of_four_sites_fit_into_256_mib() {
    far_values_fit(&Budget::Configured(256 * MIB), 4, 14);
}

#[test]
fn far_values_of_four_sites_fit_into_512_mib() {
    far_values_fit(&Budget::Configured(512 * MIB), 4, 14);
}

#[test]
fn ten_thousand_series_fit_into_256_mib_without_a_refusal() {
    ten_thousand_series_fit(&Budget::Configured(256 * MIB));
}

#[test]
fn far_values_of_a_site_fit_into_a_cgroup_of_256_mib() {
    far_values_fit(&Budget::of_group("far-values-256", 256 * MIB), 1, 19);
}

#[test]
fn far_values_of_four_sites_fit_into_a_cgroup_of_512_mib() {
    far_values_fit(&Budget::of_group("far-values-512", 512 * MIB), 4, 14);
}

#[test]
fn ten_thousand_series_fit_into_a_cgroup_of_256_mib() {
    ten_thousand_series_fit(&Budget::of_group("series-256", 256 * MIB));
}

#[test]
fn ten_thousand_series_fit_into_a_cgroup_of_512_mib() {
    ten_thousand_series_fit(&Budget::of_group("series-512", 512 * MIB));
}

/// Ends what runs beside an attack, also if the attack fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

const MIB: u64 = 1 << 20;

const BETWEEN_SAMPLES: Duration = Duration::from_millis(5);
