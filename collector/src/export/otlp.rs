//! Pushes the metrics to an OpenTelemetry endpoint over OTLP/HTTP, if one is configured. A thread and
//! connection of its own keep a slow endpoint from delaying anything else.

mod points;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use prost::Message;
use rusqlite::Connection;
use tracing::warn;

use crate::background_thread::Background;
use crate::config::{self, Config, Temporality};
use crate::store::error::StoreError;
use crate::store::paths::STORE_FILE;
use crate::store::query::SeriesTotal;
use crate::store::reader::{open, totals};
use crate::time;
use points::{PointKey, SeriesNumbers, TimeRange};

/// Starts the thread, which pushes at an interval, and once more when it is dropped. `None` if no endpoint is
/// configured.
pub(crate) fn start(config: &Config) -> Result<Option<Background>, StoreError> {
    let Some(endpoint) = &config.otlp.endpoint else { return Ok(None) };
    let mut pusher = Pusher::new(config, endpoint);
    let every = Duration::from_secs(u64::from(config.otlp.every_seconds));
    pusher.begin()?;
    let push = move |stop: &Receiver<()>| {
        while let Err(RecvTimeoutError::Timeout) = stop.recv_timeout(every) {
            pusher.push(TRIES, stop);
        }
        pusher.push(1, stop);
    };
    Ok(Some(Background::start("otlp", push).map_err(StoreError::Thread)?))
}

struct Pusher {
    file: PathBuf,
    agent: ureq::Agent,
    url: String,
    settings: config::Otlp,
    /// Numbers that the endpoint has, and the time of that push. Empty with cumulative temporality.
    pushed: BTreeMap<PointKey, (SeriesNumbers, u64)>,
    started_ns: u64,
}

/// Why a push failed.
#[derive(Debug, thiserror::Error)]
enum PushError {
    #[error("cannot reach the endpoint: {0}")]
    Unreachable(#[from] ureq::Error),
    #[error("the endpoint answered {status}")]
    Refused { status: u16, retry_after: Option<Duration> },
}

impl Pusher {
    fn new(config: &Config, endpoint: &str) -> Self {
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .build();
        Self {
            file: config.data.join(STORE_FILE),
            agent: agent.into(),
            url: format!("{}/v1/metrics", endpoint.trim_end_matches('/')),
            settings: config.otlp.clone(),
            pushed: BTreeMap::new(),
            started_ns: now_ns(),
        }
    }

    /// With delta temporality, loads the state of the store: otherwise the first push would send all of it as
    /// new.
    fn begin(&mut self) -> Result<(), StoreError> {
        if self.settings.temporality == Temporality::Delta {
            self.learn(self.read()?, self.started_ns);
        }
        Ok(())
    }

    /// Pushes all changes. Failed messages are sent again with the next push. A message that the endpoint
    /// rejects does not keep the others from being sent.
    fn push(&mut self, tries: u32, stop: &Receiver<()>) {
        let all = match self.read() {
            Ok(all) => all,
            Err(error) => return warn!(%error, "OTLP: cannot read the store"),
        };
        let now_ns = now_ns();
        let (mut all, mut failed) = (all.into_iter().peekable(), Vec::new());
        while all.peek().is_some() {
            let some: BTreeMap<_, _> = all.by_ref().take(SERIES_AT_A_TIME).collect();
            match self.push_some(&some, now_ns, tries, stop) {
                Ok(()) if self.settings.temporality == Temporality::Delta => self.learn(some, now_ns),
                Ok(()) => {}
                Err(error) => {
                    let is_away = error.worth_a_retry().is_some();
                    failed.push(error);
                    if is_away {
                        break;
                    }
                }
            }
        }
        if let Some(error) = failed.last() {
            let messages = failed.len();
            warn!(%error, messages, "OTLP: {error}; failed messages of this push: {messages}");
        }
    }

