//! The demo site through real sockets.

mod harness;
mod log;
mod refusals;
mod relay;
mod sockets;
mod timings;
mod traffic;
mod truth;
