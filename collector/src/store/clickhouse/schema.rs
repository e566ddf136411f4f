//! The tables in ClickHouse. A row contains a state, not a difference. Sending it twice changes nothing, and
//! the highest version wins in whatever order rows arrive.

use super::client::{ClickHouseError, Client, Params};
use super::fact_tables;
use super::rows::stats_columns;
use crate::aggregate::dimension::{self, Dimension};
use crate::aggregate::metric::Metric;
use crate::config;

/// Creates missing tables. Existing tables keep their engine and retention.
pub(super) fn make(client: &Client, store: &config::Store, wait_seconds: u32) -> Result<(), ClickHouseError> {
    let database = client.database();
    client.execute(&format!("CREATE DATABASE IF NOT EXISTS {database}"))?;
    for statement in
        statements(client, store).into_iter().chain(fact_tables::statements(client, wait_seconds))
    {
        client.execute(&statement)?;
    }
    let mut params = Params::default();
    let windows = format!(
        "SELECT comment, sorting_key FROM system.tables
         WHERE database = {} AND name = 'llm_rum_windows'",
        params.text(database)
    );
    let answer = client.query(&windows, &params)?;
    let (comment, key): (String, String) = serde_json::from_str(answer.lines().next().unwrap_or_default())?;
    let found = comment.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or(SCHEMA_VERSION);
    if found > SCHEMA_VERSION {
        return Err(ClickHouseError::Newer { found, known: SCHEMA_VERSION });
    }
    client.execute(&newer_columns(&client.table("windows"), &key))
}

/// Adds columns that the table of an earlier version lacks: they are empty in old rows. ClickHouse cannot
/// replace the sort order of a table, but can append new key columns to it.
fn newer_columns(windows: &str, key: &str) -> String {
    let columns =
        stats_columns(&Metric::ALL).map(|(name, _, kind)| format!("ADD COLUMN IF NOT EXISTS {name} {kind}"));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let is_new = |dimension: &Dimension| key.split(", ").all(|column| column != dimension.name());
    let new: Vec<_> = Dimension::window_only().filter(is_new).collect();
    if new.is_empty() {
        return format!("ALTER TABLE {windows} {columns}");
    }
    let (added, new) = (added(new.iter().copied()), dimension::columns(new.iter().copied()));
    format!("ALTER TABLE {windows} {columns}, {added}, MODIFY ORDER BY ({key}, {new})")
}

/// Adds dimensions of windows only. A column is empty where the value is unknown, and in rows from before.
fn added(dimensions: impl Iterator<Item = Dimension>) -> String {
    let add = |dimension: Dimension| {
        format!("ADD COLUMN IF NOT EXISTS {} LowCardinality(String)", dimension.name())
    };
    dimensions.map(add).collect::<Vec<_>>().join(", ")
}

