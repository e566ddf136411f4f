//! The table by which exactly one collector of a cluster sends notifications. Each row is a turn: its holder and the
//! receivers' states. ClickHouse stores each turn once, so two collectors cannot hold the same one.

use super::client::{ClickHouseError, Client, Params};
use super::outbox::Outbox;
use crate::config::{ClickHouse, Config};
use crate::store::error::StoreError;

/// The table of turns, as one collector uses it.
pub(crate) struct NotifierTable {
    client: Client,
    collector: String,
    is_made: bool,
}

/// A stored turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) number: u64,
    /// Identifier of the collector. Empty after a release.
    pub(crate) holder: String,
    /// States of the receivers, as JSON.
    pub(crate) states: String,
    /// Time since it was stored, by the clock of ClickHouse.
    pub(crate) age_ms: i64,
}

impl NotifierTable {
    pub(crate) fn open(config: &Config, clickhouse: ClickHouse) -> Result<Self, StoreError> {
        let collector = Outbox::open(&config.data)?.collector()?;
        Ok(Self { client: Client::new(clickhouse), collector, is_made: false })
    }

    /// Identifier of this collector.
    pub(crate) fn collector(&self) -> &str {
        &self.collector
    }

    /// The last turn. `None` before the first.
    pub(crate) fn last(&mut self) -> Result<Option<Turn>, StoreError> {
        self.make()?;
        let query = format!(
            "SELECT turn, holder, states, toUnixTimestamp64Milli(now64(3)) - toUnixTimestamp64Milli(saved)
             FROM {} ORDER BY turn DESC LIMIT 1",
            self.client.table(NAME)
        );
        let answer = self.client.query(&query, &Params::default())?;
        let Some(line) = answer.lines().next() else { return Ok(None) };
        let (number, holder, states, age_ms) = serde_json::from_str(line).map_err(ClickHouseError::Row)?;
        Ok(Some(Turn { number, holder, states, age_ms }))
    }

    /// Stores a turn, unless one with this number was stored before.
    pub(crate) fn append(&mut self, number: u64, holder: &str, states: &str) -> Result<(), StoreError> {
        self.make()?;
        let row = serde_json::to_vec(&(number, holder, states))?;
        // ClickHouse drops an insert whose token it has seen.
        let columns = "turn, holder, states";
        Ok(self.client.insert_once(NAME, columns, &format!("turn {number}"), &row)?)
    }

    /// The notifier may run before the publisher has made the other tables.
    fn make(&mut self) -> Result<(), ClickHouseError> {
        if self.is_made {
            return Ok(());
        }
        self.client.execute(&format!("CREATE DATABASE IF NOT EXISTS {}", self.client.database()))?;
        // Merges keep the last turn.
        self.client.execute(&format!(
            "CREATE TABLE IF NOT EXISTS {} (
                key UInt8 DEFAULT 0, turn UInt64, holder String, saved DateTime64(3) DEFAULT now64(3),
                states String CODEC(ZSTD))
            ENGINE = ReplacingMergeTree(turn) ORDER BY key
            SETTINGS non_replicated_deduplication_window = {TOKENS}",
            self.client.table(NAME)
        ))?;
        self.is_made = true;
        Ok(())
    }
}

const NAME: &str = "notifier";

/// Turns that ClickHouse remembers: of some hours. A collector tries a turn seconds after it has read the one before.
const TOKENS: u32 = 1_000;
