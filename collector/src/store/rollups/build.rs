//! Builds the rollups of one span from shorter windows.
//!
//! It holds the parts of one rollup in memory at a time: there are thousands of series, and pages choose how much
//! memory their values take.

use std::collections::BTreeMap;
use std::ops::Range;

use rusqlite::{Connection, TransactionBehavior, params};

use crate::aggregate::series::{Series, UNKNOWN};
use crate::aggregate::window_stats::WindowStats;
use crate::store::error::StoreError;
use crate::store::reader;
use crate::store::rollups::key::{FIVE_MINUTES, GroupByMask, ROLLUP_MINUTES};
use crate::store::rollups::rows::{ROWS_AT_A_TIME, label, put};

/// What is made: each sum by its labels, with the numbers of its parts.
type Groups = BTreeMap<Series, Vec<i64>>;

/// A window to be summed.
#[derive(Debug, Clone, Copy)]
pub(super) struct DueRollup {
    pub(super) start: i64,
    /// How often it had changed when this was read.
    pub(super) changes: i64,
}

/// What these numbers are of.
#[derive(Clone, Copy)]
enum Parts {
    /// Series, by the minute.
    Windows,
    /// Labels, by windows of this length.
    Sums(i64),
}

/// Makes all sums over a window. The last step makes them stand, unless something changed in between.
pub(super) fn build(connection: &mut Connection, length: i64, due: DueRollup) -> Result<(), StoreError> {
    let range = due.start..due.start + length;
    let shorter = ROLLUP_MINUTES.into_iter().rfind(|shorter| *shorter < length);
    let from = shorter.map_or(Parts::Windows, Parts::Sums);
    let groups = groups(connection, from, GroupByMask::ALL, range.clone())?;
    write(connection, GroupByMask::ALL, length, &range, (from, &groups))?;
    // Where minutes are summed, only sums that tell all apart are made from them, and the others from those.
    let summed = self::groups(connection, Parts::Sums(length), GroupByMask::ALL, range.clone())?;
    for mask in GroupByMask::each().filter(|mask| *mask != GroupByMask::ALL) {
        match shorter {
            Some(_) => {
                let groups = self::groups(connection, from, mask, range.clone())?;
                write(connection, mask, length, &range, (from, &groups))?;
            }
            None => {
                write(connection, mask, length, &range, (Parts::Sums(FIVE_MINUTES), &fewer(&summed, mask)))?;
            }
        }
    }
    let countries = summed.keys().any(|series| series.country != UNKNOWN);
    for mask in GroupByMask::COUNTRY_AND_ONE.into_iter().filter(|_| countries) {
        write(connection, mask, length, &range, (Parts::Sums(length), &fewer(&summed, mask)))?;
    }
    connection
        .prepare_cached("UPDATE spans SET summed = ?3, countries = ?4 WHERE length = ?1 AND start = ?2")?
        .execute(params![length, due.start, due.changes, countries])?;
    Ok(())
}

/// Each by itself: the labels that something was counted of in these minutes.
fn groups(
    connection: &Connection,
    from: Parts,
    mask: GroupByMask,
    range: Range<i64>,
) -> Result<Groups, StoreError> {
    let (query, values) = match from {
        Parts::Windows => (
            "SELECT site, use_case, provider, model, country, id FROM series WHERE id IN
                 (SELECT series FROM windows WHERE minute >= ?1 AND minute < ?2)",
            vec![range.start, range.end],
        ),
        Parts::Sums(length) => (
            "SELECT site, use_case, provider, model, country, id FROM labels WHERE kept = ?3 AND EXISTS
                 (SELECT 1 FROM sums WHERE labels = id AND length = ?4 AND start >= ?1 AND start < ?2)",
            vec![range.start, range.end, i64::from(mask.bits()), length],
        ),
    };
    let mut statement = connection.prepare_cached(query)?;
    let rows = statement.query_map(rusqlite::params_from_iter(values), |row| {
        Ok((reader::series(row, 0)?, vec![row.get(5)?]))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn fewer(groups: &Groups, mask: GroupByMask) -> Groups {
    let mut fewer = Groups::new();
    for (series, from) in groups {
        fewer.entry(mask.labels(series)).or_default().extend(from);
    }
    fewer
}

/// Some at a time, so that the thread that counts never waits long.
fn write(
    connection: &mut Connection,
    mask: GroupByMask,
    length: i64,
    range: &Range<i64>,
    (from, groups): (Parts, &Groups),
) -> Result<(), StoreError> {
    let mut groups = groups.iter().peekable();
    while groups.peek().is_some() {
        let (mut some, mut bytes) = (Vec::new(), 0);
        while some.len() < ROWS_AT_A_TIME && bytes < BYTES_AT_A_TIME {
            let Some((labels, ids)) = groups.next() else { break };
            let encoded = merged(connection, from, ids, range)?.encode();
            bytes += encoded.len();
            some.push((labels, encoded));
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (labels, encoded) in some {
            put(&transaction, label(&transaction, mask, labels)?, length, range.start, &encoded)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

fn merged(
    connection: &Connection,
    from: Parts,
    ids: &[i64],
    range: &Range<i64>,
) -> Result<WindowStats, StoreError> {
    let mut sum = WindowStats::default();
    let mut add = |row: &rusqlite::Row<'_>| {
        sum.merge(&WindowStats::decode(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?)?);
        Ok::<_, StoreError>(())
    };
    match from {
        Parts::Windows => {
            let window = "SELECT tally FROM windows WHERE minute = ?1 AND series = ?2";
            let mut window = connection.prepare_cached(window)?;
            for (minute, id) in range.clone().flat_map(|minute| ids.iter().map(move |id| (minute, *id))) {
                let mut rows = window.query([minute, id])?;
                rows.next()?.map(&mut add).transpose()?;
            }
        }
        Parts::Sums(length) => {
            let sums =
                "SELECT tally FROM sums WHERE labels = ?1 AND length = ?2 AND start >= ?3 AND start < ?4";
            let mut sums = connection.prepare_cached(sums)?;
            for id in ids {
                let mut rows = sums.query([*id, length, range.start, range.end])?;
                while let Some(row) = rows.next()? {
                    add(row)?;
                }
            }
        }
    }
    Ok(sum)
}

/// As many as 500 usual rows have.
const BYTES_AT_A_TIME: usize = 1 << 20;