    fn push_some(
        &self,
        some: &BTreeMap<PointKey, SeriesNumbers>,
        now_ns: u64,
        tries: u32,
        stop: &Receiver<()>,
    ) -> Result<(), PushError> {
        let span = |since_ns| TimeRange { since_ns, now_ns };
        let changed = some.iter().filter_map(|(key, numbers)| match self.settings.temporality {
            // The start time is unknown: the numbers are older than this process.
            Temporality::Cumulative => Some((key, numbers.clone(), span(0))),
            Temporality::Delta => match self.pushed.get(key) {
                None => Some((key, numbers.clone(), span(self.started_ns))),
                Some((pushed, _)) if pushed == numbers => None,
                Some((pushed, until_ns)) => Some((key, numbers.since(pushed), span(*until_ns))),
            },
        });
        let changed: Vec<_> = changed.collect();
        if changed.is_empty() {
            return Ok(());
        }
        let body = points::request(&self.settings, &changed).encode_to_vec();
        let mut wait = FIRST_WAIT;
        for _ in 1..tries {
            let Err(failed) = self.send(&body) else { return Ok(()) };
            let Some(asked) = failed.worth_a_retry() else { return Err(failed) };
            // The process is stopping: the last push follows at once.
            if stop.recv_timeout(asked.unwrap_or(wait).min(LONGEST_WAIT)) != Err(RecvTimeoutError::Timeout) {
                return Err(failed);
            }
            wait *= 2;
        }
        self.send(&body)
    }

    fn send(&self, body: &[u8]) -> Result<(), PushError> {
        let mut request = self.agent.post(&self.url).content_type("application/x-protobuf");
        for (name, value) in &self.settings.headers {
            request = request.header(name, value.bytes());
        }
        let mut answer = request.send(body)?;
        let status = answer.status().as_u16();
        // Proxies and queues in front of an endpoint respond with 202 or 204.
        if !answer.status().is_success() {
            let seconds =
                answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
            return Err(PushError::Refused { status, retry_after: seconds.map(Duration::from_secs) });
        }
        let answer = answer.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec().unwrap_or_default();
        if let Some((points, why)) = dropped_points(&answer) {
            warn!(points, "OTLP: the endpoint dropped {points} points: {why}");
        }
        Ok(())
    }

    fn read(&self) -> Result<BTreeMap<PointKey, SeriesNumbers>, StoreError> {
        let store: Connection = open(&self.file)?;
        let numbers = |SeriesTotal { series, operation, total }: SeriesTotal| {
            (PointKey { series, operation }, SeriesNumbers::of(&total))
        };
        Ok(totals(&store)?.into_iter().map(numbers).collect())
    }

    fn learn(&mut self, some: BTreeMap<PointKey, SeriesNumbers>, now_ns: u64) {
        self.pushed.extend(some.into_iter().map(|(key, numbers)| (key, (numbers, now_ns))));
    }
}

impl PushError {
    /// `Some` if a retry may help, with the delay that the endpoint asks for, if any.
    fn worth_a_retry(&self) -> Option<Option<Duration>> {
        match self {
            Self::Unreachable(_) => Some(None),
            Self::Refused { status: 429 | 502 | 503 | 504, retry_after } => Some(*retry_after),
            Self::Refused { .. } => None,
        }
    }
}

/// Reads from a response how many points the endpoint dropped, and why, escaped for the log. `None` if it
/// dropped none or the response cannot be decoded.
#[must_use]
pub fn dropped_points(answer: &[u8]) -> Option<(i64, String)> {
    let refused = ExportMetricsServiceResponse::decode(answer).ok()?.partial_success?;
    // Keeps the log entry on one line.
    let why = refused.error_message.chars().take(LONGEST_REASON).flat_map(char::escape_debug);
    (refused.rejected_data_points > 0).then(|| (refused.rejected_data_points, why.collect()))
}

fn now_ns() -> u64 {
    time::now_ms().unsigned_abs().saturating_mul(1_000_000)
}

/// Attempts per push; after them the next push is due soon.
const TRIES: u32 = 3;
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Limit for a whole request and response.
const TIMEOUT: Duration = Duration::from_secs(5);
/// In characters.
const LONGEST_REASON: usize = 200;
const LONGEST_ANSWER: u64 = 64 * 1024;

/// Endpoints accept some megabytes per message; a series takes about 2 kB.
const SERIES_AT_A_TIME: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delta_temporality_does_not_start_without_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config { data: folder.path().to_owned(), ..Config::default() };
        config.otlp.endpoint = Some("http://127.0.0.1:1".into());
        config.otlp.temporality = Temporality::Delta;
        assert!(matches!(start(&config), Err(StoreError::Sqlite(_))));
    }
}
