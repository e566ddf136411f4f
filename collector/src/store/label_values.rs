//! The label values of a site in a data folder: how much each is used, and dropping some.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, params};

use super::deletion::LockedStore;
use super::paths::STORE_FILE;
use super::reader;
use crate::aggregate::cumulative_stats::CumulativeStats;
use crate::aggregate::dimension::{Dimension, columns};
use crate::aggregate::series::{Series, UNUSED_DAYS};
use crate::store::dimension_columns::series;
use crate::store::error::{StoreError, in_file};

/// Use of one value.
#[derive(Debug, Default)]
pub(crate) struct ValueUse {
    /// Streams in cumulative statistics.
    pub(crate) streams: u64,
    /// Day of the last stream. 0 for a dropped value.
    pub(crate) used_day: i64,
}

/// Use of each value of a site, by label.
pub(crate) type LabelValues = BTreeMap<Dimension, BTreeMap<String, ValueUse>>;

impl ValueUse {
    /// Whether limits count the value on this day.
    pub(crate) const fn is_in_use(&self, day: i64) -> bool {
        self.used_day > day - UNUSED_DAYS
    }
}

/// Reads the values. A collector may be using the folder.
pub(crate) fn read(data: &Path, site: &str) -> Result<LabelValues, StoreError> {
    let file = data.join(STORE_FILE);
    let read = |connection: Connection| of_site(&connection, site);
    reader::open(&file).and_then(read).map_err(in_file(&file))
}

/// Marks series with the value as unused, so that limits and `/metrics` leave them out until their next stream.
/// Returns the number of series.
pub(crate) fn drop_value(
    store: &LockedStore,
    site: &str,
    label: Dimension,
    value: &str,
) -> Result<usize, StoreError> {
    let update = format!("UPDATE series SET used_day = 0 WHERE site = ?1 AND {} = ?2", label.name());
    Ok(store.connection.execute(&update, params![site, value])?)
}

/// The labels that have values of a site.
pub(crate) fn labels() -> impl Iterator<Item = Dimension> {
    Dimension::labels().filter(|label| *label != Dimension::Site)
}

fn of_site(connection: &Connection, site: &str) -> Result<LabelValues, StoreError> {
    let mut values = LabelValues::new();
    // A series with several totals, by operation, is there several times.
    let mut statement = connection.prepare(&format!(
        "SELECT used_day, total, {} FROM series LEFT JOIN totals ON totals.series = series.id WHERE site = ?1",
        columns(Dimension::all())
    ))?;
    let mut rows = statement.query([site])?;
    while let Some(row) = rows.next()? {
        let total = row.get_ref(1)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
        let streams = total.map(CumulativeStats::decode).transpose()?.map_or(0, |total| total.requests());
        let (used_day, series): (i64, Series) = (row.get(0)?, series(row, 2)?);
        for label in labels() {
            let of_label = values.entry(label).or_default();
            let known = of_label.entry(series[label].clone()).or_default();
            known.streams += streams;
            known.used_day = known.used_day.max(used_day);
        }
    }
    Ok(values)
}
