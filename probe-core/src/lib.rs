//! What arrived, when, and was it whole: bytes and times of one streamed LLM answer come in, a
//! [`beacon::StreamReport`] goes out. No browser, no clock, no I/O.
//!
//! ```text
//! bytes + time ─▶ framing ─▶ dialect (over json) ─▶ meter + integrity ─▶ StreamReport
//! ```
//!
//! [`framing`] lends the caller's own bytes back as events. Behind it nothing holds or returns a
//! prompt or an answer: the JSON scanner steps over text and tells only whether there was any.
//! Memory per stream is bounded whatever comes in.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod delta_template;
mod dialect;
pub mod framing;
#[cfg(any(test, fuzzing))]
pub mod fuzz_targets;
mod integrity;
mod json;
mod meter;
mod report_builder;
mod server_timing;
mod time;
mod utf8;
mod work_counter;

pub use meter::{End, Meter, Seen};
pub use report_builder::{Row, Tally};
pub use server_timing::Claim;
pub use time::Timestamp;

/// Whether this is compiled for a page, which has to load whatever makes code fast: what is worth its bytes
/// elsewhere is left out there, and does the same.
pub(crate) const IN_PAGE: bool = cfg!(target_arch = "wasm32");

/// Whether every dialect and framing is here. What few streams are of is otherwise only recognised: a page
/// loads a probe that reads it when it meets one.
pub(crate) const ALL: bool = cfg!(feature = "all");
