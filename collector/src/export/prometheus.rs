//! `GET /metrics`: the cumulative statistics as Prometheus text or protobuf. Counters come from the store, so
//! they keep rising across restarts. Names and labels: `docs/prometheus.md#metrics`.

mod accept;
mod exemplars;
pub(crate) mod names;
mod native;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, VARY};
use axum::response::{IntoResponse, Response};
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{Encoder, ProtobufEncoder, Registry, TextEncoder};
use tokio::task::spawn_blocking;

use accept::ExpositionFormat;
use exemplars::Exemplars;

use crate::aggregate::cumulative_stats::{Buckets, CumulativeStats};
use crate::aggregate::dedup::SeqNo;
use crate::aggregate::dimension::Dimension;
use crate::aggregate::internal_metrics::{
    ACCEPTED, APART, CHUNKS_US, COUNTRY_FILES, CountKey, DROPPED, Kind, REJECTED, REPAIRS, TIMED_CHUNKS,
    notification_word,
};
use crate::aggregate::metric::{Export, MetricDefinition, exported};
use crate::aggregate::own_edges::OwnEdges;
use crate::aggregate::series::{Overflow, Series, UNUSED_DAYS};
use crate::aggregate::token_count::TokenCount;
use crate::api::state::ApiState;
use crate::config::notify::NotifyKind;
use crate::config::token::AllowedSites;
use crate::http::counters::{EngineScrapeResult, FactResult, NotificationResult, PREFLIGHT, SAMPLED_OUT};
use crate::http::error::{ApiError, Reason};
use crate::journal::health::Health;
use crate::memory::MemoryBudget;
use crate::store::clickhouse::publisher::PublishStatus;
use crate::store::filter::Filter;
use crate::store::query::{MetricsSnapshot, SeriesSnapshot, StreamsQuery};
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
    let (form, now_ms) = (ExpositionFormat::wanted(&headers), time::now_ms());
    let own_edges = OwnEdges::of(&state.config);
    let edges = own_edges.clone();
    let most_series = state.config.limits.metrics_series;
    let used_since = day_of(now_ms) - UNUSED_DAYS + 1;
    let read_all = move |file: &rusqlite::Connection, stream_index: &StreamIndex| {
        let snapshot = reader::snapshot(file, minute_of(now_ms) - TPOT_MINUTES, used_since, most_series)?;
        let exemplars = match form {
            ExpositionFormat::Text => None,
            ExpositionFormat::Protobuf => {
                Some(Exemplars::of(&stream_index.newest(file, &newest(now_ms))?.streams, &edges))
            }
        };
        Ok((snapshot, stream_index.open_by_labels(file)?, exemplars))
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
    // Encoding thousands of series would delay the beacons of this worker, so it runs on a blocking thread.
    let encoded = spawn_blocking(move || encode(scrape, form)).await;
    let body = encoded.expect("writing neither panics nor is cancelled").map_err(|error| {
        tracing::error!(%error, "Cannot encode the metrics");
        ApiError::new(Reason::Internal, "the metrics cannot be encoded; the collector's log has the cause")
    })?;
    let headers = [(CONTENT_TYPE, form.content_type()), (VARY, HeaderValue::from_name(ACCEPT))];
    Ok((headers, body).into_response())
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

fn encode(scrape: Scrape, form: ExpositionFormat) -> Result<Vec<u8>, prometheus::Error> {
    let registry = Registry::new();
    registry.register(Box::new(Described { desc: describe()?, scrape }))?;
    let (families, mut body) = (registry.gather(), Vec::new());
    match form {
        ExpositionFormat::Text => TextEncoder::new().encode(&families, &mut body)?,
        ExpositionFormat::Protobuf => ProtobufEncoder::new().encode(&families, &mut body)?,
    }
    Ok(body)
}

/// The data of one scrape.
struct Scrape {
    snapshot: MetricsSnapshot,
    /// Streams that are not finalized, by series.
    open: HashMap<Series, u64>,
    /// `None` for the text format, which has neither exemplars nor native buckets.
    exemplars: Option<Exemplars>,
    own_edges: OwnEdges,
    /// Configured sites.
    sites: Vec<String>,
    /// Kinds of configured receivers of notifications.
    receivers: BTreeSet<NotifyKind>,
    has_engines: bool,
    writable: bool,
    memory: MemoryBudget,
    listeners: usize,
    /// `None` if this collector runs alone.
    lag_seconds: Option<f64>,
}

/// A registry requires at least one description per collector.
struct Described {
    desc: Desc,
    scrape: Scrape,
}

fn describe() -> Result<Desc, prometheus::Error> {
    Desc::new(names::REQUESTS.into(), REQUESTS.into(), Vec::new(), Default::default())
}

impl Collector for Described {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.desc]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.scrape.families()
    }
}

