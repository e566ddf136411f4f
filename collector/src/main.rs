//! The `llm-rum` binary: reads arguments and the configuration, then runs one command.

use std::fs::File;
use std::io::{BufReader, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use clap::{Parser, Subcommand};
use collector::{Collector, Config, Draft, StoreError, serve};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Real-user monitoring for streaming LLM responses.
#[derive(Parser)]
#[command(name = "llm-rum", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Accepts beacons and serves the dashboard until SIGTERM or Ctrl-C.
    Serve {
        /// TOML file. Without one: loopback only, one site `demo`, data in `./llm-rum-data`.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Address to listen on, instead of the configured one. Port 0 selects a free one.
        #[arg(long)]
        listen: Option<SocketAddr>,
        /// Folder for the data, instead of the configured one.
        #[arg(long)]
        data: Option<PathBuf>,
    },
    /// Checks a configuration file and the environment, and lists all mistakes.
    CheckConfig {
        /// TOML file.
        file: PathBuf,
    },
    /// Copies the data to a folder that a collector can start from. The collector may be running.
    Backup {
        /// Folder to create.
        target: PathBuf,
        /// The collector's TOML file, which names the data folder.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Folder of the data, instead of the configured one.
        #[arg(long)]
        data: Option<PathBuf>,
    },
    /// Prints Prometheus alerting rules for the objectives of use cases.
    Rules {
        /// The collector's TOML file.
        #[arg(long)]
        config: Option<PathBuf>,
    },
    /// Prints a Grafana dashboard for the collector's metrics, to import.
    Grafana {
        /// The collector's TOML file.
        #[arg(long)]
        config: Option<PathBuf>,
    },
    /// Prints how a collector with this configuration would have counted a file, as a JSON object.
    ///
    /// Each line is the body of a beacon, or one report, as `jq -c '.streams[]'` prints it from
    /// `/v1/streams`. It is validated as by the ingest endpoint and counted in memory: nothing is stored, and
    /// a running collector is not affected. Exits with 0 if every line was accepted, with 3 if some were
    /// refused, and with 1 if the file cannot be read.
    Replay {
        /// File to read; `-` is standard input.
        file: PathBuf,
        /// The collector's TOML file.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Site of all lines. By default, the site that a report names, and the first site for a body.
        #[arg(long)]
        site: Option<String>,
    },
    /// Exits with 0 if a running collector is ready.
    Healthcheck {
        /// Address of the collector.
        #[arg(long, default_value = "http://127.0.0.1:8787")]
        url: String,
        /// Seconds to wait until it is ready, as after a start. With 0, it is asked once.
        #[arg(long, default_value_t = 0)]
        wait: u64,
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
            tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(config))?;
        }
        Command::CheckConfig { file } => check_config(&file)?,
        Command::Backup { target, config, data } => {
            let config = Draft::read(config.as_deref(), environment())?.finish()?;
            collector::backup(&data.unwrap_or(config.data), &target)?;
            println!("{} is a backup", target.display());
        }
        Command::Rules { config } => {
            print!("{}", collector::rules(&Draft::read(config.as_deref(), environment())?.finish()?)?);
        }
        Command::Grafana { config } => {
            let config = Draft::read(config.as_deref(), environment())?.finish()?;
            writeln!(std::io::stdout(), "{:#}", collector::grafana(&config))?;
        }
        Command::Replay { file, config, site } => return replay(&file, config.as_deref(), site.as_deref()),
        Command::Healthcheck { url, wait } => collector::healthcheck(&url, Duration::from_secs(wait))?,
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
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("cannot listen on {}", config.listen))?;
    let notice = Duration::from_secs(config.ingest.notice_seconds.into());
    let mut collector = Collector::open(config)?;
    let state = collector.state();
    // Before the collector announces that it runs: a signal without a handler kills the process.
    let mut signals = Signals::listen()?;
    let address = listener.local_addr()?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "llm-rum listening on http://{address}")?;
    stdout.flush()?;

    let draining = state.clone();
    let stop = async {
        let told_to_stop = async {
            let signal = signals.next().await;
            tracing::info!(signal, "Stopping: {signal}");
            draining.give_notice();
            // A second signal ends the notice at once.
            let _either = timeout(notice, signals.next()).await;
        };
        tokio::select! {
            () = told_to_stop => {}
            () = collector.failed() => tracing::error!("Stopping: the store has failed"),
        }
        draining.drain();
    };
    if !serve(listener, &state, stop, DRAIN_FOR).await? {
        tracing::warn!("Some requests had not ended after {DRAIN_FOR:?}");
    }
    let closed = collector.close(CLOSE_WITHIN);
    let hangs = matches!(closed, Err(StoreError::Hangs(_)));
    closed.context(if hangs {
        "stopped all the same: what was answered is kept, and the next start counts it"
    } else {
        "the store has failed; start again, and the journal is counted"
    })
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
    println!("{} is good: listens on {}, sites {}", file.display(), config.listen, names.join(", "));
    Ok(())
}

fn replay(file: &Path, config: Option<&Path>, site: Option<&str>) -> anyhow::Result<ExitCode> {
    let config = Draft::read(config, environment())?.finish()?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(since.as_millis())?;
    let replayed = if file == Path::new("-") {
        collector::replay(&config, site, std::io::stdin().lock(), now_ms)?
    } else {
        let opened = File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
        collector::replay(&config, site, BufReader::new(opened), now_ms)?
    };
    writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&replayed)?)?;
    Ok(if replayed.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(SOME_REFUSED) })
}

/// Exit code of a replay with refused lines. 2 is the code for invalid arguments.
const SOME_REFUSED: u8 = 3;

/// Long enough for a slow body, and shorter than supervisors wait before they kill the process.
const DRAIN_FOR: Duration = Duration::from_secs(8);

/// Short enough that everything ends before supervisors kill the process: they wait for 30 s plus the notice.
const CLOSE_WITHIN: Duration = Duration::from_secs(15);
