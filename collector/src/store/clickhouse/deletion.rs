//! Deletes the rows of a site's streams from the tables in ClickHouse.
//!
//! Only rows of given collectors are deleted. Every other collector publishes its sums again when something in them
//! changes, so its rows go only with the data in its own folder. A deletion of some minutes does not come here: rollups
//! that it divides would have to be published again.

use std::collections::BTreeMap;

use super::client::{Client, Params};
use super::fact_tables::{CLAIMS, FACTS};
use super::marker_table::NAME as MARKERS;
use super::rows;
use crate::config::ClickHouse;
use crate::store::deletion::SiteDeletion;
use crate::store::error::StoreError;
use crate::time::{day_of, minute_of};

/// Number of rows by table.
pub(crate) type RowCounts = BTreeMap<&'static str, u64>;

/// The tables, for deletions.
pub(crate) struct DeletionTables(Client);

impl DeletionTables {
    pub(crate) fn new(clickhouse: ClickHouse) -> Self {
        // A deletion rewrites whole parts of a table.
        let timeout_seconds = clickhouse.timeout_seconds.max(SECONDS_FOR_DELETION);
        Self(Client::new(ClickHouse { timeout_seconds, ..clickhouse }))
    }

    /// Rows of the site by collector. Markers are of no collector: theirs is empty.
    pub(crate) fn find(&self, deletion: &SiteDeletion) -> Result<BTreeMap<String, RowCounts>, StoreError> {
        let mut found: BTreeMap<String, RowCounts> = BTreeMap::new();
        for (table, condition) in conditions(deletion) {
            let name = self.0.table(table);
            let of = if table == MARKERS { "''" } else { "collector" };
            let query = format!(
                "SELECT {of} AS holder, count() FROM {name} WHERE {condition} GROUP BY holder HAVING count() > 0"
            );
            rows::each(&self.0.query(&query, &Params::default())?, |(collector, count): (String, u64)| {
                found.entry(collector).or_default().insert(table, count);
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// Deletes the markers and the rows that these collectors have published, and waits until all replicas have.
    pub(crate) fn delete(&self, deletion: &SiteDeletion, collectors: &[String]) -> Result<(), StoreError> {
        let collectors: Vec<_> = collectors.iter().map(|collector| literal(collector)).collect();
        for (table, mut condition) in conditions(deletion) {
            if table != MARKERS {
                condition = format!("{condition} AND collector IN ({})", collectors.join(", "));
            }
            self.0.execute(&format!(
                "ALTER TABLE {} DELETE WHERE {condition} SETTINGS mutations_sync = 2",
                self.0.table(table)
            ))?;
        }
        Ok(())
    }
}

/// The tables with rows by site, and the condition of the rows that are deleted.
fn conditions(deletion: &SiteDeletion) -> Vec<(&'static str, String)> {
    let (site, end_ms) = (literal(&deletion.site), deletion.end_ms());
    let before = |column: &str, end: i64| match deletion.before_ms {
        None => format!("site = {site}"),
        Some(_) => format!("site = {site} AND {column} < {end}"),
    };
    let mut conditions = vec![
        ("windows", before("start", minute_of(end_ms))),
        ("streams", before("received_ms", end_ms)),
        ("samples", before("day", day_of(end_ms))),
        (FACTS, before("toUnixTimestamp64Milli(written)", end_ms)),
        (CLAIMS, before("toUnixTimestamp64Milli(written)", end_ms)),
        (MARKERS, before("timestamp_ms", end_ms)),
    ];
    // Counters have no time.
    if deletion.before_ms.is_none() {
        conditions.push(("counts", format!("site = {site}")));
    }
    conditions
}

/// A text as a literal of SQL: not every server takes a placeholder in a deletion.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// Ten minutes.
const SECONDS_FOR_DELETION: u32 = 600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_site_is_read_as_sql() {
        assert_eq!(literal(r"it's\"), r"'it\'s\\'");
    }

    #[test]
    fn a_deletion_by_time_leaves_counters() {
        let deletion = |before_ms| SiteDeletion { site: "shop".into(), from_ms: None, before_ms };
        let all: Vec<_> = conditions(&deletion(None)).into_iter().map(|(table, _)| table).collect();
        assert_eq!(all, ["windows", "streams", "samples", FACTS, CLAIMS, "markers", "counts"]);
        let earlier = conditions(&deletion(Some(2 * 86_400_000)));
        assert_eq!(
            earlier.iter().map(|(_, condition)| condition.as_str()).collect::<Vec<_>>(),
            [
                "site = 'shop' AND start < 2880",
                "site = 'shop' AND received_ms < 172800000",
                "site = 'shop' AND day < 2",
                "site = 'shop' AND toUnixTimestamp64Milli(written) < 172800000",
                "site = 'shop' AND toUnixTimestamp64Milli(written) < 172800000",
                "site = 'shop' AND timestamp_ms < 172800000"
            ]
        );
    }
}