impl Scrape {
    fn families(&self) -> Vec<MetricFamily> {
        let mut families = vec![
            self.counter(names::REQUESTS, REQUESTS, |s| s.total.requests()),
            self.counter(names::ERRORS, "Streams in which the service failed.", |s| s.total.errors()),
            self.tokens(
                names::TOKENS,
                "Output tokens, as counted by providers. Absent while no stream has a count.",
                |total| total.output_tokens,
            ),
            self.tokens(
                names::INPUT_TOKENS,
                "Input tokens, as counted by providers. Absent while no stream has a count.",
                |total| total.input_tokens,
            ),
            self.counter(names::WITH_USAGE, "Streams with the provider's count of output tokens.", |s| {
                s.total.output_tokens.streams
            }),
            self.tpot(),
            self.outcomes(),
            self.open_streams(),
            self.defects(),
            self.counter(names::BROKEN, "Eligible streams that did not arrive intact.", |s| s.total.broken),
            self.counter(names::PACE_KNOWN, PACE_KNOWN, |s| s.total.pace_known),
            self.counter(names::PACE_MISSED, "Those of them that missed a target of pace.", |s| {
                s.total.pace_missed
            }),
        ];
        families.extend(exported().map(|(definition, export)| self.histogram(definition, export)));
        families.extend(self.own_counts());
        families.push(self.omitted_series());
        families.push(self.store_writable());
        families.extend(self.memory());
        families.push(self.listeners());
        families.extend(self.lag_seconds.map(replication_lag));
        families
    }

    fn counter(&self, name: &str, help: &str, of: impl Fn(&SeriesSnapshot) -> u64) -> MetricFamily {
        let metrics = self.snapshot.series.iter().map(|s| counted(labels(&s.series), of(s)));
        family(name, help, MetricType::COUNTER, metrics.collect())
    }

    /// Leaves out series without a known count: 0 would say that no token was generated.
    fn tokens(&self, name: &str, help: &str, of: fn(&CumulativeStats) -> TokenCount) -> MetricFamily {
        let known = self.snapshot.series.iter().filter_map(|s| Some((s, of(&s.total).known()?)));
        let metrics = known.map(|(s, tokens)| counted(labels(&s.series), tokens));
        family(name, help, MetricType::COUNTER, metrics.collect())
    }

    fn tpot(&self) -> MetricFamily {
        let known = self.snapshot.series.iter().filter_map(|s| Some((s, s.mean_tpot_ms?)));
        let metrics = known.map(|(s, mean_ms)| gauge(labels(&s.series), mean_ms / 1_000.0));
        let help = "Mean time per output token after the first, over the newest five minutes.";
        family(names::TPOT, help, MetricType::GAUGE, metrics.collect())
    }

    fn outcomes(&self) -> MetricFamily {
        let metrics = self.snapshot.series.iter().flat_map(|s| {
            let with = |(outcome, count): (beacon::Outcome, u64)| {
                counted(labels_and(&s.series, "outcome", outcome.as_str()), count)
            };
            s.total.outcomes().map(with).collect::<Vec<_>>()
        });
        family(names::STREAMS, "Streams by outcome.", MetricType::COUNTER, metrics.collect())
    }

