//! Measures one streamed LLM response: makes a [`beacon::StreamReport`] of its bytes and their times. No browser, no
//! clock, no I/O.
//!
//! ```text
//! bytes + time ─▶ framing ─▶ dialect (over json) ─▶ meter + integrity ─▶ StreamReport
//! ```
//!
//! [`framing`] lends the caller's own bytes back as events. No layer above it keeps or returns a prompt or a response:
//! the JSON scanner steps over text and reports only whether there was any. Memory per stream is bounded for any input.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod absent;
mod build_variant;
mod custom_format;
mod delta_template;
mod dialect;
mod event_numbers;
mod field_values;
pub mod framing;
#[cfg(any(test, fuzzing))]
pub mod fuzz_targets;
mod hash;
mod inference;
mod integrity;
mod json;
mod meter;
mod number_limits;
mod report_builder;
mod server_timing;
mod sockets;
mod text_kinds;
mod time;
mod work_counter;

pub use field_values::FieldValues;
pub use meter::{End, Meter, Progress};
pub use report_builder::ReportBuilder;
pub use server_timing::ServerClaim;
pub use sockets::{OwnEvent, Question, Sockets};
pub use time::Timestamp;
