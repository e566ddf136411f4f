//! Scrapes the configured engines and stores their figures by minute. Each engine has a thread and a connection of its
//! own, so that a slow one delays no other.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tracing::{info, warn};

use crate::background_thread::Background;
use crate::config::Config;
use crate::config::engine::{Engine, EngineKind};
use crate::engine_metrics::minute::{MinuteFigures, MinuteFolder};
use crate::engine_metrics::scrape::{MetricSearch, Scrape, Unreadable, read};
use crate::http::counters::{EngineScrapeResult, RequestCounters};
use crate::store::engine_minutes::{EngineMinute, EngineMinuteWriter};
use crate::store::error::StoreError;
use crate::time;

/// The last scrape of each engine.
pub(crate) struct EngineStatuses(Vec<Mutex<EngineStatus>>);

/// The last scrape of an engine.
#[derive(Debug, Clone)]
pub(crate) struct EngineStatus {
    pub(crate) engine: String,
    pub(crate) site: Option<String>,
    /// `auto` until the metrics show the kind.
    pub(crate) kind: EngineKind,
    /// `None` before the first scrape.
    pub(crate) scraped_ms: Option<i64>,
    /// Why the last scrape failed.
    pub(crate) error: Option<String>,
    /// Metrics of the last scrape that did not fail.
    pub(crate) metrics: Vec<MetricSearch>,
}

/// Why a scrape failed.
#[derive(Debug, thiserror::Error)]
enum ScrapeError {
    #[error("no connection")]
    Unreachable,
    #[error("no complete answer within 5 s")]
    TimedOut,
    #[error("the answer has the status {0} instead of 200")]
    Status(u16),
    #[error("the answer is longer than 2 MiB")]
    TooLarge,
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("the figures cannot be stored: {0}")]
    Store(#[from] StoreError),
}

impl EngineStatuses {
    pub(crate) fn new(config: &Config) -> Self {
        let status = |engine: &Engine| EngineStatus {
            engine: engine.name(),
            site: engine.site.clone(),
            kind: engine.kind,
            scraped_ms: None,
            error: None,
            metrics: Vec::new(),
        };
        Self(config.engines.iter().map(|engine| Mutex::new(status(engine))).collect())
    }

    /// All engines, in the order of the configuration.
    pub(crate) fn all(&self) -> Vec<EngineStatus> {
        let all = self.0.iter();
        all.map(|status| status.lock().unwrap_or_else(PoisonError::into_inner).clone()).collect()
    }

    fn set(&self, at: usize, now_ms: i64, result: Result<Scrape, &ScrapeError>) {
        let mut status = self.0[at].lock().unwrap_or_else(PoisonError::into_inner);
        status.scraped_ms = Some(now_ms);
        status.error = result.as_ref().err().map(ToString::to_string);
        if let Ok(scrape) = result {
            status.kind = scrape.kind;
            status.metrics = scrape.metrics;
        }
    }
}

/// Starts a thread for each engine.
pub(crate) fn start(
    config: &Config,
    statuses: &Arc<EngineStatuses>,
    counters: &Arc<RequestCounters>,
) -> Result<Vec<Background>, StoreError> {
    let start = |(at, engine): (usize, &Engine)| {
        let mut scraper = Scraper::new(config, at, engine, statuses.clone(), counters.clone());
        let every = Duration::from_secs(engine.every_seconds.into());
        let scrape = move |stop: &Receiver<()>| loop {
            scraper.scrape();
            if stop.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        };
        Background::start("engine", scrape).map_err(StoreError::Thread)
    };
    config.engines.iter().enumerate().map(start).collect()
}

struct Scraper {
    at: usize,
    engine: Engine,
    name: String,
    agent: ureq::Agent,
    folder: MinuteFolder,
    writer: EngineMinuteWriter,
    statuses: Arc<EngineStatuses>,
    counters: Arc<RequestCounters>,
    /// Logs each change, not each scrape.
    has_failed: bool,
}

impl Scraper {
    fn new(
        config: &Config,
        at: usize,
        engine: &Engine,
        statuses: Arc<EngineStatuses>,
        counters: Arc<RequestCounters>,
    ) -> Self {
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .build();
        Self {
            at,
            engine: engine.clone(),
            name: engine.name(),
            agent: agent.into(),
            folder: MinuteFolder::default(),
            writer: EngineMinuteWriter::new(&config.data),
            statuses,
            counters,
            has_failed: false,
        }
    }

    fn scrape(&mut self) {
        let now_ms = time::now_ms();
        let result = self.fetch().and_then(|scrape| self.store(now_ms, scrape));
        self.counters
            .engine_scrape(result.as_ref().map_or_else(ScrapeError::result, |_| EngineScrapeResult::Ok));
        let name = &self.name;
        match &result {
            Ok(_) if self.has_failed => info!(engine = %name, "Engine `{name}`: scrapes succeed again"),
            Err(error) if !self.has_failed => {
                warn!(engine = %name, %error, "Engine `{name}`: scrape failed: {error}");
            }
            _ => {}
        }
        self.has_failed = result.is_err();
        self.statuses.set(self.at, now_ms, result.as_ref().map(|scrape| scrape.clone()));
    }

    fn fetch(&self) -> Result<Scrape, ScrapeError> {
        // Without a compressed answer, the limit of its length is one of the text too.
        let request = self.agent.get(&self.engine.url).header("accept", ACCEPT);
        let mut answer = request.header("accept-encoding", "identity").call()?;
        if answer.status().as_u16() != 200 {
            return Err(ScrapeError::Status(answer.status().as_u16()));
        }
        let body = answer.body_mut().with_config().limit(LONGEST_BYTES).read_to_vec()?;
        Ok(read(&String::from_utf8_lossy(&body), &self.engine)?)
    }

    fn store(&mut self, now_ms: i64, scrape: Scrape) -> Result<Scrape, ScrapeError> {
        let (minute, models) = self.folder.add(now_ms, &scrape);
        let row = |(model, figures): (&String, &MinuteFigures)| EngineMinute {
            minute,
            engine: self.name.clone(),
            model: model.clone(),
            site: self.engine.site.clone(),
            figures: *figures,
        };
        self.writer.put(&models.iter().map(row).collect::<Vec<_>>())?;
        Ok(scrape)
    }
}

impl ScrapeError {
    const fn result(&self) -> EngineScrapeResult {
        match self {
            Self::Unreachable => EngineScrapeResult::Unreachable,
            Self::TimedOut => EngineScrapeResult::TimedOut,
            Self::Status(_) => EngineScrapeResult::Status,
            Self::TooLarge => EngineScrapeResult::TooLarge,
            Self::Unreadable(_) => EngineScrapeResult::Unreadable,
            Self::Store(_) => EngineScrapeResult::NotStored,
        }
    }
}

impl From<ureq::Error> for ScrapeError {
    /// The text of the library's error may contain addresses, which readers of the dashboard need not know.
    fn from(error: ureq::Error) -> Self {
        match error {
            ureq::Error::Timeout(_) => Self::TimedOut,
            ureq::Error::BodyExceedsLimit(_) => Self::TooLarge,
            _ => Self::Unreachable,
        }
    }
}

/// Limit for a whole request and answer.
const TIMEOUT: Duration = Duration::from_secs(5);
const LONGEST_BYTES: u64 = 2 * 1024 * 1024;
const ACCEPT: &str = "text/plain;version=0.0.4";
