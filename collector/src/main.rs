//! The `llm-rum` binary: reads arguments and the configuration, then runs one command.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use clap::{Parser, Subcommand};
use collector::{
    Collector, Config, CountingAllocator, DeleteRequest, DeletionRequests, Draft, RequestedDeletion, Secret,
    StoreError, serve,
};
use mimalloc::MiMalloc;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: CountingAllocator<MiMalloc> = CountingAllocator(MiMalloc);

/// Real-user monitoring of streaming LLM responses.
#[derive(Parser)]
#[command(name = "llm-rum", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the collector: receive beacons and serve the dashboard until SIGTERM or Ctrl-C.
    Serve {
        /// TOML configuration file. Without it: loopback only, one site `demo`, data in `./llm-rum-data`.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Address to listen on; overrides the configuration. Port 0 selects a free port.
        #[arg(long)]
        listen: Option<SocketAddr>,
        /// Data folder; overrides the configuration.
        #[arg(long)]
        data: Option<PathBuf>,
    },
    /// Validate a configuration file and the environment, and list all mistakes.
    CheckConfig {
        /// TOML configuration file.
        file: PathBuf,
    },
    /// Copy the data to a folder that a collector can start from. The collector may be running.
    Backup {
        /// Folder to create; it must not exist.
        target: PathBuf,
        /// TOML configuration file of the collector, which names the data folder.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Data folder; overrides the configuration.
        #[arg(long)]
        data: Option<PathBuf>,
    },
    /// Print Prometheus alerting rules for the configured objectives.
    Rules {
        /// TOML configuration file of the collector.
        #[arg(long)]
        config: Option<PathBuf>,
    },
    /// Print a Grafana dashboard of the collector's metrics, ready to import.
    Grafana {
        /// TOML configuration file of the collector.
        #[arg(long)]
        config: Option<PathBuf>,
    },
    /// Send a test message to each receiver of notifications. Exit code 1 if one does not take it.
    Notify {
        /// Send the message; required, so that nothing is sent by mistake.
        #[arg(long, required = true)]
        test: bool,
        /// TOML configuration file of the collector.
        #[arg(long)]
        config: Option<PathBuf>,
    },
    /// Dry-run a file of reports and print the resulting statistics as JSON.
    ///
    /// Each line is the body of a beacon or a single report. `jq -c '.streams[]'` writes such lines from
    /// `/v1/streams`. The lines are validated like requests to the ingest endpoint and counted in memory. Nothing is
    /// stored, and a running collector is not affected. Exit codes: 0 if all lines were accepted, 3 if some lines
    /// were refused, 1 if the file cannot be read.
    Replay {
        /// File with one JSON object per line; `-` reads standard input.
        file: PathBuf,
        /// TOML configuration file of the collector.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Site of all lines. Default: the site that a report names, and the first configured site for a body.
        #[arg(long)]
        site: Option<String>,
    },
    /// Store a file of reports under the time at which they arrived.
    ///
    /// Each line is a single report with `received_ms`, as `jq -c '.streams[]'` writes them from `/v1/streams`, or the
    /// body of a beacon, which arrives now. The collector of the data folder must be stopped. Exit codes: 0 if all
    /// lines were stored, 3 if some lines were refused, 1 if the file or the folder cannot be used.
    Import {
        /// File with one JSON object per line; `-` reads standard input.
        file: PathBuf,
        /// TOML configuration file of the collector, which names the data folder.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Data folder; overrides the configuration.
        #[arg(long)]
        data: Option<PathBuf>,
        /// Site of all lines. Default: the site that a report names, and the first configured site for a body.
        #[arg(long)]
        site: Option<String>,
    },
    /// Rebuild a damaged SQLite file from the journal, the files of streams, and what is readable of it.
    ///
    /// The collector of the data folder must be stopped. The damaged data is moved into the folder `damaged-TIME`
    /// within it, and never deleted. Exit codes: 0 if nothing is lost, 3 if something is lost, 1 if the data cannot be
    /// repaired.
    Repair {
        /// TOML configuration file of the collector, which names the data folder.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Data folder; overrides the configuration.
        #[arg(long)]
        data: Option<PathBuf>,
    },
    /// Delete the data of a site from the data folder and from ClickHouse.
    ///
    /// A collector that uses the folder is interrupted as long as the deletion takes; with `--dry-run` it is not. An
    /// interrupted deletion is completed by the same command, or by the next start of the collector. In a cluster, run the command for each
    /// collector. What it does not reach: docs/deletion.md. Exit codes: 0 if nothing of the site is left, 3 if
    /// something is left, 1 if the data cannot be read or deleted.
    Delete {
        /// Name of the site. It need not be configured any more.
        #[arg(long)]
        site: String,
        /// Delete only streams whose latest report arrived before this day (UTC), such as 2026-11-25.
        #[arg(long, value_name = "DATE", value_parser = collector::day_start_ms)]
        before: Option<i64>,
        /// Delete only streams whose latest report arrived in this minute or later, such as 2026-11-25T14:05Z.
        #[arg(long, value_name = "TIME", value_parser = collector::minute_start_ms, requires = "to",
              conflicts_with = "before")]
        from: Option<i64>,
        /// Delete only streams whose latest report arrived before this minute.
        #[arg(long, value_name = "TIME", value_parser = collector::minute_start_ms, requires = "from")]
        to: Option<i64>,
        /// Only print what would be deleted.
        #[arg(long, conflicts_with = "yes", required_unless_present = "yes")]
        dry_run: bool,
        /// Delete it.
        #[arg(long)]
        yes: bool,
        /// TOML configuration file of the collector, which names the data folder and ClickHouse.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Data folder; overrides the configuration.
        #[arg(long)]
        data: Option<PathBuf>,
        /// Name of a collector whose data folder is lost: also delete the rows that it published to ClickHouse.
        #[arg(long, value_name = "NAME")]
        lost_collector: Vec<String>,
    },
    /// List the label values of a site with their use, and drop values so that they make room for others.
    ///
    /// A dropped value leaves `/metrics` and counts toward no limit until its next stream. `/v1` keeps its figures. The collector
    /// must be stopped for `--drop`; for a list it may be running.
    Labels {
        /// Name of the site.
        #[arg(long)]
        site: String,
        /// Value to drop, such as `model=gpt-5`; may be repeated.
        #[arg(long, value_name = "LABEL=VALUE", value_parser = collector::LabelValue::parse)]
        drop: Vec<collector::LabelValue>,
        /// TOML configuration file of the collector, which names the data folder.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Data folder; overrides the configuration.
        #[arg(long)]
        data: Option<PathBuf>,
    },
    /// Print the licence of this program, and the licences of all packages whose code is in it.
    Licenses,
    /// Exit with 0 if a running collector is ready.
    Healthcheck {
        /// URL of the collector.
        #[arg(long, default_value = "http://127.0.0.1:8787")]
        url: String,
        /// Seconds to wait until the collector is ready; 0 checks once.
        #[arg(long, default_value_t = 0)]
        wait: u64,
    },
    /// Let an agent query a running collector: a read-only server of the Model Context Protocol.
    ///
    /// It speaks the protocol on standard input and output, and logs to standard error. Setup: docs/agents.md.
    Mcp {
        /// URL of the collector.
        #[arg(long, default_value = "http://127.0.0.1:8787")]
        url: String,
        /// Token with the scope `read`. Other users of this machine can see it; prefer `--token-file`.
        #[arg(long, conflicts_with = "token_file")]
        token: Option<String>,
        /// File with the token.
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    log_to_standard_error();
    match carry_out(Arguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            // Printed without the backtrace that `main` would add if `RUST_BACKTRACE` is set, because the
            // cause is outside the program. If standard error is closed, the error cannot be printed at all.
            let _untold = writeln!(std::io::stderr(), "Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve { config, listen, data } => {
            let mut draft = Draft::read(config.as_deref(), environment())?;
            draft.config.listen = listen.unwrap_or(draft.config.listen);
            if let Some(data) = data {
                draft.config.data = data;
            }
            let config = draft.finish()?;
            collector::turn_off_huge_pages();
            let runtime = tokio::runtime::Runtime::new()?;
            let served = runtime.block_on(run(config));
            // Connections and queries that outlasted the drain must not keep the process.
            runtime.shutdown_background();
            served?;
        }
        Command::CheckConfig { file } => check_config(&file)?,
        Command::Backup { target, config, data } => {
            let config = Draft::read(config.as_deref(), environment())?.finish()?;
            collector::backup(&data.unwrap_or(config.data), &target)?;
            println!("Backup written to {}", target.display());
        }
        Command::Rules { config } => {
            let rules = collector::rules(&Draft::read(config.as_deref(), environment())?.finish()?);
            print!("{}", rules.text);
            rules.left_out.iter().for_each(|left_out| eprintln!("warning: {left_out}"));
        }
        Command::Grafana { config } => {
            let config = Draft::read(config.as_deref(), environment())?.finish()?;
            writeln!(std::io::stdout(), "{:#}", collector::grafana(&config))?;
        }
        Command::Notify { test: _, config } => return notify_test(config.as_deref()),
        Command::Replay { file, config, site } => return replay(&file, config.as_deref(), site.as_deref()),
        Command::Import { file, config, data, site } => {
            let mut config = Draft::read(config.as_deref(), environment())?.finish()?;
            config.data = data.unwrap_or(config.data);
            return import(&file, config, site.as_deref());
        }
        Command::Delete { site, before, from, to, dry_run, yes: _, config, data, lost_collector } => {
            let mut config = Draft::read(config.as_deref(), environment())?.finish()?;
            config.data = data.unwrap_or(config.data);
            let before_ms = before.or(to);
            let request = DeleteRequest { site, from_ms: from, before_ms, lost_collectors: lost_collector };
            return delete(&config, &request, dry_run);
        }
        Command::Labels { site, drop, config, data } => {
            let mut config = Draft::read(config.as_deref(), environment())?.finish()?;
            config.data = data.unwrap_or(config.data);
            print_json(&collector::labels(&config, &site, &drop)?)?;
        }
        Command::Repair { config, data } => {
            let mut config = Draft::read(config.as_deref(), environment())?.finish()?;
            config.data = data.unwrap_or(config.data);
            let repaired = collector::repair(config)?;
            print_json(&repaired)?;
            return Ok(if repaired.is_complete() { ExitCode::SUCCESS } else { ExitCode::from(SOME_LOST) });
        }
        Command::Licenses => write!(std::io::stdout(), "{}", collector::licenses())?,
        Command::Healthcheck { url, wait } => collector::healthcheck(&url, Duration::from_secs(wait))?,
        Command::Mcp { url, token, token_file } => {
            let token = token_file.as_deref().map(token_of_file).transpose()?.or(token);
            let token = token.as_deref().map(Secret::from);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(collector::mcp(&url, token.as_ref()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn log_to_standard_error() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A failed log write would be reported on the same standard error, which panics if it fails too. With the
    // log on a full disk, that would be the thread that writes the journal.
    log.with_ansi(colours).log_internal_errors(false).init();
    // At finer levels the HTTP client logs every byte that it sends, passwords and tokens included.
    log::set_max_level(log::LevelFilter::Info);
}

async fn run(config: Config) -> anyhow::Result<()> {
    // A limit for the length of files is then an error of the write, which names the file, and not the end.
    let _is_caught = signal(SignalKind::from_raw(SIGXFSZ))?;
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("cannot listen on {}", config.listen))?;
    let collector = Collector::open(config.clone())?;
    let mut deletions = DeletionRequests::listen(&config.data);
    // Before the collector announces that it runs: a signal without a handler kills the process.
    let mut signals = Signals::listen()?;
    let address = listener.local_addr()?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "llm-rum listening on http://{address}")?;
    stdout.flush()?;

    let notice = Duration::from_secs(config.ingest.notice_seconds.into());
    let (mut listener, mut collector) = (listener, collector);
    loop {
        let stopped = serve_until_stop(listener, collector, notice, &mut signals, &mut deletions);
        let Some(deletion) = stopped.await? else { return Ok(()) };
        let finished = deletion.carry_out(&config).await;
        listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        collector = Collector::open(config.clone())?;
        finished.answer().await;
    }
}

/// Serves until a signal, or until a deletion is requested, and closes the collector.
async fn serve_until_stop(
    listener: TcpListener,
    mut collector: Collector,
    notice: Duration,
    signals: &mut Signals,
    deletions: &mut DeletionRequests,
) -> anyhow::Result<Option<RequestedDeletion>> {
    let state = collector.state();
    let draining = state.clone();
    let mut deletion = None;
    let stop = async {
        let told_to_stop = async {
            tokio::select! {
                signal = signals.next() => tracing::info!(signal, "Stopping: {signal}"),
                requested = deletions.next() => {
                    tracing::info!("Stopping: a deletion is requested");
                    deletion = Some(requested);
                }
            }
            draining.give_notice();
            // A second signal ends the notice at once, and a signal comes before a deletion.
            if timeout(notice, signals.next()).await.is_ok() {
                deletion = None;
            }
        };
        tokio::select! {
            () = told_to_stop => {}
            () = collector.failed() => tracing::error!("Stopping: the store failed"),
        }
        draining.drain();
    };
    if !serve(listener, &state, stop, DRAIN_FOR).await {
        tracing::warn!("Some requests did not finish within {DRAIN_FOR:?}");
    }
    drop((state, draining));
    match collector.close(CLOSE_WITHIN) {
        Ok(()) => {}
        // A deletion may free the space that is missing, and the collector counts the journal after it.
        Err(error @ StoreError::NotFlushed(_)) if deletion.is_some() => {
            let error = anyhow::Error::new(error);
            tracing::warn!("The deletion begins with uncounted reports: {error:#}");
        }
        Err(error @ (StoreError::NotFlushed(_) | StoreError::Hangs(_))) => {
            return Err(error)
                .context("stopped anyway: all answered beacons are kept, and the next start counts them");
        }
        Err(error) => {
            return Err(error).context("the store failed: restart the collector to count the journal");
        }
    }
    Ok(deletion)
}

/// The signals that stop the collector.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Installs the handlers at once.
    fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Name of the next signal.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "Ctrl-C",
        }
    }
}

