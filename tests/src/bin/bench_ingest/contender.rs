//! One server under test, and what it managed: requests per second, latencies, processor time, memory.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Result;
use tests::{Server, Usage};
use tokio::process::Command;

use crate::client::{Beacons, SERIES, send_all, send_at_rate};

/// A running server and its turns so far.
pub(crate) struct Contender {
    name: &'static str,
    address: String,
    server: Server,
    next_id: u64,
    turns: Vec<Turn>,
}

/// When a request is sent.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// When the one before it on its connection was answered; there are so many connections.
    AnswerByAnswer(u64),
    /// When it is due, whatever became of those before.
    ReportsPerSecond(u32),
}

struct Turn {
    reports: usize,
    took: Duration,
    cpu: Duration,
    /// From low to high.
    latencies: Vec<Duration>,
}

/// What a server's turns come to: the middle turn of each figure.
pub(crate) struct Figures {
    pub(crate) name: &'static str,
    pub(crate) requests_per_second: f64,
    pub(crate) reports_per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Of the server's process, kernel time included.
    pub(crate) cpu_us_per_request: f64,
    /// Most memory that the process ever held.
    pub(crate) peak_rss_mb: f64,
}

impl Contender {
    pub(crate) async fn start(name: &'static str, command: Command) -> Result<Self> {
        let address = |line: &str| Some(line.split("http://").nth(1)?.trim().to_owned());
        let (server, address) = Server::start(command, address).await?;
        Ok(Self { name, address, server, next_id: 0, turns: Vec::new() })
    }

    /// Every connection sends for the length of a turn, as `pace` says.
    pub(crate) async fn turn(&mut self, beacons: Beacons, pace: Pace, length: Duration) -> Result<()> {
        let cpu = self.usage()?.cpu;
        let start = Instant::now();
        let (address, first_id) = (&self.address, self.next_id);
        let mut latencies = match pace {
            Pace::AnswerByAnswer(connections) => {
                send_all(address, beacons, connections, first_id, length).await?
            }
            Pace::ReportsPerSecond(rate) => send_at_rate(address, beacons, first_id, rate, length).await?,
        };
        let took = start.elapsed();
        self.next_id += 1 << 32;
        latencies.sort_unstable();
        let reports = latencies.len() * beacons.reports();
        self.turns.push(Turn { reports, took, cpu: self.usage()?.cpu - cpu, latencies });
        Ok(())
    }

    /// What the turns come to, which begin anew.
    pub(crate) fn figures(&mut self) -> Result<Figures> {
        let middle = |of: &dyn Fn(&Turn) -> f64| {
            let mut values: Vec<_> = self.turns.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let quantile_ms = |turn: &Turn, percent: usize| {
            turn.latencies[turn.latencies.len() * percent / 100].as_secs_f64() * 1_000.0
        };
        let figures = Figures {
            name: self.name,
            requests_per_second: middle(&|turn| turn.latencies.len() as f64 / turn.took.as_secs_f64()),
            reports_per_second: middle(&|turn| turn.reports as f64 / turn.took.as_secs_f64()),
            p50_ms: middle(&|turn| quantile_ms(turn, 50)),
            p99_ms: middle(&|turn| quantile_ms(turn, 99)),
            cpu_us_per_request: middle(&|turn| turn.cpu.as_secs_f64() * 1e6 / turn.latencies.len() as f64),
            peak_rss_mb: self.usage()?.peak_rss_mb,
        };
        self.turns.clear();
        Ok(figures)
    }

    fn usage(&self) -> Result<Usage> {
        Usage::of(self.server.pid())
    }
}

pub(crate) fn bare() -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--bare");
    Ok(command)
}

/// A collector on a folder of its own, with room for all series.
pub(crate) fn collector(program: &Path, folder: &Path, name: &str, sync: &str) -> Result<Command> {
    let config = folder.join(format!("{name}.toml"));
    let most = SERIES * 2;
    fs::write(
        &config,
        format!(
            "[journal]\nsync = \"{sync}\"\n[ingest]\ntrust_loopback = true\n\
             [limits]\nmodels = {most}\nseries = {most}\n"
        ),
    )?;
    let mut command = Command::new(program);
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(config);
    command.arg("--data").arg(folder.join(name)).stderr(Stdio::null());
    Ok(command)
}
