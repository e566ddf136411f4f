//! Statistics of the streams of a range by the values of one or two dimensions.

use std::collections::BTreeMap;

use crate::aggregate::dimension::OTHER;
use crate::aggregate::window_stats::WindowStats;
use crate::api::request::params::{GroupBy, Grouping};
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::query::{KeptStream, WindowsQuery};

/// A value of the first dimension, and one of the second.
pub(crate) type Values = (String, Option<String>);

/// Statistics by the values of one or two dimensions.
pub(crate) struct Groups {
    pub(crate) by_values: BTreeMap<Values, WindowStats>,
    /// Counts of all streams, if one may be in several groups. Otherwise they are the sum of the groups.
    all: Option<WindowStats>,
}

impl Groups {
    pub(crate) fn read(
        store: &Backend<'_>,
        asked: &WindowsQuery<'_>,
        grouping @ Grouping { by, and_by }: Grouping,
    ) -> Result<Self, StoreError> {
        let mut all = grouping.overlaps().then(WindowStats::default);
        let by_values = match (by, and_by) {
            (GroupBy::Windows(by), None) => {
                let groups = store.stats_by(asked, by)?.into_iter();
                groups.map(|(value, stats)| ((value, None), stats)).collect()
            }
            (GroupBy::Windows(by), Some(GroupBy::Windows(and_by))) => {
                let groups = store.grouped_stats(asked, [by, and_by])?.into_iter();
                groups.map(|([value, and_value], stats)| ((value, Some(and_value)), stats)).collect()
            }
            _ => {
                let reads = [by.reads(), and_by.map_or(&[], GroupBy::reads)].concat();
                store.kept_in_groups(asked, &reads, |stream, groups| {
                    if let Some(all) = &mut all {
                        stream.add_to(all, &[]);
                    }
                    let mut is_in_other = false;
                    for values in values_of(stream, grouping) {
                        // Pages choose some of the values.
                        let is_counted = groups.len() < MOST_VALUES || groups.contains_key(&values);
                        if is_counted {
                            stream.add_to(groups.entry(values).or_default(), asked.metrics);
                        } else if !std::mem::replace(&mut is_in_other, true) {
                            let other = (OTHER.to_owned(), and_by.map(|_| OTHER.to_owned()));
                            stream.add_to(groups.entry(other).or_default(), asked.metrics);
                        }
                    }
                })?
            }
        };
        Ok(Self { by_values, all })
    }

    /// A count over all streams.
    pub(crate) fn total(&self, of: fn(&WindowStats) -> u64) -> u64 {
        self.all.as_ref().map_or_else(|| self.by_values.values().map(of).sum::<u64>(), of)
    }

    /// The groups that have streams.
    pub(crate) fn with_streams(&self) -> impl Iterator<Item = (&Values, &WindowStats)> {
        // A window without streams remains if a later revision moved its stream to another series.
        self.by_values.iter().filter(|(_, stats)| stats.streams() > 0)
    }
}

/// The groups of a stream.
fn values_of<'a>(
    stream: &KeptStream<'a>,
    Grouping { by, and_by }: Grouping,
) -> impl Iterator<Item = Values> + use<'a> {
    let stream = *stream;
    by.values(&stream).flat_map(move |value| {
        let (one, pairs) = match and_by {
            None => (Some((value.to_owned(), None)), None),
            Some(and_by) => {
                let with = move |and_value: &str| (value.to_owned(), Some(and_value.to_owned()));
                (None, Some(and_by.values(&stream).map(with)))
            }
        };
        one.into_iter().chain(pairs.into_iter().flatten())
    })
}

/// Most groups of single streams; further ones are `other`.
const MOST_VALUES: usize = 500;
