//! Parts that several answers have: percentiles, shares, differences, tables.

pub(crate) mod around_p95;
pub(crate) mod attacks;
pub(crate) mod csv;
pub(crate) mod difference;
pub(crate) mod groups;
pub(crate) mod in_flight;
pub(crate) mod kept_streams;
pub(crate) mod percentiles;
pub(crate) mod phase_name;
pub(crate) mod quantile_values;
pub(crate) mod ratio;
pub(crate) mod stream_phases;
pub(crate) mod stream_stats;
pub(crate) mod targets_in_view;
pub(crate) mod throughput;
pub(crate) mod unread_output;
pub(crate) mod use_case_status;
