//! Counts journaled reports: one-minute windows of each series, cumulative statistics, samples and internal metrics.

pub(crate) mod aggregator;
pub(crate) mod blob_encoding;
pub(crate) mod censored_wait;
pub(crate) mod changes;
pub(crate) mod cumulative_stats;
pub(crate) mod dedup;
pub(crate) mod dimension;
pub(crate) mod in_flight;
pub(crate) mod internal_metrics;
pub(crate) mod judgement;
pub(crate) mod metric;
pub(crate) mod operation;
pub(crate) mod own_edges;
pub(crate) mod phase;
pub(crate) mod recent_facts;
pub(crate) mod rough_wait;
pub(crate) mod row_file;
pub(crate) mod sampling;
pub(crate) mod series;
pub(crate) mod stream_dimension;
pub(crate) mod token_count;
pub(crate) mod window;
pub(crate) mod window_stats;
pub(crate) mod write_back_cache;
