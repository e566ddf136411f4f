//! The layer in axum apps, read by real TCP clients.

mod docs;
mod server;
mod tcp;

#[expect(dead_code, reason = "the test starts the app on a port of its own")]
#[path = "../../examples/chat.rs"]
mod chat;
