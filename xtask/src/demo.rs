//! `cargo xtask demo`: the collector with its dashboard, and the demo site beside it. `cargo xtask dashboard-dev` adds
//! Vite, which serves the dashboard from its sources.

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

/// Streams that the dashboard under development shows.
#[derive(Args)]
pub(crate) struct DashboardOptions {
    /// Simulated streams before the start; 0 starts with an empty dashboard.
    #[arg(long, default_value_t = History::DEMO.streams)]
    streams: u32,
    /// Minutes before the start that these streams are spread over.
    #[arg(long, default_value_t = History::DEMO.minutes)]
    minutes: u32,
    /// Simulate no traffic after the start.
    #[arg(long)]
    no_traffic: bool,
    /// Print the commands of each step and their output.
    #[arg(long)]
    verbose: bool,
}

/// The demo.
pub(crate) fn run_pair(root: &Path, options: &Options) -> Result<()> {
    let history = (!options.no_traffic).then_some(History::DEMO);
    run(root, options, history, Dashboard::Built)
}

/// The demo on free ports, with the dashboard served by Vite.
pub(crate) fn run_dashboard_dev(root: &Path, options: &DashboardOptions) -> Result<()> {
    let DashboardOptions { streams, minutes, no_traffic, verbose } = *options;
    let history = (streams > 0).then_some(History { streams, minutes });
    let options = Options { port: 0, demo_port: 0, no_traffic, upstream: None, verbose };
    run(root, &options, history, Dashboard::Vite)
}

/// What serves the dashboard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dashboard {
    /// The collector, from the build that it contains.
    Built,
    /// Vite, from the sources.
    Vite,
}

fn run(root: &Path, options: &Options, history: Option<History>, dashboard: Dashboard) -> Result<()> {
    let mut steps = Steps::new(7, options.verbose);
    build(root, &mut steps)?;
    let (stopping, stop) = mpsc::channel();
    // A send fails only after the loop below has ended, and then nothing is left to stop.
    ctrlc::set_handler(move || _ = stopping.send(()))?;
    // The two commands may run at the same time.
    let data = target_dir(root).join(match dashboard {
        Dashboard::Built => "demo-data",
        Dashboard::Vite => "dashboard-dev-data",
    });
    let mut pair = steps.step("servers", || Pair::start(root, &data, options, history))?;
    println!("dashboard  {}", pair.collector_url);
    println!("demo site  {}", pair.demo_url);
    println!("running until Ctrl-C");
    let mut traffic = (!options.no_traffic).then(|| pair.traffic(root)).transpose()?;
    let mut vite = (dashboard == Dashboard::Vite).then(|| pair.vite(root)).transpose()?;
    loop {
        if stop.recv_timeout(Duration::from_millis(500)).is_ok() {
            return Ok(());
        }
        if let Some(status) = vite.as_mut().map(|vite| vite.0.try_wait()).transpose()?.flatten() {
            bail!("Vite ended with {status}");
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
pub(crate) fn build(root: &Path, steps: &mut Steps) -> Result<()> {
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

/// Simulated streams that the data folder holds at the start.
#[derive(Clone, Copy)]
struct History {
    streams: u32,
    minutes: u32,
}

impl History {
    const DEMO: Self = Self { streams: 2_400, minutes: 60 };
}

/// A collector and a demo site that reports to it; both end with this value.
pub(crate) struct Pair {
    collector: Guard,
    demo: Guard,
    /// Where the collector and its dashboard answer.
    pub(crate) collector_url: String,
    /// Where the demo site answers.
    demo_url: String,
}

impl Pair {
    fn start(root: &Path, data: &Path, options: &Options, history: Option<History>) -> Result<Self> {
        if data.exists() {
            fs::remove_dir_all(data).with_context(|| format!("cannot remove {}", data.display()))?;
        }
        if let Some(history) = history {
            import_history(root, data, history)?;
        }
        let mut collector = collector_command(root, "serve", data);
        collector.arg("--listen").arg(loopback(options.port));
        let (collector, collector_url) = listening(&mut collector)?;
        let mut demo = program(root, "demo-site");
        demo.arg("serve").arg("--listen").arg(loopback(options.demo_port));
        demo.args(["--collector", &collector_url, "--site", "demo", "--timings"]);
        if let Some(upstream) = &options.upstream {
            demo.args(["--upstream", upstream]);
        }
        let (demo, demo_url) = listening(&mut demo)?;
        Ok(Self { collector, demo, collector_url, demo_url })
    }

    /// On free ports, with nothing stored.
    pub(crate) fn start_empty(root: &Path, data: &Path) -> Result<Self> {
        let options = Options { port: 0, demo_port: 0, no_traffic: true, upstream: None, verbose: false };
        Self::start(root, data, &options, None)
    }

    pub(crate) fn collector_pid(&self) -> u32 {
        self.collector.0.id()
    }

    /// How either server ended, if one has.
    fn ended(&mut self) -> Result<Option<ExitStatus>> {
        match self.collector.0.try_wait()? {
            Some(status) => Ok(Some(status)),
            None => Ok(self.demo.0.try_wait()?),
        }
    }

    /// Serves the dashboard from its sources, with the API of the collector.
    fn vite(&self, root: &Path) -> Result<Guard> {
        let folder = root.join("www");
        let mut vite = Command::new(folder.join("node_modules/.bin/vite"));
        vite.current_dir(&folder).env("LLM_RUM_COLLECTOR", &self.collector_url);
        Ok(Guard(vite.spawn().context("cannot start Vite")?))
    }

    /// Starts to send real streams through the demo site, as many per minute as the history has.
    fn traffic(&self, root: &Path) -> Result<Guard> {
        let mut client = self.traffic_command(root, 57_600, 86_400);
        Ok(Guard(client.stderr(Stdio::null()).spawn().context("cannot start the traffic")?))
    }

    /// The command that sends `streams` real streams through the demo site, spread over some seconds.
    pub(crate) fn traffic_command(&self, root: &Path, streams: u64, seconds: u64) -> Command {
        let mut client = program(root, "demo-site");
        client.args(["traffic", "--demo", &self.demo_url, "--collector", &self.collector_url]);
        client.args(["--streams", &streams.to_string(), "--over", &seconds.to_string()]);
        client
    }
}

/// Stores simulated streams in the data folder.
fn import_history(root: &Path, data: &Path, History { streams, minutes }: History) -> Result<()> {
    let mut history = program(root, "demo-site");
    history.arg("history").stdout(Stdio::piped());
    history.args(["--minutes", &minutes.to_string(), "--streams", &streams.to_string()]);
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
