//! What a process takes: processor time and memory, as the kernel accounts for them.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// What a process has taken so far.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// Processor time of all its threads, kernel time included, in steps of 10 ms.
    pub cpu: Duration,
    /// Memory that it holds now, in MB.
    pub rss_mb: f64,
    /// Most memory that it ever held, in MB.
    pub peak_rss_mb: f64,
}

impl Usage {
    /// Of a running process.
    ///
    /// # Errors
    /// When it does not run any more.
    pub fn of(pid: Option<u32>) -> Result<Self> {
        let pid = pid.context("the process still runs")?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name may hold anything, and ends with the last bracket.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: u64 = fields.skip(11).take(2).map(|ticks| ticks.parse().unwrap_or(0)).sum();
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let megabytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).context("memory is told")?;
            let kib = line.split_whitespace().nth(1).context("a number of kB")?.parse::<f64>()?;
            Ok::<_, anyhow::Error>(kib * 1_024.0 / 1e6)
        };
        Ok(Self {
            cpu: Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND),
            rss_mb: megabytes("VmRSS")?,
            peak_rss_mb: megabytes("VmHWM")?,
        })
    }
}

/// `CLK_TCK`, which Linux has fixed for what `/proc` shows.
const TICKS_PER_SECOND: u64 = 100;
