//! The demo site: a chat page and a scripted LLM server. The server logs every write with its time, so that
//! measurements can be compared with the truth. Each fault of a stream is one click away.
//!
//! The server streams in the format of four APIs. The README in this folder lists the routes.

mod answer;
mod api;
mod client;
mod dialect;
mod event;
mod json;
mod layers;
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
mod timings;
mod traffic;
mod upstream;

pub use log::Log;
pub use page::{Page, PageError};
pub use router::{app, serve};
pub use site::Site;
pub use timings::Timings;
pub use traffic::{Delivered, History, Sent, Traffic};
pub use upstream::{Upstream, UpstreamError};
