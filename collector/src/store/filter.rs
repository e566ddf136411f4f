//! Which streams a query selects.

use std::collections::{BTreeMap, BTreeSet};

use beacon::{Outcome, StreamKind, StreamReport};

use crate::aggregate::dimension::{Dimension, UNKNOWN};
use crate::aggregate::stream_dimension::{
    ATTRIBUTES, AttributeKey, KIND, KIND_READS, OUTCOME, STREAM_DIMENSIONS, StreamDimension, place_of,
};
use crate::config::token::AllowedSites;

/// The streams that a query selects: those of the sites that its reader may see, with certain values of dimensions.
/// No query can be asked without saying which sites these are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Filter {
    selections: [Selection; Dimension::COUNT],
    of_streams: StreamSelections,
    sites: AllowedSites,
}

/// What a query selects by facts that only single streams tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct StreamSelections {
    /// In the order of [`STREAM_DIMENSIONS`].
    pub(crate) dimensions: [Selection; STREAM_DIMENSIONS.len()],
    pub(crate) attributes: BTreeMap<AttributeKey, Selection>,
}

/// The values of a dimension that a query selects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) enum Selection {
    #[default]
    All,
    Only(BTreeSet<String>),
    Except(BTreeSet<String>),
}

impl Selection {
    pub(crate) fn contains(&self, value: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(values) => values.contains(value),
            Self::Except(values) => !values.contains(value),
        }
    }

    /// Whether a stream that has all these values is selected: if one of them is, or if none of them is excluded.
    fn contains_any_of<'a>(&self, mut values: impl Iterator<Item = &'a str>) -> bool {
        match self {
            Self::All => true,
            Self::Only(selected) => values.any(|value| selected.contains(value)),
            Self::Except(excluded) => values.all(|value| !excluded.contains(value)),
        }
    }

    /// The selected value, if there is one alone.
    pub(crate) fn only(&self) -> Option<&str> {
        match self {
            Self::Only(values) if values.len() == 1 => values.first().map(String::as_str),
            _ => None,
        }
    }

    /// The named values. `None` if all are selected.
    pub(super) const fn named(&self) -> Option<&BTreeSet<String>> {
        match self {
            Self::All => None,
            Self::Only(values) | Self::Except(values) => Some(values),
        }
    }

    /// SQL that is true if a column has a selected value. `values` is a list of the named ones.
    pub(super) fn condition(&self, column: &str, values: &str) -> String {
        match self {
            Self::All => "TRUE".to_owned(),
            Self::Only(_) => format!("{column} IN ({values})"),
            Self::Except(_) => format!("{column} NOT IN ({values})"),
        }
    }
}

impl Filter {
    pub(crate) const fn new(
        selections: [Selection; Dimension::COUNT],
        of_streams: StreamSelections,
        sites: AllowedSites,
    ) -> Self {
        Self { selections, of_streams, sites }
    }

    /// All streams of the sites.
    pub(crate) fn of_sites(sites: AllowedSites) -> Self {
        Self::new([const { Selection::All }; Dimension::COUNT], StreamSelections::default(), sites)
    }

    /// The sites that the reader may see, whether or not a value selects one of them.
    pub(crate) const fn sites(&self) -> &AllowedSites {
        &self.sites
    }

    pub(crate) const fn selection(&self, dimension: Dimension) -> &Selection {
        &self.selections[dimension as usize]
    }

    /// The selected value of a dimension, if there is one alone.
    pub(crate) fn only(&self, dimension: Dimension) -> Option<&str> {
        self.selection(dimension).only()
    }

    /// Whether it selects streams with this value.
    pub(crate) fn selects(&self, dimension: Dimension, value: &str) -> bool {
        self.selection(dimension).contains(value)
    }

    /// Whether it selects streams of the site.
    pub(crate) fn selects_site(&self, site: &str) -> bool {
        self.sites.allows(site) && self.selects(Dimension::Site, site)
    }

    /// Whether only the single streams tell which ones it selects: no window has these facts.
    pub(crate) fn needs_streams(&self) -> bool {
        self.of_streams != StreamSelections::default()
    }

