//! The tables in ClickHouse. In each, a row says how things stand, not what was added: sent twice it is
//! still one, and the highest version has the last word, in whatever order rows arrive.

use super::client::{ClickHouseError, Client};
use super::rows::{LABELS, tally_columns};
use crate::config;
use crate::tally::Metric;

/// Makes what is missing. Tables that are there stay as they are, whatever their engine and retention.
pub(super) fn make(client: &Client, store: &config::Store) -> Result<(), ClickHouseError> {
    let database = client.database();
    client.execute(&format!("CREATE DATABASE IF NOT EXISTS {database}"))?;
    for statement in statements(client, store) {
        client.execute(&statement)?;
    }
    let comment = format!(
        "SELECT comment FROM system.tables WHERE database = '{database}' AND name = 'llm_rum_windows'"
    );
    let answer = client.query(&comment)?;
    let said: Vec<String> = serde_json::from_str(answer.lines().next().unwrap_or("[]"))?;
    let found = said.first().and_then(|comment| comment.rsplit(' ').next()?.parse().ok()).unwrap_or(LAYOUT);
    if found > LAYOUT {
        return Err(ClickHouseError::Newer { found, known: LAYOUT });
    }
    Ok(())
}

fn statements(client: &Client, store: &config::Store) -> [String; 8] {
    let labels = LABELS.split(", ").map(|label| format!("{label} LowCardinality(String)"));
    let labels = labels.collect::<Vec<_>>().join(", ");
    let tally = tally_columns(&Metric::ALL)
        .map(|(name, _, kind)| format!("{name} {kind}"))
        .collect::<Vec<_>>()
        .join(", ");
    let newer =
        tally_columns(&Metric::ALL).map(|(name, _, kind)| format!("ADD COLUMN IF NOT EXISTS {name} {kind}"));
    let newer = newer.collect::<Vec<_>>().join(", ");
    let (short, long) = (store.windows_hours + SPARE_HOURS, store.history_days);
    // What is short goes by when it was written: what comes late is there as long as what came in time.
    let expiry = format!(
        "TTL written + INTERVAL {short} HOUR DELETE WHERE length < 60,
            toDateTime(start * 60) + INTERVAL {long} DAY DELETE WHERE length >= 60"
    );
    [
        format!(
            "CREATE TABLE IF NOT EXISTS {} (
                length UInt16, kept UInt8, start UInt32, {labels}, collector LowCardinality(String),
                version UInt64, written DateTime DEFAULT now(), {tally})
            ENGINE = ReplacingMergeTree(version) PARTITION BY {PARTITION}
            ORDER BY ({KEY})
            {expiry} COMMENT 'llm-rum layout {LAYOUT}'",
            client.table("windows")
        ),
        // What an earlier version made lacks the columns of newer metrics: there, nothing was recorded.
        format!("ALTER TABLE {} {newer}, {COUNTRY}, MODIFY ORDER BY ({KEY})", client.table("windows")),
        format!(
            "CREATE TABLE IF NOT EXISTS {} (
                length UInt16, start UInt32, collector LowCardinality(String), stands UInt8,
                version UInt64, written DateTime DEFAULT now())
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
                is_open UInt8, received_ms Int64, outcome LowCardinality(String), {labels},
                report String CODEC(ZSTD), version UInt64)
            ENGINE = ReplacingMergeTree(version)
            PARTITION BY (collector, intDiv(place, {PLACES_PER_PARTITION}))
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
        format!("ALTER TABLE {} {COUNTRY}", client.table("streams")),
        format!("ALTER TABLE {} {COUNTRY}", client.table("samples")),
    ]
}

/// What is short goes with its day, and no merge for it touches what stays for long.
const PARTITION: &str =
    "if(length < 60, toYYYYMMDD(toDateTime(start * 60, 'UTC')), toYYYYMM(toDateTime(start * 60, 'UTC')))";

/// What tells two windows apart.
const KEY: &str = "length, kept, site, start, use_case, provider, model, collector, country";

/// Empty where it is unknown, as in the rows of before there were countries.
const COUNTRY: &str = "ADD COLUMN IF NOT EXISTS country LowCardinality(String)";

/// Of this version's tables.
const LAYOUT: u32 = 1;

/// A collector that is down has so long to come back and sum the hour that it died in.
const SPARE_HOURS: u32 = 24;

/// Streams go by the partition: dropping one costs nothing, deleting rows rewrites all others.
pub(super) const PLACES_PER_PARTITION: u64 = 10_000;
