//! The data of one scrape, and the metric families that are made of it.

use std::collections::BTreeSet;

use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricType};

use super::exemplars::Exemplars;
use super::family::FamilyHead;
use super::{names, native};
use crate::aggregate::cumulative_stats::{Buckets, CumulativeStats};
use crate::aggregate::dimension::Dimension;
use crate::aggregate::internal_metrics::{
    ACCEPTED, APART, CHUNKS_US, COUNTRY_FILES, CountKey, DROPPED, Kind, REJECTED, REPAIRS, TIMED_CHUNKS,
    notification_word,
};
use crate::aggregate::metric::{Export, MetricDefinition, exported};
use crate::aggregate::own_edges::OwnEdges;
use crate::aggregate::series::{Overflow, Series};
use crate::aggregate::token_count::TokenCount;
use crate::config::notify::NotifyKind;
use crate::http::counters::{
    EngineScrapeResult, FactResult, MetricsCut, NotificationResult, PREFLIGHT, SAMPLED_OUT,
};
use crate::http::error::Reason;
use crate::memory::MemoryBudget;
use crate::store::query::{MetricsSnapshot, SeriesSnapshot};

/// The data of one scrape.
pub(super) struct Scrape {
    pub(super) snapshot: MetricsSnapshot,
    /// Streams that are not finalized, by series: of all series of the snapshot, and of those without a finalized stream.
    pub(super) open: Vec<(Series, u64)>,
    /// `None` for the text format, which has neither exemplars nor native buckets.
    pub(super) exemplars: Option<Exemplars>,
    pub(super) own_edges: OwnEdges,
    /// Configured sites.
    pub(super) sites: Vec<String>,
    /// Kinds of configured receivers of notifications.
    pub(super) receivers: BTreeSet<NotifyKind>,
    pub(super) has_engines: bool,
    pub(super) writable: bool,
    pub(super) memory: MemoryBudget,
    pub(super) listeners: usize,
    /// `None` if this collector runs alone.
    pub(super) lag_seconds: Option<f64>,
}

/// A family and how to make its metrics.
pub(super) struct Family {
    pub(super) head: FamilyHead,
    /// It is about the collector itself, and in every answer.
    pub(super) is_own: bool,
    /// Number of rows, such as one for each series.
    pub(super) rows: usize,
    pub(super) row: RowMaker,
}

/// Makes the metrics of a row. They are all in the answer, or none of them.
type RowMaker = Box<dyn Fn(&Scrape, usize) -> Vec<Metric> + Send>;

impl Scrape {
    /// The collector's own families, then the counters and gauges of series, then the histograms: most of an answer is
    /// histograms, so a limit leaves the rest whole. Each part is in the order of the names.
    pub(super) fn families(&self) -> Vec<Family> {
        let mut own = self.own_families();
        let mut of_series = self.counters();
        let mut histograms: Vec<_> =
            exported().map(|(definition, export)| self.histogram(definition, export)).collect();
        for families in [&mut own, &mut of_series, &mut histograms] {
            families.sort_by_key(|family| family.head.name);
        }
        [own, of_series, histograms].into_iter().flatten().collect()
    }

    fn own_families(&self) -> Vec<Family> {
        let mut families: Vec<_> = self.own_counts().into();
        families.extend([self.omitted_series(), self.store_writable(), self.listeners()]);
        families.extend(self.memory());
        families.extend(self.lag_seconds.map(replication_lag));
        families
    }

    fn counters(&self) -> Vec<Family> {
        let tokens = "Output tokens, as counted by providers. Absent while no stream has a count.";
        let input_tokens = "Input tokens, as counted by providers. Absent while no stream has a count.";
        let with_usage = "Streams with the provider's count of output tokens.";
        vec![
            self.counter(names::REQUESTS, "Streams.", |s| s.total.requests()),
            self.counter(names::ERRORS, "Streams in which the service failed.", |s| s.total.errors()),
            self.tokens(names::TOKENS, tokens, |total| total.output_tokens),
            self.tokens(names::INPUT_TOKENS, input_tokens, |total| total.input_tokens),
            self.counter(names::WITH_USAGE, with_usage, |s| s.total.output_tokens.streams),
            self.tpot(),
            self.outcomes(),
            self.open_streams(),
            self.defects(),
            self.counter(names::BROKEN, "Eligible streams that did not arrive intact.", |s| s.total.broken),
            self.counter(names::PACE_KNOWN, PACE_KNOWN, |s| s.total.pace_known),
            self.counter(names::PACE_MISSED, "Those of them that missed a target of pace.", |s| {
                s.total.pace_missed
            }),
        ]
    }

