//! Quantiles of a metric as the API serializes them: `p95_ms` of a duration, `p5_output_tokens_per_second` of a rate.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::aggregate::metric::Unit;

/// Values of the [`quantiles`] of a unit. A value is absent if it is not known.
#[derive(Debug, Clone)]
pub(crate) struct QuantileValues {
    unit: Unit,
    values: [Option<f64>; COUNT],
}

/// The quantiles of metrics with this unit: the median, then toward the slow end. A slow stream has a long duration,
/// but a low rate.
pub(crate) const fn quantiles(unit: Unit) -> [(&'static str, f64); COUNT] {
    match unit {
        Unit::Milliseconds => [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)],
        Unit::OutputTokensPerSecond => [("p50", 0.5), ("p10", 0.1), ("p5", 0.05), ("p1", 0.01)],
    }
}

/// Names of the fields with [`quantiles`] of this unit, in their order.
pub(crate) fn fields(unit: Unit) -> impl Iterator<Item = String> {
    quantiles(unit).into_iter().map(move |(name, _)| format!("{name}_{}", unit.suffix()))
}

impl QuantileValues {
    pub(crate) fn of(unit: Unit, value: impl Fn(f64) -> Option<f64>) -> Self {
        Self { unit, values: quantiles(unit).map(|(_, q)| value(q)) }
    }

    /// All values, with the names of their quantiles.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> {
        quantiles(self.unit).into_iter().map(|(name, _)| name).zip(self.values)
    }
}

impl Serialize for QuantileValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = fields(self.unit).zip(self.values).filter(|(_, value)| value.is_some());
        serializer.collect_map(known)
    }
}

impl JsonSchema for QuantileValues {
    fn schema_name() -> Cow<'static, str> {
        "QuantileValues".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = [Unit::Milliseconds, Unit::OutputTokensPerSecond].into_iter().flat_map(fields);
        let properties: Map<String, Value> =
            names.map(|name| (name, json!({ "type": ["number", "null"] }))).collect();
        json_schema!({ "type": "object", "properties": properties })
    }
}

const COUNT: usize = 4;
