//! A [`tower`](tower_layer::Layer) layer that writes the server's time to first token into streamed LLM responses,
//! for browsers only. llm-rum measures the same streams in the browser, and shows both times.
//!
//! `instrumentation/contract.json` has the rules, and the cases by which the middleware of all languages is tested.

mod body;
mod comment_writer;
mod eligibility;
mod event_kind;
mod event_splitter;
mod marks;
mod service;
mod stream_end;

#[cfg(test)]
mod tests;

pub use body::CommentedBody;
pub use marks::{Marks, mark};
pub use service::{LlmRum, LlmRumLayer, ResponseFuture};
pub use stream_end::{Ended, StreamEnd};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/server-timing-rust.md")]
struct Recipes;
