//! The demo site: a chat page and a scripted LLM server with a log of what it sent when, so that every way
//! in which a stream can go wrong is one click away and can be measured against the truth.
//!
//! Requests come in; the page, or a stream in one of four APIs, goes out. The README beside
//! has the routes.

mod answer;
mod api;
mod between;
mod dialect;
mod event;
mod json;
mod llm;
mod log;
mod page;
mod plan;
mod play;
mod recorded;
mod reply;
mod router;
mod scenario;
mod script;
mod site;
mod socket;
mod traffic;
mod upstream;

pub use log::Log;
pub use page::{Page, PageError};
pub use router::{app, serve};
pub use site::Site;
pub use traffic::{Delivered, Sent, Traffic};
pub use upstream::{Upstream, UpstreamError};
