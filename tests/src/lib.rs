//! The harness of the journeys: starts the real binaries on free ports and real browsers, and stops each
//! of them again.
//!
//! The binaries are those beside the test: of the same target folder and profile.

mod accuracy;
mod app_page;
mod browser;
mod clickhouse;
mod conformance;
mod devtools;
mod engine;
mod errors;
mod gzip;
mod halts;
mod http;
mod nginx;
mod paint;
mod process;
pub mod recomputed;
mod trace;
mod usage;
mod uvicorn;
mod wire;
mod world;

pub use accuracy::{Accuracy, Compared, accuracy};
pub use app_page::{AppPage, Failure, recording};
pub use browser::Browser;
pub use clickhouse::ClickHouse;
pub use conformance::{ConformanceServer, Row, Table, Walk, conformance, walk};
pub use devtools::DevTools;
pub use engine::{Engine, Garbage};
pub use errors::Errors;
pub use gzip::gzip;
pub use halts::Halts;
pub use http::http;
pub use nginx::{nginx, nginx_with};
pub use paint::{Paint, paint};
pub use process::{Server, binary, free_port, until_told};
pub use usage::Usage;
pub use uvicorn::uvicorn;
pub use wire::Wire;
pub use world::{ClockFile, Collector, DemoSite, LogEntry, Write, eventually, report};
