//! The running collector: its state and threads, the router and the listener.

mod aggregation_worker;
pub(crate) mod collector;
pub(crate) mod listener;
pub(crate) mod router;
pub(crate) mod state;
