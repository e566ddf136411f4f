//! The running collector: its state and threads, the router and the listener.

mod aggregation_worker;
pub(crate) mod collector;
pub(crate) mod listener;
pub(crate) mod router;
mod site_history;
pub(crate) mod state;
