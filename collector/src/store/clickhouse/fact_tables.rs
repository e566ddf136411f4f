//! The tables by which the collectors of a cluster share facts of the backend: facts, and the streams that claim them.
//! Rows are only added. ClickHouse deletes them once no collector waits for them any more.

use beacon::LayerTiming;
use serde::de::DeserializeOwned;

use super::client::{Client, Params};
use super::rows::{self, Rows};
use crate::report::server_fact::{Layer, ServerFact};
use crate::report::stream_id::StreamId;
use crate::server_timing::matcher::MatchKey;
use crate::server_timing::shared_facts::{Claim, FactTables, SharedFact};
use crate::store::error::StoreError;

/// The tables, as one collector uses them.
pub(super) struct SharedFactTables<'a> {
    pub(super) client: &'a Client,
    pub(super) collector: &'a str,
}

/// Statements that create the tables.
pub(super) fn statements(client: &Client, wait_seconds: u32) -> [String; 2] {
    let kept = format!(
        "TTL toDateTime(written) + INTERVAL {} SECOND DELETE
        SETTINGS merge_with_ttl_timeout = {MERGE_SECONDS}",
        u64::from(wait_seconds) + SPARE_SECONDS
    );
    [
        format!(
            "CREATE TABLE IF NOT EXISTS {} (
                site LowCardinality(String), id String, layer LowCardinality(String), timing String,
                stream String, collector LowCardinality(String), written DateTime64(3) DEFAULT now64(3))
            ENGINE = MergeTree ORDER BY written {kept}",
            client.table(FACTS)
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {} (
                site LowCardinality(String), id String, stream String, collector LowCardinality(String),
                written DateTime64(6) DEFAULT now64(6))
            ENGINE = MergeTree ORDER BY written {kept}",
            client.table(CLAIMS)
        ),
    ]
}

impl SharedFactTables<'_> {
    fn rows<T: DeserializeOwned>(&self, query: &str, mut each: impl FnMut(T)) -> Result<(), StoreError> {
        rows::each(&self.client.query(query, &Params::default())?, |row| {
            each(row);
            Ok(())
        })
    }

    fn insert(&self, table: &str, columns: &str, rows: &mut Rows) -> Result<(), StoreError> {
        if !rows.is_empty() {
            self.client.insert(table, columns, rows.bytes())?;
        }
        *rows = Rows::default();
        Ok(())
    }
}

impl FactTables for SharedFactTables<'_> {
    type Error = StoreError;

    fn now_ms(&self) -> Result<i64, StoreError> {
        let mut now_ms = 0;
        self.rows("SELECT toUnixTimestamp64Milli(now64(3))", |[now]: [i64; 1]| now_ms = now)?;
        Ok(now_ms)
    }

    fn facts_since(&self, since_ms: i64) -> Result<Vec<SharedFact>, StoreError> {
        let query = format!(
            "SELECT site, id, layer, timing, stream, toUnixTimestamp64Milli(written) FROM {}
             WHERE written >= fromUnixTimestamp64Milli({since_ms}) ORDER BY written",
            self.client.table(FACTS)
        );
        let mut facts = Vec::new();
        self.rows(&query, |(site, response_id, layer, timing, stream, written_ms): FactRow| {
            let layer = Layer::ALL.into_iter().find(|known| known.as_str() == layer);
            // A later version may know more. Its row is left to the collectors of that version.
            if let Some((layer, timing)) = layer.zip(serde_json::from_str::<LayerTiming>(&timing).ok()) {
                let fact = ServerFact { site, response_id, layer, timing };
                facts.push(SharedFact { fact, stream: stream_of(&stream), written_ms });
            }
        })?;
        Ok(facts)
    }

    fn claims_since(&self, since_ms: i64) -> Result<Vec<Claim>, StoreError> {
        let query = format!(
            "SELECT site, id, stream, toUnixTimestamp64Micro(written) FROM {}
             WHERE written >= fromUnixTimestamp64Milli({since_ms})",
            self.client.table(CLAIMS)
        );
        let mut claims = Vec::new();
        self.rows(&query, |(site, id, stream, written_us): (String, String, String, i64)| {
            let claim = |stream| Claim { key: (site.into(), id.into()), stream, written_us };
            claims.extend(stream_of(&stream).map(claim));
        })?;
        Ok(claims)
    }

    fn add_facts(&self, facts: &[(&ServerFact, Option<StreamId>)]) -> Result<(), StoreError> {
        let columns = "site, id, layer, timing, stream, collector";
        let mut rows = Rows::default();
        for (fact, stream) in facts {
            let timing = serde_json::to_string(&fact.timing).expect("a timing is plain data");
            let stream = stream.map(|id| format!("{id:032x}")).unwrap_or_default();
            let layer = fact.layer.as_str();
            rows.push(
                [&fact.site, &fact.response_id, layer, &timing, &stream, self.collector].map(Into::into),
            );
            if rows.is_full() {
                self.insert(FACTS, columns, &mut rows)?;
            }
        }
        self.insert(FACTS, columns, &mut rows)
    }

    fn add_claims(&self, claims: &[(&MatchKey, StreamId)]) -> Result<(), StoreError> {
        let columns = "site, id, stream, collector";
        let mut rows = Rows::default();
        for ((site, id), stream) in claims {
            let stream = format!("{stream:032x}");
            rows.push([site, id, stream.as_str(), self.collector].map(Into::into));
            if rows.is_full() {
                self.insert(CLAIMS, columns, &mut rows)?;
            }
        }
        self.insert(CLAIMS, columns, &mut rows)
    }
}

/// `None` if the column is empty.
fn stream_of(text: &str) -> Option<StreamId> {
    StreamId::from_str_radix(text, 16).ok()
}

type FactRow = (String, String, String, String, String, i64);

pub(super) const FACTS: &str = "server_facts";
pub(super) const CLAIMS: &str = "server_fact_claims";

/// Beyond the wait, because the tables' clock begins when a row is written.
const SPARE_SECONDS: u64 = 60;
/// ClickHouse deletes expired rows this often. Its own default is four hours.
const MERGE_SECONDS: u32 = 60;
