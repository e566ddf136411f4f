//! `demo-site`: parses the arguments and runs the demo site or its traffic.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use demo_site::{History, Log, Page, Site, Timings, Traffic, Upstream, serve};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// A chat page and a scripted LLM server to try llm-rum with.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the chat page and the LLM server.
    Serve(ServeArgs),
    /// Read streams from a running demo site and report them to a collector, as a page would.
    Traffic(TrafficArgs),
    /// Print simulated streams of the past, ready for `llm-rum import`.
    History(HistoryArgs),
}

#[derive(Args)]
struct ServeArgs {
    /// Address to listen on; port 0 selects a free port.
    #[arg(long, default_value = "127.0.0.1:8788")]
    listen: SocketAddr,
    /// Collector that serves the probe and receives its beacons.
    #[arg(long, default_value = "http://127.0.0.1:8787")]
    collector: String,
    /// Site key that the page's probe sends.
    #[arg(long, default_value = "demo")]
    site: String,
    /// Model that the page requests.
    #[arg(long, default_value = "demo-model")]
    model: String,
    /// Relay this server instead of playing scenarios: base URL of `/v1/chat/completions`, `/v1/responses`,
    /// `/v1/messages` or `/api/chat`.
    #[arg(long)]
    upstream: Option<String>,
    /// Key for the upstream, sent as a bearer token and as `x-api-key`.
    #[arg(long, env = "LLM_RUM_UPSTREAM_KEY", hide_env_values = true)]
    upstream_key: Option<String>,
    /// Send the timings of the scripted backend's layers to the collector, which must take them without a token.
    #[arg(long)]
    timings: bool,
    /// Seed: the server gives the same responses after each start with the same number, in the order of the
    /// requests.
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Args)]
struct TrafficArgs {
    /// Demo site to read from.
    #[arg(long, default_value = "http://127.0.0.1:8788")]
    demo: String,
    /// Collector to report to.
    #[arg(long, default_value = "http://127.0.0.1:8787")]
    collector: String,
    /// Site key of the reports. Without it, they belong to the sites of `llm-rum.toml`.
    #[arg(long)]
    site: Option<String>,
    /// Number of streams.
    #[arg(long, default_value_t = 200)]
    streams: u32,
    /// Spread the starts evenly over this many seconds.
    #[arg(long, default_value_t = 0)]
    over: u64,
    /// Maximum number of open streams.
    #[arg(long, default_value_t = 128)]
    concurrency: usize,
}

#[derive(Args)]
struct HistoryArgs {
    /// Length of the history, which ends now.
    #[arg(long, default_value_t = 60)]
    minutes: u32,
    /// Number of streams.
    #[arg(long, default_value_t = 2400)]
    streams: u32,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let is_terminal = std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(is_terminal)
        .init();
    match Cli::parse().command {
        Command::Serve(args) => run(args).await,
        Command::Traffic(args) => traffic(args).await,
        Command::History(args) => history(&args),
    }
}

async fn run(args: ServeArgs) -> anyhow::Result<()> {
    let page = Page::new(&args.collector, &args.site, &args.model)?;
    let key = args.upstream_key.as_deref();
    let upstream = args.upstream.map(|base| Upstream::new(&base, key)).transpose()?;
    let timings = args.timings.then(|| Timings::start(&args.collector)).transpose()?;
    let seed = args.seed.map_or_else(seed, Ok)?;
    let site = Site { log: Arc::new(Log::new()), seed, upstream, timings, page };
    let listener =
        TcpListener::bind(args.listen).await.with_context(|| format!("cannot listen on {}", args.listen))?;
    println!("demo site listening on http://{}", listener.local_addr()?);
    std::io::stdout().flush()?;
    tokio::select! {
        served = serve(listener, Arc::new(site)) => served.context("the listener failed"),
        stopped = tokio::signal::ctrl_c() => stopped.context("cannot wait for Ctrl-C"),
    }
}

async fn traffic(args: TrafficArgs) -> anyhow::Result<()> {
    let TrafficArgs { demo, collector, site, streams, over, concurrency } = args;
    let over = Duration::from_secs(over);
    let traffic = Traffic { demo, collector, site, streams, over, concurrency, seed: seed()? };
    let step = (streams / 10).max(1);
    let progress = |ended| {
        if ended % step == 0 {
            eprintln!("{ended} of {streams} streams have ended");
        }
    };
    let sent = traffic.send(progress).await.context("the demo site does not answer")?;
    println!("{sent}");
    anyhow::ensure!(sent.delivered.accepted == streams, "not every report was accepted");
    Ok(())
}

fn history(args: &HistoryArgs) -> anyhow::Result<()> {
    let until = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let history = History { until, minutes: args.minutes, streams: args.streams, seed: seed()? };
    let mut stdout = std::io::stdout().lock();
    for line in history.lines() {
        writeln!(stdout, "{line}")?;
    }
    Ok(())
}

fn seed() -> anyhow::Result<u64> {
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).context("the system gives no random numbers")?;
    Ok(u64::from_le_bytes(seed))
}
