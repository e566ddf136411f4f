//! Several collectors, one answer: each keeps its share in its own file and journal, as alone, and
//! publishes it to ClickHouse, where queries add the shares up. How it stays exact:
//! `docs/architecture.md#a-cluster`.
//!
//! `outbox.rs` says what ClickHouse does not have yet, `publish.rs` sends it, `ask.rs` answers queries.

mod ask;
mod client;
mod outbox;
mod publish;
mod rows;
mod tables;

pub(crate) use ask::Tables;
pub use client::ClickHouseError;
pub(crate) use publish::{Heard, Published, Publisher};