    fn open_streams(&self) -> MetricFamily {
        let counted: HashSet<_> = self.snapshot.series.iter().map(|s| &s.series).collect();
        // A series without a finalized stream has no totals yet.
        let new = self.open.keys().filter(|series| !counted.contains(series));
        let all = self.snapshot.series.iter().map(|s| &s.series).chain(new);
        let open = |series: &Series| self.open.get(series).copied().unwrap_or_default() as f64;
        let metrics = all.map(|series| gauge(labels(series), open(series)));
        let help = "Streams that have reported and are not finalized. Probes first report 1 s after the first token, and \
                    after 3 s without one.";
        family(names::OPEN, help, MetricType::GAUGE, metrics.collect())
    }

    fn defects(&self) -> MetricFamily {
        let metrics = self.snapshot.series.iter().flat_map(|s| {
            let with = |(defect, count): (beacon::Defect, u64)| {
                counted(labels_and(&s.series, "defect", defect.as_str()), count)
            };
            s.total.defects().map(with).collect::<Vec<_>>()
        });
        let help = "Streams with the defect, each counted once.";
        family(names::DEFECTS, help, MetricType::COUNTER, metrics.collect())
    }

    fn histogram(&self, definition: &MetricDefinition, export: &Export) -> MetricFamily {
        let metrics = self.snapshot.series.iter().map(|s| {
            let mut metric = Metric::from_label(labels(&s.series));
            let buckets = s.total.buckets(definition.metric);
            let own = self.own_edges.of_metric(definition.metric);
            let mut histogram = cumulate((export.edges, own), buckets);
            if let Some(exemplars) = &self.exemplars {
                native::add_native(&mut histogram, buckets);
                // The text encoder adds the `+Inf` bucket by itself.
                histogram.bucket.push(bucket(f64::INFINITY, histogram.sample_count()));
                for (at, bucket) in histogram.bucket.iter_mut().enumerate() {
                    if let Some(exemplar) = exemplars.get(&s.series, definition.metric, at) {
                        native::add_exemplar(bucket, exemplar);
                    }
                }
            }
            metric.set_histogram(histogram);
            metric
        });
        family(export.prometheus, export.help, MetricType::HISTOGRAM, metrics.collect())
    }

    fn own_counts(&self) -> [MetricFamily; 16] {
        let counts = &self.snapshot.counts;
        let one = |count| vec![counted(Vec::new(), count)];
        let counter = |name, help, metrics| family(name, help, MetricType::COUNTER, metrics);
        [
            counter(names::BEACONS, "Requests to the ingest endpoint, by result.", self.beacons()),
            counter(names::REPORTS, "Accepted reports, by result.", self.seen(Kind::Report, "result")),
            counter(
                names::LABEL_LIMIT_EXCEEDED,
                "Streams counted as `other` because a site reached a limit, by label.",
                self.overflows(),
            ),
            counter(
                names::APART,
                "Ended streams that are in no other metric, by kind: background, or seen only in the page.",
                self.each(Kind::Apart, "stream_kind", APART),
            ),
            counter(
                names::DROPPED,
                "Reports that probes dropped, by reason.",
                self.each(Kind::Dropped, "reason", DROPPED),
            ),
            counter(
                names::TIMED_CHUNKS,
                "Chunks timed by probes with the extension `probeOverhead`.",
                one(counts.get(Kind::ProbeOverhead, TIMED_CHUNKS)),
            ),
            counter(
                names::CHUNK_SECONDS,
                "Time that the probes' own code took in the timed chunks.",
                vec![summed(Vec::new(), counts.get(Kind::ProbeOverhead, CHUNKS_US) as f64 / 1e6)],
            ),
            counter(
                names::REPAIRS,
                "Damaged parts of the journal found at a start, by kind.",
                self.each(Kind::Repair, "kind", REPAIRS),
            ),
            counter(
                names::IGNORED_FIELDS,
                "Report fields that this version does not know, and attributes that it drops.",
                self.ignored_fields(),
            ),
            counter(
                names::COUNTRY_FILES,
                "New country files, by result.",
                self.each(Kind::CountryFile, "result", COUNTRY_FILES),
            ),
            counter(
                names::LIVE_REJECTED,
                "Live-feed connections rejected because the subscriber limit was reached.",
                one(counts.get(Kind::Listener, REJECTED)),
            ),
            counter(
                names::NOTIFICATIONS,
                "Attempts to deliver a notification, by kind of receiver and result.",
                self.notifications(),
            ),
            counter(
                names::MEMORY_REFUSED,
                "Requests other than beacons that were refused for the memory budget.",
                one(counts.get(Kind::Memory, REJECTED)),
            ),
            counter(names::ENGINE_SCRAPES, "Scrapes of engines, by result.", self.engine_scrapes()),
            counter(
                names::SERVER_FACTS,
                "Timings of single streams that the backend sent, by result.",
                self.each(Kind::ServerFact, "result", FactResult::ALL.map(FactResult::as_str)),
            ),
            counter(
                names::ACCESS_REFUSED,
                "Requests for data that were refused access, by reason.",
                self.each(Kind::Access, "reason", Reason::ACCESS.map(Reason::code)),
            ),
        ]
    }

