//! The collector of llm-rum: it takes beacons from browsers and serves percentiles, a dashboard and Prometheus
//! metrics. The modules below are its layers: first what the others use, then the way of a report in its order, then
//! what starts and operates the collector. `docs/architecture.md` says what is where.
//!
//! `ingest` checks a request and validates its reports, `journal` writes them to disk before the response, `aggregate`
//! counts them, `rows` makes tables of single streams, `store` keeps the counts. `slo` judges them, `api` and `export`
//! read them from the store, and `notify` sends the alerts.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

// Used by all layers.
mod background_thread;
mod time;

mod config;

mod memory;

mod engine_metrics;

mod report;

mod http;

mod ingest;

mod server_timing;

mod journal;

mod aggregate;

mod rows;

mod store;

mod stats;

mod slo;

mod notify;

mod engines;

mod api;

mod export;

mod server;

mod cli;

pub mod fuzzing;

pub use aggregate::dimension::dimension_names;
pub use aggregate::metric::{METRICS, MetricDefinition, MetricLabels};
pub use aggregate::stream_dimension::stream_dimension_names;
pub use api::openapi_document;
pub use cli::backup::{BackupError, backup};
pub use cli::delete::{
    DateError, DeleteError, DeleteRequest, Deleted, MinuteError, day_start_ms, delete, minute_start_ms,
    preview,
};
pub use cli::grafana::grafana;
pub use cli::healthcheck::{HealthcheckError, healthcheck};
pub use cli::import::{ImportError, Imported, import};
pub use cli::labels::{LabelValue, LabelValueError, LabelsError, SiteLabels, labels};
pub use cli::licenses::licenses;
pub use cli::mcp::{AddressError, McpError, mcp};
pub use cli::notify_test::test_notifications;
pub use cli::online_deletion::{
    DeletionRequests, DeletionResult, FinishedDeletion, OnlineDeleteError, RequestedDeletion, delete_online,
};
pub use cli::prometheus_rules::{NoRule, RulesFile, rules};
pub use cli::repair::{RepairError, Repaired, repair};
pub use cli::replay::{ReplayError, Replayed, replay};
pub use config::engine::{Engine, EngineKind};
pub use config::error::{ConfigError, Mistake, SourceLocation};
pub use config::filters::Filters;
pub use config::load::Draft;
pub use config::notify::{Notify, NotifyKind, Quiet, QuietError};
pub use config::origin::{Origin, OriginError};
pub use config::proxy::{Proxy, ProxyError};
pub use config::rate::Rate;
pub use config::secret::Secret;
pub use config::severity::Severity;
pub use config::targets::{OwnTargets, Profile, ProfileError, Targets};
pub use config::token::{AllowedSites, Scope, Token};
pub use config::{
    AuthProxy, ClickHouse, Config, Dedupe, Ingest, Journal, Limits, OtlpNames, Site, Store, Sync, Temporality,
};
pub use memory::{CountingAllocator, turn_off_huge_pages};
pub use notify::delivery::DeliveryError;
pub use server::collector::Collector;
pub use server::listener::serve;
pub use server::router::app;
pub use server::state::AppState;

pub use crate::store::clickhouse::client::ClickHouseError;
pub use store::error::{StoreError, Unreadable};
