//! Covers a range with the fewest complete rollups and minutes.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::store::error::StoreError;
use crate::store::rollups::key::ROLLUP_MINUTES;

/// Neighbouring windows of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CoverPiece {
    /// In minutes: 1, or one of [`ROLLUP_MINUTES`].
    pub(super) length: i64,
    pub(super) from: i64,
    pub(super) to: i64,
    /// [Bits](crate::store::rollups::key::GroupByMask) of dimensions of windows only: in the SQLite file of those
    /// with rollups by one more label, in ClickHouse of those with rollups.
    pub(super) window_only: u8,
}

/// Covers a range with complete rollups of at most `longest` minutes, and with minutes elsewhere.
pub(super) fn range_cover(
    connection: &Connection,
    (from, to): (i64, i64),
    longest: i64,
) -> Result<Vec<CoverPiece>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT length, start, window_only FROM spans
         WHERE summed = changes AND length <= ?1 AND start >= ?2 AND start + length <= ?3",
    )?;
    let standing =
        statement.query_map([longest, from, to], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
    Ok(cover((from, to), &standing.collect::<Result<_, _>>()?, |_| false))
}

/// `standing` lists the complete rollups by length and start, and [`CoverPiece::window_only`].
/// `is_empty` says whether the five minutes from a minute on have no data: they need no piece and end no
/// piece.
pub(super) fn cover(
    (from, to): (i64, i64),
    standing: &BTreeMap<(i64, i64), u8>,
    is_empty: impl Fn(i64) -> bool,
) -> Vec<CoverPiece> {
    let mut pieces: Vec<CoverPiece> = Vec::new();
    let mut at = from;
    while at < to {
        let slot = at.div_euclid(ROLLUP_MINUTES[0]) * ROLLUP_MINUTES[0];
        let stands = |length| Some((length, *standing.get(&(length, at))?));
        let longest = ROLLUP_MINUTES.into_iter().rev().find_map(stands);
        if longest.is_none() && is_empty(slot) {
            at = slot + ROLLUP_MINUTES[0];
            continue;
        }
        let (length, window_only) = longest.unwrap_or((1, 0));
        let end = match length {
            1 => (slot + ROLLUP_MINUTES[0]).min(to),
            length => at + length,
        };
        match pieces.last_mut() {
            Some(last) if (last.length, last.window_only) == (length, window_only) => last.to = end,
            _ => pieces.push(CoverPiece { length, from: at, to: end, window_only }),
        }
        at = end;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(range: (i64, i64), standing: &[(i64, i64)], expected: &[(i64, i64, i64)]) {
        let pieces = cover(range, &standing.iter().map(|span| (*span, 0)).collect(), |_| false);
        let found: Vec<_> = pieces.iter().map(|piece| (piece.length, piece.from, piece.to)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_range_is_covered_by_the_longest_complete_windows() {
        check((30, 200), &[], &[(1, 30, 200)]);
        check((30, 200), &[(60, 60), (60, 120)], &[(1, 30, 60), (60, 60, 180), (1, 180, 200)]);
        check(
            (0, 3_000),
            &[(1440, 0), (60, 0), (60, 1440), (60, 1560)],
            &[(1440, 0, 1440), (60, 1440, 1500), (1, 1500, 1560), (60, 1560, 1620), (1, 1620, 3000)],
        );
    }

    #[test]
    fn empty_slots_end_no_piece() {
        let standing = [((60, 60), 0), ((60, 180), 0), ((5, 240), 0)];
        let touched = [242, 250].map(|minute| minute / 5 * 5);
        let pieces = cover((3, 302), &standing.into_iter().collect(), |slot| !touched.contains(&slot));
        let found: Vec<_> = pieces.iter().map(|piece| (piece.length, piece.from, piece.to)).collect();
        assert_eq!(found, [(60, 60, 240), (5, 240, 245), (1, 250, 255)]);
        let all_minutes = cover((3, 302), &BTreeMap::new(), |slot| slot != 0 && slot != 300);
        let found: Vec<_> = all_minutes.iter().map(|piece| (piece.length, piece.from, piece.to)).collect();
        assert_eq!(found, [(1, 3, 302)]);
    }

    #[test]
    fn a_piece_ends_where_countries_become_known() {
        let standing = [((60, 0), 0), ((60, 60), 8), ((60, 120), 8)];
        let pieces = cover((0, 180), &standing.into_iter().collect(), |_| false);
        let found: Vec<_> = pieces.iter().map(|piece| (piece.from, piece.to, piece.window_only)).collect();
        assert_eq!(found, [(0, 60, 0), (60, 180, 8)]);
    }
}
