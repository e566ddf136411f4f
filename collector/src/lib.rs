//! The collector of llm-rum: beacons from browsers come in; percentiles, a dashboard and Prometheus
//! metrics go out. Each stage of the way is one file, in the order of the modules below.
//!
//! [`ingest`] takes a request, [`admit`] judges its reports, [`journal`] keeps them before they are
//! answered, [`counter`] has [`rollup`] count them, [`store`] holds what was counted, [`query`] and [`exposition`]
//! answer from it.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod aggregate;
mod api;
mod background_thread;
mod cli;
mod config;
mod export;
mod http;
mod ingest;
mod journal;
mod server;
mod slo;
mod stats;
mod store;
mod time;

pub use cli::backup::{BackupError, backup};
pub use cli::grafana::grafana;
pub use cli::prometheus_rules::{NoRule, rules};
pub use cli::replay::{ReplayError, Replayed, replay};
pub use config::origin::{Origin, OriginError};
pub use config::targets::Targets;
pub use config::{
    ClickHouse, Config, ConfigError, Dedupe, Draft, Ingest, Journal, Limits, Mistake, Place, Secret, Site,
    Store, Sync, Temporality,
};
pub use export::otlp::dropped_points;
pub use http::client_ip::{Proxy, ProxyError};
pub use http::rate_limit::Rate;
pub use ingest::bot_filter::Filters;
pub use ingest::validate::judge;
pub use journal::reread;
pub use server::listener::serve;
pub use server::router::app;
pub use server::state::{AppState, Collector};
pub use store::{ClickHouseError, StoreError, Unreadable};