    /// Whether it selects the stream, as far as only the stream itself tells.
    pub(crate) fn selects_report(&self, report: &StreamReport) -> bool {
        let StreamSelections { dimensions, attributes } = &self.of_streams;
        let has_value = |(dimension, selection): (&StreamDimension, &Selection)| {
            selection.contains_any_of(dimension.values(report))
        };
        self.selects_kind(report.kind())
            && STREAM_DIMENSIONS.iter().zip(dimensions).all(has_value)
            && attributes
                .iter()
                .all(|(key, selected)| selected.contains(key.value(report).unwrap_or(UNKNOWN)))
    }

    /// The fields on which [`selects_report`](Self::selects_report) depends.
    pub(super) fn reads_of_reports(&self) -> impl Iterator<Item = &'static str> {
        let StreamSelections { dimensions, attributes } = &self.of_streams;
        let of_attributes = attributes.values().map(|_| ATTRIBUTES);
        let restricted = STREAM_DIMENSIONS.iter().zip(dimensions);
        let restricted = restricted.filter(|(_, selection)| **selection != Selection::All);
        let read = restricted.flat_map(|(dimension, _)| dimension.reads).copied();
        of_attributes.chain(KIND_READS).chain(read)
    }

    /// Whether it selects streams of this kind: answers alone, unless the query names kinds.
    pub(crate) fn selects_kind(&self, kind: StreamKind) -> bool {
        match self.kinds() {
            Selection::All => kind == StreamKind::Answer,
            named => named.contains(kind.as_str()),
        }
    }

    /// The same, but of every kind, for a query that keeps the kinds apart.
    pub(crate) fn of_every_kind(mut self) -> Self {
        if *self.kinds() == Selection::All {
            let every = StreamKind::WORDS.iter().map(|word| (*word).to_owned());
            self.of_streams.dimensions[place_of(KIND)] = Selection::Only(every.collect());
        }
        self
    }

    fn kinds(&self) -> &Selection {
        &self.of_streams.dimensions[place_of(KIND)]
    }

    pub(crate) fn selects_outcome(&self, outcome: Outcome) -> bool {
        self.of_streams.dimensions[place_of(OUTCOME)].contains(outcome.as_str())
    }

    /// Whether it selects all streams that windows tell apart.
    pub(super) fn selects_every_series(&self) -> bool {
        self.sites == AllowedSites::All && self.restricted().next().is_none()
    }

    /// The same, but of this dimension only this value.
    pub(crate) fn with(mut self, dimension: Dimension, value: impl Into<String>) -> Self {
        self.selections[dimension as usize] = Selection::Only([value.into()].into());
        self
    }

    #[cfg(test)]
    pub(crate) fn without(mut self, dimension: Dimension, values: &[&str]) -> Self {
        let values = values.iter().map(|value| (*value).to_owned());
        self.selections[dimension as usize] = Selection::Except(values.collect());
        self
    }

    /// The dimensions that the filter restricts, with their selected and their named values.
    pub(crate) fn restricted(&self) -> impl Iterator<Item = (Dimension, &Selection, &BTreeSet<String>)> {
        Dimension::all().filter_map(|dimension| {
            let selection = self.selection(dimension);
            Some((dimension, selection, selection.named()?))
        })
    }
}

#[cfg(test)]
impl Default for Filter {
    fn default() -> Self {
        Self::of_sites(AllowedSites::All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_contains_the_named_values_or_all_others() {
        let values = || ["a".to_owned(), "b".to_owned()].into();
        for (selection, contains_a, contains_c) in [
            (Selection::All, true, true),
            (Selection::Only(values()), true, false),
            (Selection::Except(values()), false, true),
        ] {
            assert_eq!(
                (selection.contains("a"), selection.contains("c")),
                (contains_a, contains_c),
                "{selection:?}"
            );
            assert_eq!(selection.only(), None);
        }
        assert_eq!(Selection::Only(["a".to_owned()].into()).only(), Some("a"));
        assert_eq!(Selection::Except(["a".to_owned()].into()).only(), None);
    }
}
