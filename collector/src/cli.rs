//! Commands of the `llm-rum` binary other than `serve`.

pub(crate) mod backup;
pub(crate) mod delete;
pub(crate) mod grafana;
pub(crate) mod healthcheck;
pub(crate) mod import;
pub(crate) mod labels;
pub(crate) mod licenses;
mod lines;
pub(crate) mod mcp;
pub(crate) mod notify_test;
pub(crate) mod online_deletion;
pub(crate) mod prometheus_rules;
pub(crate) mod repair;
pub(crate) mod replay;
mod report_line;