    /// A family with the metrics of each series.
    fn of_series(
        &self,
        (name, help, kind): (&'static str, &'static str, MetricType),
        metrics: impl Fn(&Self, &SeriesSnapshot) -> Vec<Metric> + Send + 'static,
    ) -> Family {
        let rows = self.snapshot.series.len();
        let row = move |scrape: &Self, at: usize| metrics(scrape, &scrape.snapshot.series[at]);
        Family { head: FamilyHead { name, help, kind }, is_own: false, rows, row: Box::new(row) }
    }

    fn counter(&self, name: &'static str, help: &'static str, of: fn(&SeriesSnapshot) -> u64) -> Family {
        let metrics = move |_: &Self, s: &SeriesSnapshot| vec![counted(labels(&s.series), of(s))];
        self.of_series((name, help, MetricType::COUNTER), metrics)
    }

    /// Leaves out series without a known count: 0 would say that no token was generated.
    fn tokens(
        &self,
        name: &'static str,
        help: &'static str,
        of: fn(&CumulativeStats) -> TokenCount,
    ) -> Family {
        self.of_series((name, help, MetricType::COUNTER), move |_, s| {
            let known = of(&s.total).known();
            known.map(|tokens| counted(labels(&s.series), tokens)).into_iter().collect()
        })
    }

    fn tpot(&self) -> Family {
        let help = "Mean time per output token after the first, over the newest five minutes.";
        self.of_series((names::TPOT, help, MetricType::GAUGE), |_, s| {
            let known = s.mean_tpot_ms;
            known.map(|mean_ms| gauge(labels(&s.series), mean_ms / 1_000.0)).into_iter().collect()
        })
    }

    fn outcomes(&self) -> Family {
        self.of_series((names::STREAMS, "Streams by outcome.", MetricType::COUNTER), |_, s| {
            let with = |(outcome, count): (beacon::Outcome, u64)| {
                counted(labels_and(&s.series, "outcome", outcome.as_str()), count)
            };
            s.total.outcomes().map(with).collect()
        })
    }

    fn open_streams(&self) -> Family {
        let help = "Streams that have reported and are not finalized. Probes first report 1 s after the first token, and \
                    after 3 s without one.";
        let head = FamilyHead { name: names::OPEN, help, kind: MetricType::GAUGE };
        let row = |scrape: &Self, at: usize| {
            let (series, open) = &scrape.open[at];
            vec![gauge(labels(series), *open as f64)]
        };
        Family { head, is_own: false, rows: self.open.len(), row: Box::new(row) }
    }

    fn defects(&self) -> Family {
        let help = "Streams with the defect, each counted once.";
        self.of_series((names::DEFECTS, help, MetricType::COUNTER), |_, s| {
            let with = |(defect, count): (beacon::Defect, u64)| {
                counted(labels_and(&s.series, "defect", defect.as_str()), count)
            };
            s.total.defects().map(with).collect()
        })
    }

