//! A share and its counts, as the API serializes them.

use schemars::JsonSchema;
use serde::Serialize;

/// A share and the counts that it is computed from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Ratio {
    pub(crate) good: u64,
    pub(crate) total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ratio: Option<f64>,
}

impl Ratio {
    pub(crate) fn of(good: u64, total: u64) -> Self {
        Self { good, total, ratio: share(good, total) }
    }
}

pub(crate) fn share(part: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| part as f64 / total as f64)
}
