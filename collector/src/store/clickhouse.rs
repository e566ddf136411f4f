//! Several collectors that answer as one. Each keeps its share of the data in its own file and journal and
//! publishes it to ClickHouse, where queries add the shares up. How the sums stay exact:
//! `docs/cluster.md#how-it-works`.
//!
//! `outbox.rs` lists the rows that ClickHouse lacks, `publisher.rs` sends them, `queries.rs` answers queries.
//! `engine_table.rs` has the figures of engines, `marker_table.rs` the markers, `visit_key_table.rs` the key of visits.
//! `notifier_table.rs` decides which collector sends notifications. `fact_tables.rs` carries facts of the backend to the
//! collector with the report of their stream.

pub(crate) mod client;
pub(crate) mod deletion;
mod engine_table;
mod fact_tables;
mod marker_table;
pub(crate) mod notifier_table;
mod outbox;
pub(crate) mod publisher;
pub(crate) mod queries;
mod rows;
mod schema;
pub(crate) mod visit_key_table;
