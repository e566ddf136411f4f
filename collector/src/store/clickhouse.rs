//! Several collectors, one answer: each keeps its share in its own file and journal, as alone, and
//! publishes it to ClickHouse, where queries add the shares up. How it stays exact:
//! `docs/cluster.md#how-it-works`.
//!
//! `outbox.rs` says what ClickHouse does not have yet, `publisher.rs` sends it, `queries.rs` answers queries.

pub(crate) mod client;
mod outbox;
pub(crate) mod publisher;
pub(crate) mod queries;
mod rows;
mod schema;