    /// Beacons by result, including results that never occurred. `rate()` would miss the first increment of a
    /// counter that starts with it.
    fn beacons(&self) -> Vec<Metric> {
        let is_seen = |word: &str| self.snapshot.counts.iter(Kind::Beacon).any(|(key, _)| key.word == word);
        let results =
            Reason::FRONT_DOOR.into_iter().map(Reason::code).chain([ACCEPTED, PREFLIGHT, SAMPLED_OUT]);
        let unseen = results.filter(|word| !is_seen(word)).map(|word| counted(vec![pair("result", word)], 0));
        self.seen(Kind::Beacon, "result").into_iter().chain(unseen).collect()
    }

    /// Overflow by site and label, including the zeros of all configured sites.
    fn overflows(&self) -> Vec<Metric> {
        let is_seen = |site: &str, label: &str| {
            let mut seen = self.snapshot.counts.iter(Kind::Overflow);
            seen.any(|(key, _)| key.site == site && key.word == label)
        };
        let labels = |site| Overflow::all().map(move |overflow| (site, overflow.as_str()));
        let unseen = self.sites.iter().flat_map(labels).filter(|(site, label)| !is_seen(site, label));
        let unseen = unseen.map(|(site, label)| counted(vec![pair("label", label), pair("site", site)], 0));
        self.seen(Kind::Overflow, "label").into_iter().chain(unseen).collect()
    }

    /// Notifications of all configured kinds, including zeros.
    fn notifications(&self) -> Vec<Metric> {
        let counts = &self.snapshot.counts;
        let each = |kind: &NotifyKind| NotificationResult::ALL.map(|result| (*kind, result));
        let metric = |(kind, result): (NotifyKind, NotificationResult)| {
            let count = counts.get(Kind::Notification, &notification_word(kind, result));
            counted(vec![pair("kind", kind.as_str()), pair("result", result.as_str())], count)
        };
        self.receivers.iter().flat_map(each).map(metric).collect()
    }

    /// All results, including zeros, if engines are configured.
    fn engine_scrapes(&self) -> Vec<Metric> {
        let results = EngineScrapeResult::ALL.map(EngineScrapeResult::as_str);
        if self.has_engines { self.each(Kind::EngineScrape, "result", results) } else { Vec::new() }
    }

    fn ignored_fields(&self) -> Vec<Metric> {
        let by_site = self.snapshot.counts.iter(Kind::Ignored);
        by_site.map(|(key, count)| counted(vec![pair("site", &key.site)], count)).collect()
    }

    /// Counters of a kind by word, and by site if the kind has one; only words that occurred.
    fn seen(&self, kind: Kind, label: &str) -> Vec<Metric> {
        let metric = |(key, count): (&CountKey, u64)| {
            let mut pairs = vec![pair(label, &key.word)];
            if !key.site.is_empty() {
                pairs.push(pair("site", &key.site));
            }
            counted(pairs, count)
        };
        self.snapshot.counts.iter(kind).map(metric).collect()
    }

    /// Counters of a kind for all `words`, including zeros.
    fn each<const N: usize>(&self, kind: Kind, label: &str, words: [&str; N]) -> Vec<Metric> {
        let counts = &self.snapshot.counts;
        words.map(|word| counted(vec![pair(label, word)], counts.get(kind, word))).into()
    }