fn statements(client: &Client, store: &config::Store) -> [String; 10] {
    let column = |dimension: Dimension| format!("{} LowCardinality(String)", dimension.name());
    let labels = Dimension::all().map(column).collect::<Vec<_>>().join(", ");
    let grouped = dimension::columns(Dimension::all().filter(|dimension| *dimension != Dimension::Site));
    let stats = stats_columns(&Metric::ALL)
        .map(|(name, _, kind)| format!("{name} {kind}"))
        .collect::<Vec<_>>()
        .join(", ");
    let (short, long) = (store.windows_hours + SPARE_HOURS, store.history_days);
    // Minutes and short rollups expire by write time, so that late data stays as long as data that came in
    // time.
    let expiry = format!(
        "TTL written + INTERVAL {short} HOUR DELETE WHERE length < 60,
            toDateTime(start * 60) + INTERVAL {long} DAY DELETE WHERE length >= 60"
    );
    [
        format!(
            "CREATE TABLE IF NOT EXISTS {} (
                length UInt16, kept UInt8, start UInt32, {labels}, collector LowCardinality(String),
                version UInt64, written DateTime DEFAULT now(), {stats})
            ENGINE = ReplacingMergeTree(version) PARTITION BY {PARTITION}
            ORDER BY (length, kept, site, {SLOT}, {grouped}, start, collector)
            {expiry} COMMENT 'llm-rum layout {SCHEMA_VERSION}'",
            client.table("windows")
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {} (
                length UInt16, start UInt32, collector LowCardinality(String), stands UInt8,
                window_only UInt8, version UInt64, written DateTime DEFAULT now())
            ENGINE = ReplacingMergeTree(version) ORDER BY (length, start, collector)
            {expiry}",
            client.table("spans")
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {} (
                kind LowCardinality(String), site LowCardinality(String), word LowCardinality(String),
                collector LowCardinality(String), n UInt64, version UInt64)
            ENGINE = ReplacingMergeTree(version) ORDER BY (kind, site, word, collector)",
            client.table("counts")
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {} (
                collector LowCardinality(String), place UInt64, id FixedString(32), rev UInt32,
                is_open UInt8, received_ms Int64, outcome LowCardinality(String), {labels}, judgement UInt16,
                visit Nullable(UInt64), report String CODEC(ZSTD), version UInt64)
            ENGINE = ReplacingMergeTree(version)
            PARTITION BY (collector, intDiv(place, {SEQ_NOS_PER_PARTITION}))
            ORDER BY (collector, place)",
            client.table("streams")
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {} (
                day UInt32, id FixedString(32), collector LowCardinality(String), kinds UInt8,
                waited_ms Nullable(Float64), lot UInt64, received_ms Int64, outcome LowCardinality(String),
                {labels}, report String CODEC(ZSTD), version UInt64)
            ENGINE = ReplacingMergeTree(version) ORDER BY (day, id, collector)
            TTL toDateTime(day * 86400) + INTERVAL {long} DAY DELETE",
            client.table("samples")
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {} (
                site String, id String, timestamp_ms Int64, kind LowCardinality(String), title String,
                url String, posted_ms UInt64)
            ENGINE = ReplacingMergeTree(posted_ms) ORDER BY (site, id)
            TTL toDateTime(intDiv(timestamp_ms, 1000)) + INTERVAL {long} DAY DELETE",
            client.table("markers")
        ),
        // Two collectors may scrape the same engine: one of their rows counts.
        format!(
            "CREATE TABLE IF NOT EXISTS {} (
                minute UInt32, engine String, model String, site String,
                waiting_max Nullable(Float64), waiting_mean Nullable(Float64), waiting_scrapes UInt32,
                running_max Nullable(Float64), running_mean Nullable(Float64), running_scrapes UInt32,
                kv_usage_max Nullable(Float64), preemptions Nullable(Float64), cache_hits Nullable(Float64),
                cache_queries Nullable(Float64), drafted Nullable(Float64), accepted Nullable(Float64),
                version UInt64)
            ENGINE = ReplacingMergeTree(version) ORDER BY (minute, engine, model)
            TTL toDateTime(minute * 60) + INTERVAL {short} HOUR DELETE",
            client.table("engine_minutes")
        ),
        // Older spans have no rollups by these dimensions: the column is 0 there.
        format!("ALTER TABLE {} ADD COLUMN IF NOT EXISTS window_only UInt8", client.table("spans")),
        format!(
            "ALTER TABLE {} {}, ADD COLUMN IF NOT EXISTS judgement UInt16,
             ADD COLUMN IF NOT EXISTS visit Nullable(UInt64)",
            client.table("streams"),
            added(Dimension::window_only())
        ),
        format!("ALTER TABLE {} {}", client.table("samples"), added(Dimension::window_only())),
    ]
}

/// Windows below an hour are partitioned by day, so that their expiry never rewrites hourly and daily rows.
const PARTITION: &str =
    "if(length < 60, toYYYYMMDD(toDateTime(start * 60, 'UTC')), toYYYYMM(toDateTime(start * 60, 'UTC')))";

/// Keeps the rows of a query together. Daily rollups of some labels lie together over weeks. Hourly rollups
/// are grouped by day and minutes by five minutes, because a range has some hours at each end and the newest
/// minutes. Queries name this expression in their conditions.
pub(super) const SLOT: &str = "multiIf(length < 60, intDiv(start, 5), length < 1440, intDiv(start, 1440), 0)";

/// Schema version that this collector creates.
const SCHEMA_VERSION: u32 = 1;

/// Hours that a stopped collector has to come back and build the rollups of the hour in which it stopped.
const SPARE_HOURS: u32 = 24;

/// Streams are evicted by partition: dropping one is cheap, and deleting rows would rewrite all others.
pub(super) const SEQ_NOS_PER_PARTITION: u64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_its_original_sort_order() {
        let told_apart = "length, kept, site, start, use_case, provider, model, collector";
        let before_countries = newer_columns("t", told_apart);
        let new = dimension::columns(Dimension::window_only());
        assert!(
            before_countries.ends_with(&format!("MODIFY ORDER BY ({told_apart}, {new})")),
            "{before_countries}"
        );
        let with_all = newer_columns("t", &format!("{told_apart}, {new}"));
        assert!(!with_all.contains("ORDER BY"), "{with_all}");
    }
}
