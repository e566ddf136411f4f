//! The wire between probe and collector: what one stream's report may say, and nothing else.
//!
//! Comes in: measurements of one stream. Goes out: [`StreamReport`] as JSON, with a mergeable
//! [`Histogram`] of gaps. There is no field that could carry a prompt or an answer.
//!
//! How it may grow: a new optional field or a new map key needs no new version, and a reader skips
//! what it does not know. A field that changes meaning, unit or type needs a new
//! [`SCHEMA_VERSION`]. The golden files under `tests/golden` decode forever.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod around;
mod defect;
mod field;
mod histogram;
mod name_shape;
mod outcome;
pub mod record;
mod report;
mod words;

pub use around::{Around, Cost};
pub use defect::{Defect, Defects};
pub use field::{Field, FieldValue, Fields, MAX_MS, Rule, Value};
pub use histogram::{
    Bucket, Histogram, HistogramError, MAX_INDEX, MIN_INDEX, RELATIVE_ERROR, SCALE, index_of,
};
pub use name_shape::NameShape;
pub use outcome::Outcome;
pub use report::{Batch, Dropped, MAX_REPORTS, Page, Phases, SCHEMA_VERSION, ServerTiming, StreamReport};
pub use words::{Observed, Protocol, ServerStart};