    fn histogram(&self, definition: &'static MetricDefinition, export: &'static Export) -> Family {
        let head = (export.prometheus, export.help, MetricType::HISTOGRAM);
        self.of_series(head, move |scrape, s| {
            let mut metric = Metric::from_label(labels(&s.series));
            let buckets = s.total.buckets(definition.metric);
            let own = scrape.own_edges.of_metric(definition.metric);
            let mut histogram = cumulate((export.edges, own), buckets);
            if let Some(exemplars) = &scrape.exemplars {
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
            vec![metric]
        })
    }

    fn own_counts(&self) -> [Family; 18] {
        let counts = &self.snapshot.counts;
        let one = |count| vec![counted(Vec::new(), count)];
        let counter = |name, help, metrics| own(name, help, MetricType::COUNTER, metrics);
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
                self.by_site(Kind::Ignored),
            ),
            counter(
                names::LEFT_OUT,
                "Numbers of ended streams that were out of range: left out by the probe or lowered.",
                self.by_site(Kind::LeftOut),
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
            counter(
                names::METRICS_CUTS,
                "Earlier answers of `/metrics` that ended before the last series, by the limit.",
                self.each(Kind::MetricsCut, "reason", MetricsCut::ALL.map(MetricsCut::as_str)),
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

    fn by_site(&self, kind: Kind) -> Vec<Metric> {
        let by_site = self.snapshot.counts.iter(kind);
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

    fn omitted_series(&self) -> Family {
        let omitted = gauge(Vec::new(), self.snapshot.omitted as f64);
        let help = "Series with the fewest streams that are left out here, because there are more than `limits.metrics_series`.";
        own(names::OMITTED_SERIES, help, MetricType::GAUGE, vec![omitted])
    }

    fn store_writable(&self) -> Family {
        let writable = gauge(Vec::new(), if self.writable { 1.0 } else { 0.0 });
        let help = "1 while the collector can store beacons, otherwise 0.";
        own(names::STORE_WRITABLE, help, MetricType::GAUGE, vec![writable])
    }

    fn memory(&self) -> [Family; 2] {
        let bytes = |name, help, bytes: usize| {
            own(name, help, MetricType::GAUGE, vec![gauge(Vec::new(), bytes as f64)])
        };
        let budget = "Memory that the process may use: `memory_bytes`, or what the system allows.";
        [
            bytes(names::MEMORY_USED, "Memory that is allocated now.", self.memory.used_bytes()),
            bytes(names::MEMORY_BUDGET, budget, self.memory.bytes()),
        ]
    }

    fn listeners(&self) -> Family {
        let listeners = gauge(Vec::new(), self.listeners as f64);
        let help = "Current live-feed subscribers.";
        own(names::LISTENERS, help, MetricType::GAUGE, vec![listeners])
    }
}

fn replication_lag(seconds: f64) -> Family {
    let help = "Time since ClickHouse last had everything that this collector had counted.";
    own(names::REPLICATION_LAG, help, MetricType::GAUGE, vec![gauge(Vec::new(), seconds)])
}

/// Whether the answer ends here although there are more series, and why.
pub(super) fn cut_family(cut: Option<MetricsCut>) -> (FamilyHead, Vec<Metric>) {
    let help =
        "1 if this answer ends before the last series, because of the limit: `bytes` or `time`. Otherwise 0.";
    let metric = |reason: MetricsCut| {
        let is_cut = cut == Some(reason);
        gauge(vec![pair("reason", reason.as_str())], f64::from(u8::from(is_cut)))
    };
    let head = FamilyHead { name: names::METRICS_CUT, help, kind: MetricType::GAUGE };
    (head, MetricsCut::ALL.map(metric).into())
}

/// A family of the collector's own figures, in the order of the labels' values.
fn own(name: &'static str, help: &'static str, kind: MetricType, mut metrics: Vec<Metric>) -> Family {
    metrics.sort_by_cached_key(|metric| {
        metric.get_label().iter().map(|label| label.value().to_owned()).collect::<Vec<_>>()
    });
    let rows = metrics.len();
    let row = move |_: &Scrape, at: usize| vec![metrics[at].clone()];
    Family { head: FamilyHead { name, help, kind }, is_own: true, rows, row: Box::new(row) }
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

/// The values of the labels in their order, by which series are sorted.
pub(super) fn label_values(series: &Series) -> Vec<String> {
    labels(series).iter().map(|label| label.value().to_owned()).collect()
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

#[cfg(test)]
pub(super) mod tests {
    use beacon::StreamReport;

    use super::super::accept::ExpositionFormat;
    use super::*;
    use crate::aggregate::internal_metrics::Counts;
    use crate::aggregate::judgement::Judgement;
    use crate::config::Config;

    /// A scrape of so many series, each with one stream.
    pub(in super::super) fn scrape(series: usize, format: ExpositionFormat) -> Scrape {
        let config = Config::default();
        let own_edges = OwnEdges::of(&config);
        let of = |n: usize| {
            let report = StreamReport {
                model: Some(format!("model-{n}").into()),
                ttft_ms: Some(700.0),
                ttfv_ms: Some(700.0),
                output_tokens: Some(9),
                ..StreamReport::new("0")
            };
            let mut total = CumulativeStats::default();
            total.add(&report, Judgement::WITHIN_SLO, &own_edges);
            SeriesSnapshot { series: Series::named_by(&report), total, mean_tpot_ms: Some(20.0) }
        };
        let snapshot =
            MetricsSnapshot { series: (0..series).map(of).collect(), omitted: 0, counts: Counts::default() };
        let open = snapshot.series.iter().map(|of| (of.series.clone(), 0)).collect();
        let exemplars = match format {
            ExpositionFormat::Text => None,
            ExpositionFormat::Protobuf => Some(Exemplars::default()),
        };
        Scrape {
            snapshot,
            open,
            exemplars,
            own_edges,
            sites: vec!["demo".to_owned()],
            receivers: BTreeSet::new(),
            has_engines: false,
            writable: true,
            memory: MemoryBudget::of(&config),
            listeners: 0,
            lag_seconds: None,
        }
    }

    #[test]
    fn families_are_sorted_by_name_in_each_part() {
        let families = scrape(1, ExpositionFormat::Text).families();
        let part = |family: &Family| (!family.is_own, family.head.kind == MetricType::HISTOGRAM);
        let places: Vec<_> = families.iter().map(|family| (part(family), family.head.name)).collect();
        assert!(places.is_sorted(), "{places:?}");
        assert_eq!(places.iter().filter(|(part, _)| *part == (false, false)).count(), 23);
    }
}
