//! The wire format between probe and collector: everything that a report may contain about one stream.
//!
//! A [`StreamReport`] is JSON with a mergeable [`Histogram`] of inter-chunk gaps. No field can carry a prompt
//! or an answer.
//!
//! A new optional field or a new map key needs no new version, because readers skip unknown fields and keys.
//! A field that changes its meaning, unit or type needs a new [`SCHEMA_VERSION`]. All versions must decode
//! the golden files under `tests/golden`.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod attributes;
mod defect;
mod field;
mod histogram;
mod limits;
mod mark;
mod name_shape;
mod outcome;
mod page_lifecycle;
mod probe_overhead;
pub mod record;
mod report;
mod words;

pub use attributes::{Attributes, MAX_ATTRIBUTE_BYTES, MAX_ATTRIBUTES, is_attribute_key, is_attribute_value};
pub use defect::{Defect, Defects};
pub use field::{Field, FieldValue, Fields, FieldsList, MAX_MS, NewValue, Rule, Value};
pub use histogram::{Bucket, ExponentialHistogram, Histogram, HistogramError, RELATIVE_ERROR, SCALE};
pub use limits::{Misfit, check_fields};
pub use mark::{MAX_MARKS, Mark};
pub use name_shape::NameShape;
pub use outcome::Outcome;
pub use page_lifecycle::PageLifecycle;
pub use probe_overhead::ProbeOverhead;
pub use report::{
    Batch, Dropped, LayerTiming, Layers, MAX_REPORTS, NetworkTiming, Page, SCHEMA_VERSION, ServerTiming,
    StreamReport,
};
pub use words::{LayerEnd, Observed, Protocol, ServerStart, StreamKind};
