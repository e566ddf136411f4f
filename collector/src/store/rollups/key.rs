//! The rollups that exist: their lengths, and the labels that each groups by.

use crate::aggregate::series::Series;
use crate::store::query::Filter;
use crate::time::{DAY_MINUTES, HOUR_MINUTES};

/// Lengths of rollups in minutes. Each is built from the one before, and the first from one-minute windows.
pub(crate) const ROLLUP_MINUTES: [i64; 3] = [FIVE_MINUTES, HOUR_MINUTES, DAY_MINUTES];

pub(in crate::store) const FIVE_MINUTES: i64 = 5;

/// Labels that a rollup groups by, beside the site; it sums over all values of the others. One bit each for
/// use case, provider, model and country. The first three bits together include the country. A country is
/// otherwise combined with at most one label: with two there would be about as many rollups as series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct GroupByMask(u8);

impl GroupByMask {
    const USE_CASE: u8 = 1;
    const PROVIDER: u8 = 2;
    const MODEL: u8 = 4;

    /// All labels, as minutes have.
    pub(in crate::store) const ALL: Self = Self(7);
    /// The highest mask that is published: by country and one more label there are about as many rollups as
    /// series.
    pub(in crate::store) const COUNTRY: Self = Self(8);

    /// By country and one more label. Built only if a country is known; otherwise [`Self::ALL`] answers the
    /// query.
    pub(super) const COUNTRY_AND_ONE: [Self; 3] = [
        Self(Self::COUNTRY.0 | Self::USE_CASE),
        Self(Self::COUNTRY.0 | Self::PROVIDER),
        Self(Self::COUNTRY.0 | Self::MODEL),
    ];

    /// The masks that every span has.
    pub(super) fn each() -> impl Iterator<Item = Self> {
        (0..=Self::COUNTRY.0).map(Self)
    }

    /// The mask that answers a filter, optionally grouped by a column.
    pub(in crate::store) fn of(filter: &Filter, column: Option<&str>) -> Self {
        let bit = |name, asked: &Option<String>, bit| {
            if asked.is_some() || column == Some(name) { bit } else { 0 }
        };
        let bits = bit("use_case", &filter.use_case, Self::USE_CASE)
            | bit("provider", &filter.provider, Self::PROVIDER)
            | bit("model", &filter.model, Self::MODEL);
        match bit("country", &filter.country, Self::COUNTRY.0) {
            0 => Self(bits),
            country if bits.count_ones() <= 1 => Self(bits | country),
            _ => Self::ALL,
        }
    }

    /// The mask that answers the same query if no country is known.
    pub(in crate::store) fn without_countries(self) -> Self {
        if Self::COUNTRY_AND_ONE.contains(&self) { Self::ALL } else { self }
    }

    /// The published mask that answers the query; `countries` says whether rollups by country exist.
    pub(in crate::store) fn in_cluster(self, countries: bool) -> Self {
        match self {
            Self::COUNTRY if countries => self,
            _ if self.0 & Self::COUNTRY.0 > 0 => Self::ALL,
            _ => self,
        }
    }

    pub(in crate::store) const fn bits(self) -> u8 {
        self.0
    }

    pub(super) fn labels(self, series: &Series) -> Series {
        let keep = |bit, label: &String| if self.0 & bit > 0 { label.clone() } else { String::new() };
        let countries = self == Self::ALL || self.0 & Self::COUNTRY.0 > 0;
        Series {
            site: series.site.clone(),
            use_case: keep(Self::USE_CASE, &series.use_case),
            provider: keep(Self::PROVIDER, &series.provider),
            model: keep(Self::MODEL, &series.model),
            country: if countries { series.country.clone() } else { String::new() },
        }
    }
}

/// First minute of the span of this length that contains the minute.
pub(in crate::store) const fn span_start(minute: i64, length: i64) -> i64 {
    minute.div_euclid(length) * length
}
