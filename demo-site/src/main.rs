//! `demo-site`: arguments come in; a running demo site goes out.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use demo_site::{Log, Page, Site, serve};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// A chat page and a scripted LLM server, to see what llm-rum sees.
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
}

#[derive(Args)]
struct ServeArgs {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8788")]
    listen: SocketAddr,
    /// Collector that serves the probe and takes its beacons.
    #[arg(long, default_value = "http://127.0.0.1:8787")]
    collector: String,
    /// Site key that the page's probe sends.
    #[arg(long, default_value = "demo")]
    site: String,
    /// Model that the page asks for.
    #[arg(long, default_value = "demo-model")]
    model: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match Cli::parse().command {
        Command::Serve(args) => run(args).await,
    }
}

async fn run(args: ServeArgs) -> anyhow::Result<()> {
    let page = Page::new(&args.collector, &args.site, &args.model)?;
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).context("no randomness for the answers' ids")?;
    let site = Site { log: Arc::new(Log::new()), seed: u64::from_le_bytes(seed), page };
    let listener =
        TcpListener::bind(args.listen).await.with_context(|| format!("cannot listen on {}", args.listen))?;
    println!("demo site listening on http://{}", listener.local_addr()?);
    std::io::stdout().flush()?;
    tokio::select! {
        served = serve(listener, Arc::new(site)) => served.context("the listener failed"),
        stopped = tokio::signal::ctrl_c() => stopped.context("cannot wait for Ctrl-C"),
    }
}
