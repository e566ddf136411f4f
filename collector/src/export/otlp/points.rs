//! Converts cumulative statistics to OTLP data points. Names follow OpenTelemetry's GenAI conventions where
//! those define one. All names: `docs/otlp.md`.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;

use crate::aggregate::cumulative_stats::{self, CumulativeStats, NATIVE_SCHEMA};
use crate::aggregate::dimension::{Dimension, UNKNOWN};
use crate::aggregate::metric::{self, Export, METRICS, MetricDefinition};
use crate::aggregate::operation::Operation;
use crate::aggregate::series::Series;
use crate::aggregate::token_count::TokenCount;
use crate::config::{self, OtlpNames, Temporality};

/// What the attributes of a point are made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PointKey {
    pub(super) series: Series,
    pub(super) operation: Operation,
}

/// Cumulative numbers of one series.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SeriesNumbers {
    outcomes: BTreeMap<&'static str, u64>,
    input_tokens: TokenCount,
    output_tokens: TokenCount,
    histograms: [ExponentialBuckets; METRICS.len()],
}

/// One histogram.
#[derive(Debug, Clone, Default, PartialEq)]
struct ExponentialBuckets {
    sum: f64,
    zero: u64,
    /// Counts by Prometheus' bucket index.
    counts: BTreeMap<i32, u64>,
}

/// Time range of a point. It starts at 0 if the start is unknown.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeRange {
    pub(super) since_ns: u64,
    pub(super) now_ns: u64,
}

/// A key with its numbers and their time range.
pub(super) type SeriesPoint<'a> = (&'a PointKey, SeriesNumbers, TimeRange);

impl SeriesNumbers {
    pub(super) fn of(total: &CumulativeStats) -> Self {
        Self {
            outcomes: total.outcomes().map(|(outcome, count)| (outcome.as_str(), count)).collect(),
            input_tokens: total.input_tokens,
            output_tokens: total.output_tokens,
            histograms: metric::Metric::ALL.map(|metric| ExponentialBuckets::of(total.buckets(metric))),
        }
    }

    /// The difference to earlier numbers.
    pub(super) fn since(&self, before: &Self) -> Self {
        let outcomes = difference(&self.outcomes, &before.outcomes);
        let mut histograms = before.histograms.iter();
        Self {
            outcomes,
            input_tokens: self.input_tokens.since(before.input_tokens),
            output_tokens: self.output_tokens.since(before.output_tokens),
            histograms: self.histograms.each_ref().map(|now| match histograms.next() {
                Some(before) => now.since(before),
                None => now.clone(),
            }),
        }
    }
}

impl ExponentialBuckets {
    fn of(buckets: &cumulative_stats::Buckets) -> Self {
        Self { sum: buckets.sum(), zero: buckets.zero(), counts: buckets.native().collect() }
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            sum: (self.sum - before.sum).max(0.0),
            zero: self.zero.saturating_sub(before.zero),
            counts: difference(&self.counts, &before.counts),
        }
    }

    fn count(&self) -> u64 {
        self.zero + self.counts.values().sum::<u64>()
    }

    fn point(&self, key: &PointKey, span: TimeRange) -> ExponentialHistogramDataPoint {
        let first = self.counts.keys().next().copied().unwrap_or_default();
        let last = self.counts.keys().next_back().copied().unwrap_or(first - 1);
        let dense = (first..=last).map(|number| self.counts.get(&number).copied().unwrap_or_default());
        ExponentialHistogramDataPoint {
            attributes: attributes(key),
            start_time_unix_nano: span.since_ns,
            time_unix_nano: span.now_ns,
            count: self.count(),
            sum: Some(self.sum),
            scale: i32::from(NATIVE_SCHEMA),
            zero_count: self.zero,
            // Prometheus numbers a bucket by its upper edge, OTLP by its lower one.
            positive: Some(Buckets { offset: first - 1, bucket_counts: dense.collect() }),
            ..Default::default()
        }
    }
}

/// One message with all points.
pub(super) fn request(settings: &config::Otlp, points: &[SeriesPoint<'_>]) -> ExportMetricsServiceRequest {
    let temporality = match settings.temporality {
        Temporality::Delta => AggregationTemporality::Delta,
        Temporality::Cumulative => AggregationTemporality::Cumulative,
    }
    .into();
    let mut metrics: Vec<_> = metric::exported()
        .map(|(definition, export)| Metric {
            name: histogram_name(export, settings.names),
            ..histogram(definition, export, points, temporality)
        })
        .collect();
    metrics.push(sum("llm_rum.streams", "Streams by outcome.", "{stream}", temporality, streams(points)));
    let [input_name, output_name] = token_names(settings.names);
    let about = "Output tokens, as counted by providers.";
    let output = tokens(points, |numbers| numbers.output_tokens);
    metrics.push(sum(output_name, about, "{token}", temporality, output));
    let about = "Input tokens, as counted by providers.";
    let input = tokens(points, |numbers| numbers.input_tokens);
    metrics.push(sum(input_name, about, "{token}", temporality, input));
    let scope = InstrumentationScope {
        name: "llm-rum".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Default::default()
    };
    let resource = Resource {
        attributes: vec![
            attribute("service.name", "llm-rum"),
            attribute("service.version", env!("CARGO_PKG_VERSION")),
            attribute("service.instance.id", &settings.instance),
        ],
        ..Default::default()
    };
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope), metrics, ..Default::default() }];
    let resource = ResourceMetrics { resource: Some(resource), scope_metrics, ..Default::default() };
    ExportMetricsServiceRequest { resource_metrics: vec![resource] }
}

