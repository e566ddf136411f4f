//! Counts, percentiles and shares of a set of streams, as the API serializes them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::aggregate::metric::{Metric, MetricDefinition, measured_by_default};
use crate::aggregate::window_stats::{Sum, WindowStats};
use crate::api::answer::percentiles::Quantiles;
use crate::api::answer::ratio::{Ratio, share};
use crate::stats::binomial;

/// Counts, percentiles and shares of a set of streams.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StreamStats {
    outcomes: BTreeMap<&'static str, u64>,
    defects: BTreeMap<&'static str, u64>,
    #[serde(flatten)]
    quantiles: QuantilesById,
    integrity: Ratio,
    availability: Ratio,
    errors: Errors,
    /// Input tokens of the streams whose provider counted them. Absent if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    /// Output tokens of the streams whose provider counted them. Absent if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    /// Streams with the provider's count of output tokens, of all streams.
    with_usage: Ratio,
}

/// Quantiles of the metrics that every probe measures, by id.
#[derive(Debug)]
struct QuantilesById(Vec<(&'static str, Quantiles)>);

/// Failed streams as a share of the eligible streams.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ErrorShare")]
pub(crate) struct Errors {
    count: u64,
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// Lower bound of the failure rate with 95 % confidence. Few streams give a low bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_ci_lower: Option<f64>,
}

impl StreamStats {
    /// Metrics with a distribution in the response.
    pub(crate) fn metrics() -> Vec<Metric> {
        measured_by_default().flat_map(|definition| definition.metric.with_censored()).collect()
    }

    /// `stats` must contain the [`metrics`](Self::metrics).
    pub(crate) fn of(stats: &WindowStats) -> Self {
        Self {
            outcomes: stats.outcomes().map(|(outcome, count)| (outcome.as_str(), count)).collect(),
            defects: stats.defects().map(|(defect, count)| (defect.as_str(), count)).collect(),
            quantiles: QuantilesById::of(stats),
            integrity: Ratio::of(stats.sum(Sum::Intact), stats.eligible()),
            availability: Ratio::of(stats.eligible() - stats.errors(), stats.eligible()),
            errors: Errors::of(stats),
            input_tokens: stats.input_tokens().known(),
            output_tokens: stats.output_tokens().known(),
            with_usage: Ratio::of(stats.output_tokens().streams, stats.streams()),
        }
    }
}

impl QuantilesById {
    fn of(stats: &WindowStats) -> Self {
        let quantiles = |definition: &MetricDefinition| Quantiles::of(stats, definition.metric);
        Self(measured_by_default().map(|definition| (definition.id, quantiles(definition))).collect())
    }
}

impl Serialize for QuantilesById {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(id, quantiles)| (id, quantiles)))
    }
}

impl JsonSchema for QuantilesById {
    fn schema_name() -> Cow<'static, str> {
        "QuantilesById".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let quantiles = generator.subschema_for::<Quantiles>();
        let ids = || measured_by_default().map(|definition| definition.id);
        let properties: BTreeMap<_, _> = ids().map(|id| (id, &quantiles)).collect();
        json_schema!({ "type": "object", "properties": properties, "required": ids().collect::<Vec<_>>() })
    }
}

impl Errors {
    pub(crate) fn of(stats: &WindowStats) -> Self {
        let (count, total) = (stats.errors(), stats.eligible());
        let ratio_ci_lower = (total > 0).then(|| binomial::lower_bound(count, total));
        Self { count, total, ratio: share(count, total), ratio_ci_lower }
    }
}
