//! Shares facts of the backend with the other collectors in each round.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::super::client::Client;
use super::super::fact_tables::SharedFactTables;
use crate::http::counters::RequestCounters;
use crate::journal::Journal;
use crate::journal::batch::FactBatch;
use crate::server_timing::matcher::Matcher;
use crate::server_timing::shared_facts::SharedFacts;
use crate::store::error::StoreError;

/// What the publishing thread needs to exchange facts.
pub(crate) struct FactExchange {
    matcher: Arc<Matcher>,
    journal: Arc<Journal>,
    counters: Arc<RequestCounters>,
    shared: SharedFacts,
    /// Waits for the journal.
    runtime: Runtime,
}

impl FactExchange {
    pub(crate) fn new(
        matcher: Arc<Matcher>,
        journal: Arc<Journal>,
        counters: Arc<RequestCounters>,
        wait_seconds: u32,
    ) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread().build().map_err(StoreError::Thread)?;
        Ok(Self { matcher, journal, counters, shared: SharedFacts::new(wait_seconds), runtime })
    }

    /// One round.
    pub(super) fn exchange(
        &mut self,
        client: &Client,
        collector: &str,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let Self { matcher, journal, counters, shared, runtime } = self;
        let tables = SharedFactTables { client, collector };
        shared
            .exchange(&tables, now_ms, matcher, counters, |batches| runtime.block_on(write(journal, batches)))
    }
}

/// Returns the batches that the journal did not take.
async fn write(journal: &Journal, batches: Vec<FactBatch>) -> Vec<FactBatch> {
    let mut refused = Vec::new();
    let mut batches = batches.into_iter().peekable();
    while batches.peek().is_some() {
        let some: Vec<_> = batches.by_ref().take(AT_ONCE).collect();
        let written: Vec<_> = some.iter().map(|batch| journal.append_facts(batch)).collect();
        for (batch, written) in some.into_iter().zip(written) {
            let is_written = match written {
                Ok(written) => written.await.is_ok(),
                Err(_full) => false,
            };
            refused.extend((!is_written).then_some(batch));
        }
    }
    refused
}

/// The journal's queue takes a limited number of batches at once.
const AT_ONCE: usize = 64;
