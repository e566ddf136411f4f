//! The query API `/v1`, which is also the dashboard's only source: one file per route. The contract:
//! `docs/query-api.md`.

mod abandonment;
mod breakdown;
mod compare;
mod csv;
mod error;
pub(crate) mod health;
mod heatmap;
mod histogram;
mod ingest_accounting;
mod integrity;
mod live;
pub(crate) mod live_feed;
mod openapi;
mod params;
mod percentiles;
mod quantile_values;
mod query_string;
mod range;
pub(crate) mod ratio;
mod schema;
mod session;
mod slo;
pub(crate) mod state;
pub(crate) mod stream_stats;
mod streams;
mod summary;
mod targets_in_view;
mod throughput;
mod timeseries;
mod use_case_status;

pub(crate) use abandonment::abandonment;
pub(crate) use breakdown::breakdown;
pub(crate) use compare::compare;
pub(crate) use heatmap::heatmap;
pub(crate) use histogram::histogram;
pub(crate) use ingest_accounting::accounting;
pub(crate) use integrity::integrity;
pub(crate) use live::live;
pub use openapi::document as openapi_document;
pub(crate) use openapi::openapi;
pub(crate) use session::{session, sign_in, sign_out};
pub(crate) use slo::{alerts, slo};
pub(crate) use streams::{stream, streams};
pub(crate) use summary::summary;
pub(crate) use timeseries::timeseries;
