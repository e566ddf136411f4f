//! Stores the sampled streams that `aggregate/sampling.rs` chooses, and lists them, slowest or newest first.

use rusqlite::{Connection, OptionalExtension, Row, ToSql, Transaction, params};

use super::dimension_columns::{in_filter, with_filter};
use crate::aggregate::sampling::{SampleChanges, SampleKind, StoredSample};
use crate::report::stream_id::StreamId;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::{SamplesQuery, StoredStream, StreamsPage};
use crate::time::day_of;

/// A page of samples: slowest first for the slowest streams, newest first for the other kinds.
pub(super) fn page(connection: &Connection, asked: &SamplesQuery) -> Result<StreamsPage, StoreError> {
    let order = match asked.sample {
        SampleKind::Slowest => "waited_ms",
        SampleKind::Failed | SampleKind::Uniform => "received_ms",
    };
    let (from, to) = asked.received_ms;
    let (first, last, kind) = (day_of(from), day_of(to), asked.sample.bit());
    let before: [&dyn ToSql; 5] = [&first, &last, &kind, &from, &to];
    let mut statement = connection.prepare_cached(&format!(
        "SELECT report, received_ms, country FROM samples JOIN series ON series.id = series
         WHERE day BETWEEN ?1 AND ?2 AND kinds & ?3 AND received_ms >= ?4 AND received_ms < ?5
           AND {}
         ORDER BY {order} DESC, stream",
        in_filter(before.len(), &asked.filter)
    ))?;
    let streams = statement.query_map(with_filter(&before, &asked.filter), stored)?;
    StreamsPage::of_samples(streams.map(|stream| Ok(stream?)), asked)
}

/// One sampled stream, if the filter selects it.
pub(super) fn one(
    connection: &Connection,
    filter: &Filter,
    id: StreamId,
) -> Result<Option<StoredStream>, StoreError> {
    let query = format!(
        "SELECT report, received_ms, country FROM samples JOIN series ON series.id = series
         WHERE stream = ?1 AND {} ORDER BY day DESC LIMIT 1",
        in_filter(1, filter)
    );
    let mut statement = connection.prepare_cached(&query)?;
    Ok(statement.query_row(with_filter(&[&id.to_be_bytes()], filter), stored).optional()?)
}

/// The samples of a site and day.
pub(super) fn of_day(connection: &Connection, site: &str, day: i64) -> Result<Vec<StoredSample>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT stream, kinds, waited_ms FROM samples
         WHERE day = ?1 AND series IN (SELECT id FROM series WHERE site = ?2)",
    )?;
    let rows = statement.query_map(params![day, site], |row| {
        let id = StreamId::from_be_bytes(row.get(0)?);
        Ok(StoredSample { id, kinds: row.get(1)?, waited_ms: row.get(2)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn write(transaction: &Transaction<'_>, changes: &SampleChanges<'_>) -> rusqlite::Result<()> {
    let mut delete = transaction.prepare_cached("DELETE FROM samples WHERE day = ?1 AND stream = ?2")?;
    for (day, id) in changes.gone {
        delete.execute(params![day, id.to_be_bytes()])?;
    }
    let mut insert = transaction.prepare_cached(
        "INSERT OR REPLACE INTO samples (day, stream, kinds, waited_ms, series, outcome, received_ms, report)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let mut update =
        transaction.prepare_cached("UPDATE samples SET kinds = ?3 WHERE day = ?1 AND stream = ?2")?;
    for (day, kept, row) in &changes.kept {
        let id = kept.id.to_be_bytes();
        match row {
            None => update.execute(params![day, id, kept.kinds])?,
            Some(row) => insert.execute(params![
                day,
                id,
                kept.kinds,
                kept.waited_ms,
                row.series,
                row.outcome.as_str(),
                row.received_ms,
                row.report,
            ])?,
        };
    }
    Ok(())
}

/// Deletes the samples of all days before this one. Also clears their outbox rows, since ClickHouse expires
/// these days by itself.
pub(super) fn drop_before(connection: &Connection, day: i64) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM samples WHERE day < ?1")?.execute([day])?;
    connection.prepare_cached("DELETE FROM outbox_samples WHERE day < ?1")?.execute([day])?;
    Ok(())
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredStream> {
    Ok(StoredStream { json: row.get(0)?, received_ms: row.get(1)?, country: row.get(2)? })
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;
    use crate::aggregate::sampling::NewSample;

    #[test]
    fn streams_leave_the_store_with_their_sample_or_their_day() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.sqlite");
        let mut connection = Connection::open(&file).unwrap();
        schema::migrate(&mut connection, &file).unwrap();
        connection.execute("INSERT INTO series (id, site, use_case, provider, model, country) VALUES (0, 'shop', 'chat', 'a', 'm', 'DE')", []).unwrap();
        let kept = |id| StoredSample { id, kinds: SampleKind::Uniform.bit(), waited_ms: None };
        let all = [kept(1), kept(2), kept(3)];
        let report = || "{}".to_owned();
        let row = NewSample { series: 0, outcome: beacon::Outcome::Empty, received_ms: 5, report: report() };
        let changes = SampleChanges {
            gone: &[],
            kept: all.iter().zip([7, 8, 8]).map(|(kept, day)| (day, kept, Some(&row))).collect(),
        };
        let transaction = connection.transaction().unwrap();
        write(&transaction, &changes).unwrap();
        write(&transaction, &SampleChanges { gone: &[(8, 3)], kept: Vec::new() }).unwrap();
        transaction.commit().unwrap();
        assert_eq!(of_day(&connection, "shop", 7).unwrap(), [kept(1)]);
        drop_before(&connection, 8).unwrap();
        assert_eq!(of_day(&connection, "shop", 7).unwrap(), []);
        assert_eq!(of_day(&connection, "shop", 8).unwrap(), [kept(2)]);
        assert_eq!(of_day(&connection, "else", 8).unwrap(), []);
        let all = Filter::default();
        assert!(one(&connection, &all, 1).unwrap().is_none() && one(&connection, &all, 2).unwrap().is_some());
    }
}
