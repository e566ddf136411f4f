//! `cargo xtask soak`: a collector under steady traffic, and a picture of what it took meanwhile.

mod picture;
mod sample;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use self::sample::Sample;
use crate::demo::{self, Pair};
use crate::paths::target_dir;
use crate::steps::Steps;

/// How long, how much, and where the picture goes.
#[derive(Args)]
pub(crate) struct Options {
    /// Minutes of traffic.
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// Streams that start each second.
    #[arg(long, default_value_t = 10)]
    per_second: u64,
    /// The picture.
    #[arg(long, default_value = "docs/images/soak.svg")]
    image: PathBuf,
    /// Print the commands of each step and their output.
    #[arg(long)]
    verbose: bool,
}

/// Runs it to the end, and fails if a report was lost or counted twice.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let mut steps = Steps::new(7, options.verbose);
    demo::build(root, &mut steps)?;
    let data = target_dir(root).join("soak-data");
    let mut samples = Vec::new();
    let sent = steps.step(&format!("{} minutes of traffic", options.minutes), || {
        let pair = Pair::start_empty(root, &data)?;
        sample_until_over(&pair, root, &data, options, &mut samples)
    })?;
    println!("{sent}");
    for (name, of) in picture::CURVES {
        let values = || samples.iter().map(of);
        let most = values().fold(0.0, f64::max);
        let half = values().nth(samples.len() / 2).unwrap_or(0.0);
        println!(
            "{name}: most {most:.0}, halfway {half:.0}, at the end {:.0}",
            values().next_back().unwrap_or(0.0)
        );
    }
    fs::write(root.join(&options.image), picture::draw(&samples))?;
    Ok(())
}

/// Takes a sample every few seconds, as often as a Prometheus scrapes and a dashboard asks, and does both as well.
/// Gives back what the traffic says about its reports, once the collector has counted every stream once.
fn sample_until_over(
    pair: &Pair,
    root: &Path,
    data: &Path,
    options: &Options,
    samples: &mut Vec<Sample>,
) -> Result<String> {
    let streams = options.minutes * 60 * options.per_second;
    let over = options.minutes * 60;
    let mut command = pair.traffic_command(root, streams, over);
    let mut traffic =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("cannot start the traffic")?;
    let began = Instant::now();
    let status = loop {
        for path in ["/metrics", "/v1/summary", "/v1/timeseries?metric=ttft"] {
            get(&pair.collector_url, path)?;
        }
        samples.push(Sample::take(pair.collector_pid(), data, began)?);
        thread::sleep(BETWEEN_SAMPLES);
        if let Some(status) = traffic.try_wait()? {
            break status;
        }
    };
    let mut said = String::new();
    traffic.stdout.take().context("stdout is piped")?.read_to_string(&mut said)?;
    ensure!(status.success(), "the traffic ended with {status}: {said}");
    ensure!(said.contains("refused 0, lost 0"), "{said}");
    // A report is counted up to some seconds after its answer.
    let answered = Instant::now();
    let mut counted = streams_counted(&pair.collector_url)?;
    while counted != streams && answered.elapsed() < TIMEOUT {
        thread::sleep(BETWEEN_COUNTS);
        counted = streams_counted(&pair.collector_url)?;
    }
    ensure!(counted == streams, "{counted} of {streams} streams were counted");
    Ok(said.trim_end().to_owned())
}

/// Streams of all sites.
fn streams_counted(collector_url: &str) -> Result<u64> {
    let summary: serde_json::Value = serde_json::from_str(&get(collector_url, "/v1/summary?range=24h")?)?;
    summary["streams"].as_u64().context("a summary counts streams")
}

/// The body of a successful answer.
fn get(url: &str, path: &str) -> Result<String> {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut connection = TcpStream::connect(address)?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    write!(connection, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer has a head")?;
    if !head.contains(" 200 ") {
        bail!("{path}: {answer}");
    }
    Ok(body.to_owned())
}

const BETWEEN_SAMPLES: Duration = Duration::from_secs(15);

const BETWEEN_COUNTS: Duration = Duration::from_millis(200);

const TIMEOUT: Duration = Duration::from_secs(30);
