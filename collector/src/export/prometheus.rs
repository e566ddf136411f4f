//! `GET /metrics`: the cumulative statistics as Prometheus text or protobuf. Counters come from the store, so
//! they keep rising across restarts. Names and labels: `docs/prometheus.md#metrics`.

mod accept;
mod exemplars;
mod exposition;
mod family;
pub(crate) mod names;
mod native;
mod scrape;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, VARY};
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use accept::ExpositionFormat;
use exemplars::Exemplars;
use exposition::Exposition;
use scrape::{Scrape, cut_family, label_values};

use crate::aggregate::dedup::SeqNo;
use crate::aggregate::own_edges::OwnEdges;
use crate::aggregate::series::{Series, UNUSED_DAYS};
use crate::api::state::ApiState;
use crate::config::token::AllowedSites;
use crate::http::counters::{MetricsCut, RequestCounters};
use crate::http::error::{ApiError, Reason};
use crate::http::streamed_body::streamed;
use crate::journal::health::Health;
use crate::store::clickhouse::publisher::PublishStatus;
use crate::store::filter::Filter;
use crate::store::query::{MetricsSnapshot, StreamsQuery};
use crate::store::reader;
use crate::store::stream_index::StreamIndex;
use crate::time;
use crate::time::{day_of, minute_of};

/// Handles a scrape.
pub(crate) async fn metrics(
    State(state): State<ApiState>,
    State(health): State<Arc<Health>>,
    State(published): State<Option<PublishStatus>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let deadline = Instant::now() + time_limit(&headers);
    let permit = timeout_at(deadline, state.scrapes.clone().acquire_owned()).await;
    let permit = permit.map_err(|_| {
        ApiError::new(Reason::Overloaded, "too many scrapes are being answered: read their answers faster")
    })?;
    let permit = permit.expect("the semaphore is never closed");
    let (form, now_ms) = (ExpositionFormat::wanted(&headers), time::now_ms());
    let own_edges = OwnEdges::of(&state.config);
    let edges = own_edges.clone();
    let most_series = state.config.limits.metrics_series;
    let used_since = day_of(now_ms) - UNUSED_DAYS + 1;
    let read_all = move |file: &rusqlite::Connection, stream_index: &StreamIndex| {
        let mut snapshot = reader::snapshot(file, minute_of(now_ms) - TPOT_MINUTES, used_since, most_series)?;
        let exemplars = match form {
            ExpositionFormat::Text => None,
            ExpositionFormat::Protobuf => {
                Some(Exemplars::of(&stream_index.newest(file, &newest(now_ms))?.streams, &edges))
            }
        };
        snapshot.series.sort_by_cached_key(|of| label_values(&of.series));
        let open = with_open(&snapshot, stream_index.open_by_labels(file)?);
        Ok((snapshot, open, exemplars))
    };
    let (snapshot, open, exemplars) = state.reader.run_own(read_all).await?;
    let writable = !health.storage_failed();
    let lag_seconds = published.map(|published| published.lag_seconds(now_ms));
    let listeners = state.live.listeners();
    let memory = state.memory;
    let sites = state.config.sites.iter().map(|site| site.name.clone()).collect();
    let receivers = state.config.notify.iter().map(|receiver| receiver.kind).collect();
    let has_engines = !state.config.engines.is_empty();
    let scrape = Scrape {
        snapshot,
        open,
        exemplars,
        own_edges,
        sites,
        receivers,
        has_engines,
        writable,
        memory,
        listeners,
        lag_seconds,
    };
    let (sender, chunks) = mpsc::channel(PARTS_AHEAD);
    tokio::spawn(async move {
        let exposition = Exposition::new(scrape, form, state.config.limits.metrics_bytes);
        let sent = send_series(exposition, &sender, deadline).await;
        // What is left is short, and the client may take long to read it.
        drop(permit);
        send_end(sent, &sender, form, &state.counters).await;
    });
    let headers = [(CONTENT_TYPE, form.content_type()), (VARY, HeaderValue::from_name(ACCEPT))];
    Ok((headers, streamed(chunks)).into_response())
}

/// Time for the whole answer: a scraper that says when it gives up gets a valid answer before that.
fn time_limit(headers: &HeaderMap) -> Duration {
    let seconds = headers.get(SCRAPE_TIMEOUT).and_then(|value| value.to_str().ok()?.parse::<f64>().ok());
    let seconds = seconds.filter(|seconds| *seconds > 0.0);
    seconds.map_or(LONGEST, |seconds| Duration::from_secs_f64(seconds.min(MOST_SECONDS)).mul_f64(0.9))
}

/// Why an answer ends without its last line.
enum SendError {
    ClientGone,
    Encoding(io::Error),
}

/// Sends the series at the client's pace, and tells whether a limit cut them. Only a few parts are in memory.
async fn send_series(
    mut exposition: Exposition,
    sender: &mpsc::Sender<io::Result<Bytes>>,
    deadline: Instant,
) -> Result<Option<MetricsCut>, SendError> {
    loop {
        // Encoding would delay the beacons of this worker, so it runs on a blocking thread.
        let written = spawn_blocking(move || {
            let part = exposition.next_part();
            (exposition, part)
        });
        let (rest, part) = written.await.map_err(|error| SendError::Encoding(error.into()))?;
        exposition = rest;
        let part = part.map_err(|error| SendError::Encoding(io::Error::other(error)))?;
        if !part.is_empty() {
            match timeout_at(deadline, sender.send(Ok(part.into()))).await {
                Ok(sent) => sent.map_err(|_| SendError::ClientGone)?,
                Err(_) => return Ok(Some(MetricsCut::Time)),
            }
        }
        if exposition.is_at_end() {
            return Ok(exposition.is_cut().then_some(MetricsCut::Bytes));
        }
        if Instant::now() >= deadline {
            return Ok(Some(MetricsCut::Time));
        }
    }
}