/// The conventions renamed the metrics of clients; those of servers and our own have one name.
fn histogram_name(export: &Export, names: OtlpNames) -> String {
    match names {
        OtlpNames::Operation => export.otlp.to_owned(),
        OtlpNames::Inference => export.otlp.replace("gen_ai.client.operation.", "gen_ai.client.inference."),
    }
}

/// Names of the counters of input and output tokens. The earlier conventions have a histogram instead, which needs the
/// counts of single streams.
const fn token_names(names: OtlpNames) -> [&'static str; 2] {
    match names {
        OtlpNames::Operation => ["llm_rum.input_tokens", "llm_rum.output_tokens"],
        OtlpNames::Inference => {
            ["gen_ai.client.inference.usage.input_tokens", "gen_ai.client.inference.usage.output_tokens"]
        }
    }
}

fn histogram(
    definition: &MetricDefinition,
    export: &Export,
    points: &[SeriesPoint<'_>],
    aggregation_temporality: i32,
) -> Metric {
    let points = points
        .iter()
        .map(|(key, numbers, span)| (key, &numbers.histograms[definition.metric as usize], span));
    let known = points.filter(|(_, spread, _)| spread.count() > 0);
    let data_points = known.map(|(key, spread, span)| spread.point(key, *span)).collect();
    Metric {
        description: export.help.to_owned(),
        unit: definition.unit.otlp().to_owned(),
        data: Some(Data::ExponentialHistogram(ExponentialHistogram { data_points, aggregation_temporality })),
        ..Default::default()
    }
}

fn sum(name: &str, about: &str, unit: &str, temporality: i32, data_points: Vec<NumberDataPoint>) -> Metric {
    let data = Sum { data_points, aggregation_temporality: temporality, is_monotonic: true };
    Metric {
        name: name.to_owned(),
        description: about.to_owned(),
        unit: unit.to_owned(),
        data: Some(Data::Sum(data)),
        ..Default::default()
    }
}

fn streams(points: &[SeriesPoint<'_>]) -> Vec<NumberDataPoint> {
    let by_outcome = points.iter().flat_map(|(key, numbers, span)| {
        numbers.outcomes.iter().filter(|(_, count)| **count > 0).map(move |(outcome, count)| {
            let mut point = number(key, *count, *span);
            point.attributes.push(attribute("llm_rum.outcome", outcome));
            point
        })
    });
    by_outcome.collect()
}

/// Leaves out series without a known count: 0 would say that no token was generated.
fn tokens(points: &[SeriesPoint<'_>], of: fn(&SeriesNumbers) -> TokenCount) -> Vec<NumberDataPoint> {
    let known =
        points.iter().filter_map(|(key, numbers, span)| Some(number(key, of(numbers).known()?, *span)));
    known.collect()
}

fn number(key: &PointKey, count: u64, span: TimeRange) -> NumberDataPoint {
    NumberDataPoint {
        start_time_unix_nano: span.since_ns,
        time_unix_nano: span.now_ns,
        value: Some(number_data_point::Value::AsInt(count.cast_signed())),
        attributes: attributes(key),
        ..Default::default()
    }
}

fn attributes(PointKey { series, operation }: &PointKey) -> Vec<KeyValue> {
    let mut attributes = vec![
        attribute("gen_ai.operation.name", operation.as_str()),
        attribute("gen_ai.provider.name", &series[Dimension::Provider]),
        attribute("gen_ai.request.model", &series[Dimension::Model]),
        attribute("llm_rum.site", &series[Dimension::Site]),
        attribute("llm_rum.use_case", &series[Dimension::UseCase]),
    ];
    let response_model = &series[Dimension::ResponseModel];
    if response_model != UNKNOWN {
        attributes.push(attribute("gen_ai.response.model", response_model));
    }
    attributes
}

fn attribute(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(Value::StringValue(value.to_owned())) };
    KeyValue { key: key.to_owned(), value: Some(value), ..Default::default() }
}

fn difference<Key: Copy + Ord>(now: &BTreeMap<Key, u64>, before: &BTreeMap<Key, u64>) -> BTreeMap<Key, u64> {
    let less =
        |(key, count): (&Key, &u64)| (*key, count.saturating_sub(before.get(key).copied().unwrap_or(0)));
    now.iter().map(less).filter(|(_, count)| *count > 0).collect()
}
