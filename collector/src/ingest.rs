//! Accepts beacons: checks the request, reads its body, validates its reports and hands them to the journal.

pub(crate) mod body;
pub(crate) mod bot_filter;
pub(crate) mod geoip;
pub(crate) mod handler;
pub(crate) mod normalize;
mod page_token;
pub(crate) mod server_timings;
pub(crate) mod site;
pub(crate) mod state;
pub(crate) mod user_agent;
pub(crate) mod validate;
pub(crate) mod visit_key;
