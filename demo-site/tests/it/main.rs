//! The demo site through real sockets.

mod harness;
mod log;
mod refusals;
mod relay;
mod sockets;
mod traffic;
mod truth;
