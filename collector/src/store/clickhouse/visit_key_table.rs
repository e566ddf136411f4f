//! The key of visits that the collectors of a cluster share. ClickHouse stores the first proposal of each day, and has
//! each key only until its day is over.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::client::{ClickHouseError, Client, Params};
use crate::config::ClickHouse;
use crate::ingest::visit_key::Secret;
use crate::ingest::visit_key::shared::{SharedKeyError, SharedKeys};

/// The table of keys, as one collector uses it.
pub(crate) struct VisitKeyTable {
    client: Client,
    is_made: bool,
}

impl VisitKeyTable {
    pub(crate) fn new(mut clickhouse: ClickHouse) -> Self {
        // The end of the collector waits for a statement that runs. All of them are small.
        clickhouse.timeout_seconds = clickhouse.timeout_seconds.min(MAX_TIMEOUT_SECONDS);
        Self { client: Client::new(clickhouse), is_made: false }
    }

    fn make(&mut self) -> Result<(), ClickHouseError> {
        if self.is_made {
            return Ok(());
        }
        self.client.execute(&format!("CREATE DATABASE IF NOT EXISTS {}", self.client.database()))?;
        // The TTL is for a cluster that is stopped. A running one deletes keys itself.
        self.client.execute(&format!(
            "CREATE TABLE IF NOT EXISTS {} (day UInt32, secret String)
            ENGINE = MergeTree PARTITION BY day ORDER BY day
            TTL toDateTime((day + 1) * 86400) DELETE
            SETTINGS non_replicated_deduplication_window = {TOKENS}",
            self.client.table(NAME)
        ))?;
        self.is_made = true;
        Ok(())
    }

    fn stored(&self, day: i64) -> Result<Option<Secret>, SharedKeyError> {
        let query = format!("SELECT secret FROM {} WHERE day = {day}", self.client.table(NAME));
        let answer = self.client.query(&query, &Params::default())?;
        let Some(line) = answer.lines().next() else { return Ok(None) };
        let (text,): (String,) = serde_json::from_str(line)?;
        let secret = BASE64_STANDARD.decode(text)?;
        Ok(Some(secret.as_slice().try_into()?))
    }
}

impl SharedKeys for VisitKeyTable {
    fn agree(&mut self, day: i64, proposed: &Secret) -> Result<Secret, SharedKeyError> {
        self.make()?;
        if let Some(secret) = self.stored(day)? {
            return Ok(secret);
        }
        let row = serde_json::to_vec(&(day, BASE64_STANDARD.encode(proposed)))?;
        // ClickHouse drops an insert whose token it has seen: another collector may propose at the same moment.
        self.client.insert_once(NAME, "day, secret", &format!("day {day}"), &row)?;
        Ok(self.stored(day)?.ok_or("the key of the day was deleted: is the clock of a collector wrong?")?)
    }

    fn forget_before(&mut self, day: i64) -> Result<(), SharedKeyError> {
        self.make()?;
        Ok(self
            .client
            .execute(&format!("ALTER TABLE {} DELETE WHERE day < {day}", self.client.table(NAME)))?)
    }
}

const NAME: &str = "visit_keys";

/// Days that ClickHouse remembers, so that none gets a second key.
const TOKENS: u32 = 100;
const MAX_TIMEOUT_SECONDS: u32 = 3;
