//! HTTP basics that every route shares: errors, clients and their limits, static files, content encoding.

pub(crate) mod access_control;
pub(crate) mod auth;
pub(crate) mod client_ip;
pub(crate) mod connection;
pub(crate) mod content_encoding;
pub(crate) mod counters;
pub(crate) mod error;
pub(crate) mod fair_share;
pub(crate) mod headers;
pub(crate) mod json_body;
pub(crate) mod not_modified;
pub(crate) mod probe_files;
pub(crate) mod rate_limit;
pub(crate) mod recent_refusals;
pub(crate) mod request_origin;
pub(crate) mod session_cookie;
pub(crate) mod snippet;
pub(crate) mod static_files;
pub(crate) mod streamed_body;