/// Ends an answer with whether it is cut, or breaks it off so that no client takes it for whole.
async fn send_end(
    sent: Result<Option<MetricsCut>, SendError>,
    sender: &mpsc::Sender<io::Result<Bytes>>,
    form: ExpositionFormat,
    counters: &RequestCounters,
) {
    let cut = match sent {
        Ok(cut) => cut,
        Err(SendError::ClientGone) => return,
        Err(SendError::Encoding(error)) => {
            tracing::error!(%error, "Cannot encode the metrics");
            let _client_gone = sender.send(Err(error)).await;
            return;
        }
    };
    if let Some(cut) = cut {
        counters.metrics_cut(cut);
    }
    let (head, metrics) = cut_family(cut);
    let end = head.encode(metrics, form).map(Bytes::from).map_err(io::Error::other);
    let _client_gone = sender.send(end).await;
}

/// Open streams of all series of the snapshot, and of series that have no totals yet.
fn with_open(snapshot: &MetricsSnapshot, mut open: HashMap<Series, u64>) -> Vec<(Series, u64)> {
    for of in &snapshot.series {
        open.entry(of.series.clone()).or_default();
    }
    let mut open: Vec<_> = open.into_iter().collect();
    open.sort_by_cached_key(|(series, _)| label_values(series));
    open
}

/// Query for the streams that can become exemplars.
fn newest(now_ms: i64) -> StreamsQuery {
    StreamsQuery {
        // Only tokens without a limit of sites can have the scope `metrics`.
        filter: Filter::of_sites(AllowedSites::All),
        only_ended: false,
        received_ms: (now_ms - EXEMPLARS_MS, i64::MAX),
        before: SeqNo::MAX,
        limit: MOST_EXEMPLARS,
    }
}

/// `llm_tpot_seconds` is the mean over the current minute and this many minutes before it.
const TPOT_MINUTES: i64 = 5;

/// Upper limit of streams read for exemplars, newest first. Reading one takes 5 µs, and exemplars need to be
/// no older than a few scrapes.
const MOST_EXEMPLARS: usize = 500;
const EXEMPLARS_MS: i64 = 120_000;

/// How long Prometheus waits for the answer, in seconds.
const SCRAPE_TIMEOUT: HeaderName = HeaderName::from_static("x-prometheus-scrape-timeout-seconds");

/// Limit of the time for an answer.
const MOST_SECONDS: f64 = 60.0;
const LONGEST: Duration = Duration::from_secs(60);

/// Parts that are ready before the client reads them.
const PARTS_AHEAD: usize = 2;

#[cfg(test)]
mod tests {
    use scrape::tests::scrape;

    use super::*;

    #[track_caller]
    fn check(timeout: &'static str, seconds: f64) {
        let headers = HeaderMap::from_iter([(SCRAPE_TIMEOUT, HeaderValue::from_static(timeout))]);
        assert_eq!(time_limit(&headers), Duration::from_secs_f64(seconds), "{timeout}");
    }

    #[test]
    fn an_answer_ends_before_its_scraper_gives_up() {
        check("10", 9.0);
        check("0.5", 0.45);
        for endless in ["1e300", "inf", "3600"] {
            check(endless, 54.0);
        }
        for wrong in ["", "soon", "NaN", "0", "-1"] {
            check(wrong, 60.0);
        }
    }

    /// Time is the runtime's own, and goes on when all others wait.
    #[tokio::test(start_paused = true)]
    async fn the_deadline_ends_an_answer_that_is_not_read() {
        for form in [ExpositionFormat::Text, ExpositionFormat::Protobuf] {
            let exposition = Exposition::new(scrape(200, form), form, usize::MAX);
            let (sender, mut chunks) = mpsc::channel::<io::Result<Bytes>>(PARTS_AHEAD);
            let (begun, counters) = (Instant::now(), RequestCounters::default());
            let sent = send_series(exposition, &sender, begun + LONGEST).await;
            assert!(matches!(sent, Ok(Some(MetricsCut::Time))));
            assert!(begun.elapsed() >= LONGEST);
            let read = async {
                let mut bytes = Vec::new();
                while let Some(chunk) = chunks.recv().await {
                    bytes.extend_from_slice(&chunk.unwrap());
                }
                bytes
            };
            let end = async {
                send_end(sent, &sender, form, &counters).await;
                drop(sender);
            };
            let (bytes, ()) = tokio::join!(read, end);
            let text = String::from_utf8_lossy(&bytes);
            assert!(text.contains("llm_rum_beacons_total") && text.contains("llm_rum_metrics_cut"));
            if form == ExpositionFormat::Text {
                let end = "llm_rum_metrics_cut{reason=\"bytes\"} 0\nllm_rum_metrics_cut{reason=\"time\"} 1\n";
                assert!(text.ends_with(end), "{text}");
            }
            let counted: Vec<_> = counters.take_metrics_cuts().collect();
            assert_eq!(counted, [(MetricsCut::Bytes, 0), (MetricsCut::Time, 1)]);
        }
    }

    #[tokio::test]
    async fn a_client_that_leaves_ends_the_writing() {
        let form = ExpositionFormat::Text;
        let exposition = Exposition::new(scrape(200, form), form, usize::MAX);
        let (sender, mut chunks) = mpsc::channel::<io::Result<Bytes>>(PARTS_AHEAD);
        let read_once = async {
            chunks.recv().await.unwrap().unwrap();
            drop(chunks);
        };
        let (sent, ()) = tokio::join!(send_series(exposition, &sender, Instant::now() + LONGEST), read_once);
        assert!(matches!(sent, Err(SendError::ClientGone)));
    }
}
