//! The query API `/v1`, which is also the dashboard's only source. The contract: `docs/query-api.md`.
//!
//! A request is read by `request`, answered by a file of `routes`, and made of the parts in `answer`.

pub(crate) mod answer;
mod error;
pub(crate) mod live_feed;
pub(crate) mod marker_rates;
mod openapi;
pub(crate) mod request;
pub(crate) mod routes;
pub(crate) mod state;

pub use openapi::document as openapi_document;
pub(crate) use openapi::openapi;
