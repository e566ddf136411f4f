//! `cargo xtask demo`: the collector with its dashboard, and the demo site beside it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::artefacts::{self, DASHBOARD, DEMO_PAGE, PROBE};
use crate::paths::target_dir;
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
    /// Start with an empty dashboard: no history of the last hour and no simulated traffic.
    #[arg(long)]
    no_traffic: bool,
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
    let mut traffic = (!options.no_traffic).then(|| pair.traffic(root)).transpose()?;
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
        let data = target_dir(root).join("demo-data");
        if data.exists() {
            fs::remove_dir_all(&data).with_context(|| format!("cannot remove {}", data.display()))?;
        }
        if !options.no_traffic {
            import_history(root, &data)?;
        }
        let mut collector = collector_command(root, "serve", &data);
        collector.arg("--listen").arg(loopback(options.port));
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

    /// Starts to send real streams through the demo site, as many per minute as the history has.
    fn traffic(&self, root: &Path) -> Result<Guard> {
        let mut client = program(root, "demo-site");
        client.args(["traffic", "--demo", &self.demo_url, "--collector", &self.collector_url]);
        client.args(["--streams", "57600", "--over", "86400"]).stderr(Stdio::null());
        Ok(Guard(client.spawn().context("cannot start the traffic")?))
    }
}

/// Stores an hour of simulated streams in the data folder.
fn import_history(root: &Path, data: &Path) -> Result<()> {
    let mut history = program(root, "demo-site");
    history.args(["history", "--minutes", "60", "--streams", "2400"]).stdout(Stdio::piped());
    let mut history = Guard(history.spawn().context("cannot start the history")?);
    let lines = history.0.stdout.take().context("stdout is piped")?;
    let mut import = collector_command(root, "import", data);
    let imported = import.arg("-").stdin(lines).output().context("cannot start the import")?;
    if !history.0.wait()?.success() || !imported.status.success() {
        bail!("the history was not imported: {}", String::from_utf8_lossy(&imported.stderr));
    }
    Ok(())
}

/// A command of the collector with the demo's sites.
fn collector_command(root: &Path, name: &str, data: &Path) -> Command {
    let mut command = program(root, "llm-rum");
    command.arg(name).arg("--config").arg(root.join("demo-site/llm-rum.toml")).arg("--data").arg(data);
    command
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
