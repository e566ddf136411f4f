//! `cargo xtask demo`: the collector with its dashboard, and the demo site beside it.

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::artefacts;
use crate::run::Guard;

/// Where things listen, and how much traffic to make.
#[derive(Args)]
pub(crate) struct Options {
    /// Port of the collector and its dashboard; 0 picks a free one.
    #[arg(long, default_value_t = 8787)]
    port: u16,
    /// Port of the demo site; 0 picks a free one.
    #[arg(long, default_value_t = 8788)]
    demo_port: u16,
    /// Send this many real streams from a native client first, so that there is something to see.
    #[arg(long, default_value_t = 0)]
    traffic: u32,
    /// Spread that traffic over so many seconds.
    #[arg(long, default_value_t = 120)]
    over: u32,
    /// Relay a real OpenAI-compatible server at this address instead of the scripted one.
    #[arg(long)]
    upstream: Option<String>,
}

pub(crate) fn run_pair(root: &Path, options: &Options) -> Result<()> {
    artefacts::build(root)?;
    let (stopping, stop) = mpsc::channel();
    // Once nobody waits any more, there is nobody left to tell.
    ctrlc::set_handler(move || _ = stopping.send(()))?;
    let mut pair = Pair::start(
        root,
        &root.join("llm-rum-data"),
        options.port,
        options.demo_port,
        options.upstream.as_deref(),
    )?;
    println!("dashboard  {}", pair.collector_url);
    println!("demo site  {}", pair.demo_url);
    println!("running until Ctrl-C");
    let mut traffic = match options.traffic {
        0 => None,
        streams => Some(pair.traffic(root, streams, options.over)?),
    };
    loop {
        if stop.recv_timeout(Duration::from_millis(500)).is_ok() {
            return Ok(());
        }
        if let Some(status) = pair.ended()? {
            bail!("a server ended with {status}");
        }
        if let Some(status) = traffic.as_mut().map(|client| client.0.try_wait()).transpose()?.flatten() {
            traffic = None;
            if !status.success() {
                bail!("the traffic ended with {status}");
            }
        }
    }
}

/// A collector and a demo site that reports to it; both end with this value.
struct Pair {
    collector: Guard,
    demo: Guard,
    /// Where the collector and its dashboard answer.
    collector_url: String,
    /// Where the demo site answers.
    demo_url: String,
}

impl Pair {
    fn start(root: &Path, data: &Path, port: u16, demo_port: u16, upstream: Option<&str>) -> Result<Self> {
        let mut collector = Command::new(artefacts::binary(root, "llm-rum"));
        collector.arg("serve").arg("--listen").arg(loopback(port)).arg("--data").arg(data);
        let (collector, collector_url) = listening(&mut collector)?;
        let mut demo = Command::new(artefacts::binary(root, "demo-site"));
        demo.arg("serve").arg("--listen").arg(loopback(demo_port));
        demo.args(["--collector", &collector_url, "--site", "demo"]);
        if let Some(upstream) = upstream {
            demo.args(["--upstream", upstream]);
        }
        let (demo, demo_url) = listening(&mut demo)?;
        Ok(Self { collector, demo, collector_url, demo_url })
    }

    /// How either server ended, if one has.
    fn ended(&mut self) -> Result<Option<ExitStatus>> {
        match self.collector.0.try_wait()? {
            Some(status) => Ok(Some(status)),
            None => Ok(self.demo.0.try_wait()?),
        }
    }

    /// Starts to send `streams` real streams through the demo site, spread over so many seconds.
    fn traffic(&self, root: &Path, streams: u32, over: u32) -> Result<Guard> {
        let mut client = Command::new(artefacts::binary(root, "demo-site"));
        client.args(["traffic", "--demo", &self.demo_url, "--collector", &self.collector_url]);
        client.args(["--site", "demo", "--streams", &streams.to_string(), "--over", &over.to_string()]);
        Ok(Guard(client.spawn().context("cannot start the traffic")?))
    }
}

/// Starts a server and waits for the line that tells its address.
fn listening(command: &mut Command) -> Result<(Guard, String)> {
    let mut child =
        Guard(command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {command:?}"))?);
    let stdout = child.0.stdout.take().context("stdout is piped")?;
    let mut line = String::new();
    let mut stdout = BufReader::new(stdout);
    stdout.read_line(&mut line)?;
    // The pipe stays open as long as the server lives: writing to a closed one would end it.
    child.0.stdout = Some(stdout.into_inner());
    let address = line.trim().rsplit(' ').next().unwrap_or_default();
    if !address.starts_with("http://") {
        bail!("{command:?} did not say where it listens, but {line:?}");
    }
    Ok((child, address.to_owned()))
}

fn loopback(port: u16) -> String {
    format!("{}:{port}", Ipv4Addr::LOCALHOST)
}