    fn omitted_series(&self) -> MetricFamily {
        let omitted = gauge(Vec::new(), self.snapshot.omitted as f64);
        let help = "Series with the fewest streams that are left out here, because there are more than `limits.metrics_series`.";
        family(names::OMITTED_SERIES, help, MetricType::GAUGE, vec![omitted])
    }

    fn store_writable(&self) -> MetricFamily {
        let writable = gauge(Vec::new(), if self.writable { 1.0 } else { 0.0 });
        let help = "1 while the collector can store beacons, otherwise 0.";
        family(names::STORE_WRITABLE, help, MetricType::GAUGE, vec![writable])
    }

    fn memory(&self) -> [MetricFamily; 2] {
        let bytes = |name, help, bytes: usize| {
            family(name, help, MetricType::GAUGE, vec![gauge(Vec::new(), bytes as f64)])
        };
        let budget = "Memory that the process may use: `memory_bytes`, or what the system allows.";
        [
            bytes(names::MEMORY_USED, "Memory that is allocated now.", self.memory.used_bytes()),
            bytes(names::MEMORY_BUDGET, budget, self.memory.bytes()),
        ]
    }

    fn listeners(&self) -> MetricFamily {
        let listeners = gauge(Vec::new(), self.listeners as f64);
        let help = "Current live-feed subscribers.";
        family(names::LISTENERS, help, MetricType::GAUGE, vec![listeners])
    }
}

fn replication_lag(seconds: f64) -> MetricFamily {
    let help = "Time since ClickHouse last had everything that this collector had counted.";
    family(names::REPLICATION_LAG, help, MetricType::GAUGE, vec![gauge(Vec::new(), seconds)])
}

fn family(name: &str, help: &str, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}

fn counted(labels: Vec<LabelPair>, count: u64) -> Metric {
    summed(labels, count as f64)
}

fn summed(labels: Vec<LabelPair>, sum: f64) -> Metric {
    let mut counter = Counter::default();
    counter.set_value(sum);
    let mut metric = Metric::from_label(labels);
    metric.set_counter(counter);
    metric
}

fn gauge(labels: Vec<LabelPair>, value: f64) -> Metric {
    let mut gauge = Gauge::default();
    gauge.set_value(value);
    let mut metric = Metric::from_label(labels);
    metric.set_gauge(gauge);
    metric
}

fn cumulate((edges, own): (&[f64], &[f64]), buckets: &Buckets) -> Histogram {
    let mut histogram = Histogram::default();
    let cumulative = buckets.cumulative(edges, own).into_iter();
    histogram.set_bucket(cumulative.map(|(edge, so_far)| bucket(edge, so_far)).collect());
    histogram.set_sample_count(buckets.classic().take(edges.len() + 1).sum());
    histogram.set_sample_sum(buckets.sum());
    histogram
}

fn bucket(upper: f64, cumulative: u64) -> Bucket {
    let mut bucket = Bucket::default();
    bucket.set_upper_bound(upper);
    bucket.set_cumulative_count(cumulative);
    bucket
}

fn labels(series: &Series) -> Vec<LabelPair> {
    let mut labels: Vec<_> =
        Dimension::labels().map(|dimension| pair(dimension.name(), &series[dimension])).collect();
    labels.sort_by(|one, other| one.name().cmp(other.name()));
    labels
}

fn labels_and(series: &Series, name: &str, value: &str) -> Vec<LabelPair> {
    let mut labels = labels(series);
    labels.insert(0, pair(name, value));
    labels
}

fn pair(name: &str, value: &str) -> LabelPair {
    let mut pair = LabelPair::default();
    pair.set_name(name.to_owned());
    pair.set_value(value.to_owned());
    pair
}

const PACE_KNOWN: &str = "Streams with a time per output token or a longest gap that has a target.";

const REQUESTS: &str = "Streams.";

/// `llm_tpot_seconds` is the mean over the current minute and this many minutes before it.
const TPOT_MINUTES: i64 = 5;

/// Upper limit of streams read for exemplars, newest first. Reading one takes 5 µs, and exemplars need to be
/// no older than a few scrapes.
const MOST_EXEMPLARS: usize = 500;
const EXEMPLARS_MS: i64 = 120_000;
