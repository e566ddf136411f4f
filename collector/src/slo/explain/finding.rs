//! What the comparison found: values, and the figures that make them stand out.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

/// One value of a dimension.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub(crate) struct DimensionValue {
    pub(crate) dimension: Cow<'static, str>,
    pub(crate) value: String,
}

/// A value, or a pair of values, that occurs among the affected streams more often than chance allows.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Finding {
    /// One value, or two that only together have the excess.
    pub(crate) values: Vec<DimensionValue>,
    /// Values of nearly the same streams: the data cannot tell which of them is the reason.
    pub(crate) same: Vec<DimensionValue>,
    /// Values that first appeared when the affected streams became frequent, such as a release: most of them have it.
    pub(crate) began_with: Vec<DimensionValue>,
    /// Affected streams with the values, in the time of the finding.
    pub(crate) affected: u64,
    /// All streams with the values in that time.
    pub(crate) streams: u64,
    /// Share of the affected streams of that time that have the values.
    pub(crate) share_of_affected: f64,
    /// Share of the other streams of that time that have them.
    pub(crate) share_of_rest: f64,
    /// Interval with 95 % confidence of the first share minus the second.
    pub(crate) excess_lower: f64,
    pub(crate) excess_upper: f64,
    /// Start of the time in which streams were affected more often, or those with the values came at all. Absent if that
    /// is the whole range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since_ms: Option<i64>,
    /// End of that time. Absent if it lasts until the end of the range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until_ms: Option<i64>,
    /// Most frequent cause among the affected streams with the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<FindingCause>,
}

/// A cause, and the streams that it explains.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FindingCause {
    pub(crate) name: &'static str,
    pub(crate) streams: u64,
}
