//! The rollups that exist: their lengths, and the labels that each groups by.

use crate::aggregate::dimension::{Dimension, UNKNOWN};
use crate::aggregate::series::Series;
use crate::store::filter::Filter;
use crate::time::{DAY_MINUTES, HOUR_MINUTES};

/// Lengths of rollups in minutes. Each is built from the one before, and the first from one-minute windows.
pub(crate) const ROLLUP_MINUTES: [i64; 3] = [FIVE_MINUTES, HOUR_MINUTES, DAY_MINUTES];

pub(in crate::store) const FIVE_MINUTES: i64 = 5;

/// Dimensions that a rollup groups by, beside the site, one bit each; it sums over all values of the others. The bits
/// of all labels together include the dimensions of windows only. Such a dimension is otherwise combined with at most
/// one label: with two there would be about as many rollups as series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct GroupByMask(u8);

impl GroupByMask {
    /// The site alone.
    pub(in crate::store) const NONE: Self = Self(0);

    /// All dimensions, as minutes have.
    pub(in crate::store) fn all() -> Self {
        Self::labels().fold(Self(0), |all, label| Self(all.0 | label.0))
    }

    /// The masks that every span has. These are published.
    pub(in crate::store) fn each() -> impl Iterator<Item = Self> {
        (0..=Self::all().0).map(Self).chain(Dimension::window_only().map(Self::bit))
    }

    /// The masks of one label and one of the dimensions in `window_only`. A span has those whose values are known in
    /// it; otherwise [`Self::all`] answers the query.
    pub(super) fn pairs(window_only: u8) -> impl Iterator<Item = Self> {
        let dimensions = Dimension::window_only().map(Self::bit).filter(move |mask| mask.0 & window_only > 0);
        dimensions.flat_map(|dimension| Self::labels().map(move |label| Self(dimension.0 | label.0)))
    }

    /// The mask that answers a filter, grouped by some dimensions.
    pub(in crate::store) fn of(filter: &Filter, by: &[Dimension]) -> Self {
        let asked = filter.restricted().map(|(dimension, ..)| dimension).chain(by.iter().copied());
        Self(asked.fold(0, |bits, dimension| bits | Self::bit(dimension).0)).in_file(Self::window_only())
    }

    /// The mask that answers the same query in a span of the file that has the [pairs](Self::pairs) of `window_only`.
    pub(in crate::store) fn in_file(self, window_only: u8) -> Self {
        let is_built = Self::each().chain(Self::pairs(window_only)).any(|mask| mask == self);
        if is_built { self } else { Self::all() }
    }

    /// The published mask that answers the same query in a span with rollups by the dimensions in `window_only`.
    pub(in crate::store) fn in_cluster(self, window_only: u8) -> Self {
        let is_published =
            self.0 & Self::window_only() & !window_only == 0 && Self::each().any(|mask| mask == self);
        if is_published { self } else { Self::all() }
    }

    /// Bits of all dimensions of windows only.
    pub(in crate::store) fn window_only() -> u8 {
        Dimension::window_only().fold(0, |bits, dimension| bits | Self::bit(dimension).0)
    }

    /// Bits of the dimensions of windows only that have a known value in one of the series.
    pub(super) fn known_in<'a>(series: impl IntoIterator<Item = &'a Series>) -> u8 {
        let known =
            |series: &'a Series| Dimension::window_only().filter(|dimension| series[*dimension] != UNKNOWN);
        series.into_iter().flat_map(known).fold(0, |bits, dimension| bits | Self::bit(dimension).0)
    }

    pub(in crate::store) const fn bits(self) -> u8 {
        self.0
    }

    /// The values of the dimensions that it groups by; the others are empty.
    pub(super) fn values(self, series: &Series) -> Series {
        let mut values = series.clone();
        if self != Self::all() {
            for dimension in Dimension::all().filter(|dimension| *dimension != Dimension::Site) {
                if self.0 & Self::bit(dimension).0 == 0 {
                    values[dimension].clear();
                }
            }
        }
        values
    }

    fn labels() -> impl Iterator<Item = Self> {
        Dimension::labels().map(Self::bit).filter(|mask| mask.0 > 0)
    }

    /// Its bit; the site, which all rollups group by, has none.
    pub(in crate::store) fn bit(dimension: Dimension) -> Self {
        Self(((1_u16 << dimension as u16) >> 1) as u8)
    }
}

/// First minute of the span of this length that contains the minute.
pub(in crate::store) const fn span_start(minute: i64, length: i64) -> i64 {
    minute.div_euclid(length) * length
}
