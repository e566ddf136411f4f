//! SQL of the SQLite file for the columns of the dimensions: reads, writes and filters them.

use rusqlite::{Connection, Params, Row, ToSql, params_from_iter};

use crate::aggregate::dimension::{Dimension, columns};
use crate::aggregate::series::{Series, SeriesId};
use crate::store::filter::Filter;

/// Reads a series from the columns of the dimensions, which begin at `first`.
pub(super) fn series(row: &Row<'_>, first: usize) -> rusqlite::Result<Series> {
    let mut values = [const { String::new() }; Dimension::COUNT];
    for (at, value) in values.iter_mut().enumerate() {
        *value = row.get(first + at)?;
    }
    Ok(Series::new(values))
}

/// The series with this number.
pub(super) fn series_of(connection: &Connection, id: SeriesId) -> rusqlite::Result<Series> {
    let query = format!("SELECT {} FROM series WHERE id = ?1", columns(Dimension::all()));
    connection.prepare_cached(&query)?.query_row([id], |row| series(row, 0))
}

/// A statement that inserts one number and the values of a series, as [`with_series`] gives them.
pub(super) fn insert_into(table: &str, number: &str) -> String {
    let places: String = (0..Dimension::COUNT).map(|at| format!(", ?{}", at + 2)).collect();
    format!("INSERT INTO {table} ({number}, {}) VALUES (?1{places})", columns(Dimension::all()))
}

/// Parameters of [`insert_into`].
pub(super) fn with_series<'a>(number: &'a dyn ToSql, series: &'a Series) -> impl Params {
    let values = series.values().iter().map(|value| value as &dyn ToSql);
    params_from_iter([number].into_iter().chain(values))
}

/// A filter as a condition on a row of `series`. Its parameters follow `before` others: see [`with_filter`].
pub(super) fn in_filter(before: usize, filter: &Filter) -> String {
    let mut places = (before + 1..).map(|at| format!("?{at}"));
    let mut list = |count: usize| places.by_ref().take(count).collect::<Vec<_>>().join(", ");
    let restricted = filter.restricted();
    let mut conditions: Vec<_> = restricted
        .map(|(dimension, selection, named)| selection.condition(dimension.name(), &list(named.len())))
        .collect();
    if let Some(sites) = filter.sites().names() {
        conditions.push(format!("site IN ({})", list(sites.len())));
    }
    if conditions.is_empty() { "TRUE".to_owned() } else { conditions.join(" AND ") }
}

/// Parameters of a statement with [`in_filter`].
pub(super) fn with_filter<'a>(before: &[&'a dyn ToSql], filter: &'a Filter) -> impl Params {
    let values = filter.restricted().flat_map(|(.., named)| named).map(|value| value as &dyn ToSql);
    let sites = filter.sites().names().into_iter().flatten().map(|site| site as &dyn ToSql);
    params_from_iter(before.iter().copied().chain(values).chain(sites).collect::<Vec<_>>())
}
