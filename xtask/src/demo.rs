//! `cargo xtask demo`: the collector with its dashboard, and the demo site beside it.

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::artefacts::{self, DASHBOARD, DEMO_PAGE, PROBE};
use crate::profile::Profile;
use crate::run::Guard;
use crate::steps::Steps;
use crate::tools;

/// Ports, traffic and output.
#[derive(Args)]
pub(crate) struct Options {
    /// Port of the collector and its dashboard; 0 picks a free one.
    #[arg(long, default_value_t = 8787)]
    port: u16,
    /// Port of the demo site; 0 picks a free one.
    #[arg(long, default_value_t = 8788)]
    demo_port: u16,
    /// Send this many streams from a native client, so that the dashboard has data.
    #[arg(long, default_value_t = 0)]
    traffic: u32,
    /// Spread the traffic over this many seconds.
    #[arg(long, default_value_t = 120)]
    over: u32,
    /// Relay an OpenAI-compatible server at this address instead of the scripted one.
    #[arg(long)]
    upstream: Option<String>,
    /// Print the commands of each step and their output.
    #[arg(long)]
    verbose: bool,
}

pub(crate) fn run_pair(root: &Path, options: &Options) -> Result<()> {
    let mut steps = Steps::new(7, options.verbose);
    build(root, &mut steps)?;
    let (stopping, stop) = mpsc::channel();
    // A send fails only after the loop below has ended, and then nothing is left to stop.
    ctrlc::set_handler(move || _ = stopping.send(()))?;
    let mut pair = steps.step("servers", || Pair::start(root, options))?;
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

/// Builds what the servers need. What is there already, from the same sources, is not built again.
fn build(root: &Path, steps: &mut Steps) -> Result<()> {
    steps.step("Rust target for WebAssembly", tools::wasm_target)?;
    steps.step("npm packages", || {
        tools::npm_packages(&root.join(PROBE))?;
        DASHBOARD.install(root)?;
        DEMO_PAGE.install(root)
    })?;
    steps.product("probe (Wasm)", || artefacts::probe(root, Profile::Demo))?;
    steps.product("dashboard", || DASHBOARD.build(root))?;
    steps.product("demo page", || DEMO_PAGE.build(root))?;
    steps.step("collector and demo site", || artefacts::programs(root, Profile::Demo))
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
    fn start(root: &Path, options: &Options) -> Result<Self> {
        let mut collector = program(root, "llm-rum");
        collector.arg("serve").arg("--listen").arg(loopback(options.port));
        collector.arg("--data").arg(root.join("llm-rum-data"));
        let (collector, collector_url) = listening(&mut collector)?;
        let mut demo = program(root, "demo-site");
        demo.arg("serve").arg("--listen").arg(loopback(options.demo_port));
        demo.args(["--collector", &collector_url, "--site", "demo"]);
        if let Some(upstream) = &options.upstream {
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
        let mut client = program(root, "demo-site");
        client.args(["traffic", "--demo", &self.demo_url, "--collector", &self.collector_url]);
        client.args(["--site", "demo", "--streams", &streams.to_string(), "--over", &over.to_string()]);
        Ok(Guard(client.spawn().context("cannot start the traffic")?))
    }
}

/// Starts a server and waits for the line with its address.
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
        bail!("{command:?} printed {line:?} instead of the address that it listens on");
    }
    Ok((child, address.to_owned()))
}

fn program(root: &Path, name: &str) -> Command {
    Command::new(artefacts::program(root, Profile::Demo, name))
}

fn loopback(port: u16) -> String {
    format!("{}:{port}", Ipv4Addr::LOCALHOST)
}
