//! Builds the rollups of one span from shorter windows.
//!
//! Only the parts of one rollup are in memory at a time. There can be thousands of series, and their size
//! depends on the values that pages send.

use std::collections::BTreeMap;
use std::ops::Range;

use rusqlite::{Connection, TransactionBehavior, params};

use crate::aggregate::dimension::{Dimension, columns};
use crate::aggregate::series::Series;
use crate::aggregate::window_stats::WindowStats;
use crate::store::dimension_columns::series;
use crate::store::error::StoreError;
use crate::store::rollups::key::{FIVE_MINUTES, GroupByMask, ROLLUP_MINUTES};
use crate::store::rollups::rows::{ROWS_AT_A_TIME, label, put};

/// Labels of each rollup, with the ids of its parts.
type Groups = BTreeMap<Series, Vec<i64>>;

/// A span whose rollups must be built.
#[derive(Debug, Clone, Copy)]
pub(super) struct DueRollup {
    pub(super) start: i64,
    /// Change counter of the span when this was read.
    pub(super) changes: i64,
}

/// The table that the ids of parts refer to.
#[derive(Clone, Copy)]
enum Parts {
    /// Ids of `series`; parts are minutes.
    Windows,
    /// Ids of `labels`; parts are rollups of this length.
    Sums(i64),
}

/// Builds all rollups of a span. The last step marks the span complete, unless it changed in between.
pub(super) fn build(connection: &mut Connection, length: i64, due: DueRollup) -> Result<(), StoreError> {
    let range = due.start..due.start + length;
    let shorter = ROLLUP_MINUTES.into_iter().rfind(|shorter| *shorter < length);
    let from = shorter.map_or(Parts::Windows, Parts::Sums);
    let groups = groups(connection, from, GroupByMask::all(), range.clone())?;
    write(connection, GroupByMask::all(), length, &range, (from, &groups))?;
    // Five-minute rollups: minutes are read only for the rollups by all labels, which the others are built
    // from.
    let summed = self::groups(connection, Parts::Sums(length), GroupByMask::all(), range.clone())?;
    for mask in GroupByMask::each().filter(|mask| *mask != GroupByMask::all()) {
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
    let window_only = GroupByMask::known_in(summed.keys());
    for mask in GroupByMask::pairs(window_only) {
        write(connection, mask, length, &range, (Parts::Sums(length), &fewer(&summed, mask)))?;
    }
    connection
        .prepare_cached("UPDATE spans SET summed = ?3, window_only = ?4 WHERE length = ?1 AND start = ?2")?
        .execute(params![length, due.start, due.changes, window_only])?;
    Ok(())
}

/// The series, or the labels of `mask`, that have data in the range.
fn groups(
    connection: &Connection,
    from: Parts,
    mask: GroupByMask,
    range: Range<i64>,
) -> Result<Groups, StoreError> {
    let columns = columns(Dimension::all());
    let (query, values) = match from {
        Parts::Windows => (
            format!(
                "SELECT id, {columns} FROM series WHERE id IN
                     (SELECT series FROM windows WHERE minute >= ?1 AND minute < ?2)"
            ),
            vec![range.start, range.end],
        ),
        Parts::Sums(length) => (
            format!(
                "SELECT id, {columns} FROM labels WHERE kept = ?3 AND EXISTS
                     (SELECT 1 FROM sums WHERE labels = id AND length = ?4 AND start >= ?1 AND start < ?2)"
            ),
            vec![range.start, range.end, i64::from(mask.bits()), length],
        ),
    };
    let mut statement = connection.prepare_cached(&query)?;
    let rows = statement
        .query_map(rusqlite::params_from_iter(values), |row| Ok((series(row, 1)?, vec![row.get(0)?])))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn fewer(groups: &Groups, mask: GroupByMask) -> Groups {
    let mut fewer = Groups::new();
    for (series, from) in groups {
        fewer.entry(mask.values(series)).or_default().extend(from);
    }
    fewer
}

/// Writes rollups in small transactions, so that the aggregation worker never waits long.
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
            let window = "SELECT stats FROM windows WHERE minute = ?1 AND series = ?2";
            let mut window = connection.prepare_cached(window)?;
            for (minute, id) in range.clone().flat_map(|minute| ids.iter().map(move |id| (minute, *id))) {
                let mut rows = window.query([minute, id])?;
                rows.next()?.map(&mut add).transpose()?;
            }
        }
        Parts::Sums(length) => {
            let sums =
                "SELECT stats FROM sums WHERE labels = ?1 AND length = ?2 AND start >= ?3 AND start < ?4";
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

/// About the size of 500 typical rows.
const BYTES_AT_A_TIME: usize = 1 << 20;