/// The environment without variables that are not UTF-8, which cannot be ours.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

fn check_config(file: &Path) -> anyhow::Result<()> {
    let config = Draft::read(Some(file), environment())?.finish()?;
    let names: Vec<_> = config.sites.iter().map(|site| site.name.as_str()).collect();
    println!("{} is valid: listens on {}, sites {}", file.display(), config.listen, names.join(", "));
    config.hints().iter().for_each(|hint| eprintln!("warning: {hint}"));
    collector::rules(&config).left_out.iter().for_each(|left_out| eprintln!("warning: {left_out}"));
    Ok(())
}

fn notify_test(config: Option<&Path>) -> anyhow::Result<ExitCode> {
    let config = Draft::read(config, environment())?.finish()?;
    anyhow::ensure!(!config.notify.is_empty(), "the configuration has no `[[notify]]`");
    let mut code = ExitCode::SUCCESS;
    for (receiver, result) in collector::test_notifications(&config) {
        match result {
            Ok(()) => println!("{receiver}: sent"),
            Err(error) => {
                println!("{receiver}: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

fn replay(file: &Path, config: Option<&Path>, site: Option<&str>) -> anyhow::Result<ExitCode> {
    let config = Draft::read(config, environment())?.finish()?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(since.as_millis())?;
    let replayed = collector::replay(&config, site, open(file)?, now_ms)?;
    print_json(&replayed)?;
    Ok(if replayed.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(SOME_REFUSED) })
}

fn import(file: &Path, config: Config, site: Option<&str>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let imported = runtime.block_on(collector::import(config, site, open(file)?))?;
    print_json(&imported)?;
    Ok(if imported.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(SOME_REFUSED) })
}

fn delete(config: &Config, request: &DeleteRequest, dry_run: bool) -> anyhow::Result<ExitCode> {
    if dry_run {
        print_json(&collector::preview(config, request)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let result = collector::delete_online(config, request)?;
    print_json(&result.deleted)?;
    if result.is_complete {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("warning: data of the site is left: see `left`");
    if !result.collectors_left.is_empty() {
        eprintln!(
            "warning: ClickHouse still has rows of the collectors {}: run the command on their folders, or add \
             `--lost-collector NAME` for a collector whose folder is lost",
            result.collectors_left.join(", ")
        );
    }
    Ok(ExitCode::from(SOME_LEFT))
}

/// Opens a file, or standard input for `-`.
fn open(file: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if file == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let opened = File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    Ok(Box::new(BufReader::new(opened)))
}

/// The token in a file, which usually ends with a line feed.
fn token_of_file(file: &Path) -> anyhow::Result<String> {
    let opened = File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    let mut token = String::new();
    let read = opened.take(MAX_TOKEN_BYTES).read_to_string(&mut token);
    read.with_context(|| format!("cannot read the token in {}", file.display()))?;
    let token = token.trim();
    anyhow::ensure!(!token.is_empty(), "{} has no token", file.display());
    Ok(token.to_owned())
}

fn print_json(result: &impl serde::Serialize) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(result)?)?)
}

/// Exit code of a replay or an import with refused lines. 2 is the code for invalid arguments.
const SOME_REFUSED: u8 = 3;

/// More than any token has.
const MAX_TOKEN_BYTES: u64 = 4096;

/// Exit code of a deletion that left data of the site.
const SOME_LEFT: u8 = 3;

/// Long enough for a slow body, and shorter than supervisors wait before they kill the process.
const DRAIN_FOR: Duration = Duration::from_secs(8);

/// On Linux and macOS. Its default ends the process.
const SIGXFSZ: i32 = 25;

/// Exit code of a repair that could not read all.
const SOME_LOST: u8 = 3;

/// Short enough that everything ends before supervisors kill the process: they wait for 30 s plus the notice.
const CLOSE_WITHIN: Duration = Duration::from_secs(15);
