//! Names of the metrics, for the exposition, the alert rules and the Grafana dashboard.
//! The table of [metrics](crate::aggregate::metric::METRICS) names the histograms.
//! Definitions: `docs/prometheus.md#metrics`.

pub(crate) const REQUESTS: &str = "llm_requests_total";
pub(crate) const ERRORS: &str = "llm_generation_errors_total";
pub(crate) const TOKENS: &str = "llm_tokens_generated_total";
pub(crate) const INPUT_TOKENS: &str = "llm_input_tokens_total";
pub(crate) const WITH_USAGE: &str = "llm_rum_streams_with_usage_total";
pub(crate) const TPOT: &str = "llm_tpot_seconds";
pub(crate) const STREAMS: &str = "llm_rum_streams_total";
pub(crate) const OPEN: &str = "llm_rum_open_streams";
pub(crate) const DEFECTS: &str = "llm_rum_stream_defects_total";
pub(crate) const BROKEN: &str = "llm_rum_broken_streams_total";
pub(crate) const PACE_KNOWN: &str = "llm_rum_pace_streams_total";
pub(crate) const PACE_MISSED: &str = "llm_rum_pace_missed_streams_total";
pub(crate) const BEACONS: &str = "llm_rum_beacons_total";
pub(crate) const REPORTS: &str = "llm_rum_reports_total";
pub(crate) const LABEL_LIMIT_EXCEEDED: &str = "llm_rum_label_limit_exceeded_total";
pub(crate) const APART: &str = "llm_rum_apart_streams_total";
pub(crate) const DROPPED: &str = "llm_rum_probe_dropped_total";
pub(crate) const TIMED_CHUNKS: &str = "llm_rum_probe_timed_chunks_total";
pub(crate) const CHUNK_SECONDS: &str = "llm_rum_probe_chunk_seconds_total";
pub(crate) const REPAIRS: &str = "llm_rum_journal_repairs_total";
pub(crate) const LEFT_OUT: &str = "llm_rum_values_left_out_total";
pub(crate) const IGNORED_FIELDS: &str = "llm_rum_ignored_fields_total";
pub(crate) const COUNTRY_FILES: &str = "llm_rum_country_files_total";
pub(crate) const LIVE_REJECTED: &str = "llm_rum_live_rejected_total";
pub(crate) const NOTIFICATIONS: &str = "llm_rum_notifications_total";
pub(crate) const SERVER_FACTS: &str = "llm_rum_server_facts_total";
pub(crate) const ENGINE_SCRAPES: &str = "llm_rum_engine_scrapes_total";
pub(crate) const ACCESS_REFUSED: &str = "llm_rum_access_refused_total";
pub(crate) const MEMORY_USED: &str = "llm_rum_memory_used_bytes";
pub(crate) const MEMORY_BUDGET: &str = "llm_rum_memory_budget_bytes";
pub(crate) const MEMORY_REFUSED: &str = "llm_rum_memory_refused_requests_total";
pub(crate) const OMITTED_SERIES: &str = "llm_rum_omitted_series";
pub(crate) const METRICS_CUT: &str = "llm_rum_metrics_cut";
pub(crate) const METRICS_CUTS: &str = "llm_rum_metrics_cuts_total";
pub(crate) const STORE_WRITABLE: &str = "llm_rum_store_writable";
pub(crate) const LISTENERS: &str = "llm_rum_live_listeners";
pub(crate) const REPLICATION_LAG: &str = "llm_rum_replication_lag_seconds";
