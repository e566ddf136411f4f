//! Metrics for other systems: Prometheus scrapes them, OTLP pushes them.

pub(crate) mod otlp;
pub(crate) mod prometheus;
