//! Markers that operators and their programs post: the table in the SQLite file.

pub(crate) mod writer;

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use schemars::JsonSchema;
use serde::Serialize;

use crate::store::error::StoreError;
use crate::store::filter::Filter;

/// A moment at which an operator or a program changed something, or at which something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    /// `None` if it concerns all sites.
    pub(crate) site: Option<String>,
    /// Chosen by the client or by the collector; each site has an id once.
    pub(crate) id: String,
    pub(crate) timestamp_ms: i64,
    pub(crate) kind: MarkerKind,
    pub(crate) title: String,
    pub(crate) url: Option<String>,
}

/// Kind of change or event that a marker records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MarkerKind {
    /// A new version of something runs.
    #[default]
    Deploy,
    /// A setting changed: a flag, a prompt, a model, a limit.
    Config,
    /// Something began to fail, or no longer fails.
    Incident,
    Other,
    /// The first appearance of a release. Streams tell it, and no client posts it.
    Release,
}

/// Which markers a query selects.
pub(crate) struct MarkersQuery<'a> {
    /// Only its sites count: a marker has no other dimension.
    pub(crate) filter: &'a Filter,
    /// The end is exclusive.
    pub(crate) range_ms: (i64, i64),
}

/// Result of a post.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    New(Marker),
    /// The site had a marker with this id: the stored one, which stays as it is.
    Known(Marker),
}

impl MarkerKind {
    pub(crate) const ALL: [Self; 5] =
        [Self::Deploy, Self::Config, Self::Incident, Self::Other, Self::Release];

    /// Word in requests, responses and the store.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Deploy => "deploy",
            Self::Config => "config",
            Self::Incident => "incident",
            Self::Other => "other",
            Self::Release => "release",
        }
    }

    /// The kinds that a client may post.
    pub(crate) fn posted() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| *kind != Self::Release)
    }

    /// Kinds that only a later version knows are `other`.
    pub(super) fn of_stored(word: &str) -> Self {
        Self::posted().find(|kind| kind.as_str() == word).unwrap_or(Self::Other)
    }
}

impl MarkersQuery<'_> {
    pub(super) fn selects(&self, marker: &Marker) -> bool {
        marker.site.as_deref().is_none_or(|site| self.filter.selects_site(site))
    }
}

/// Stores a marker, unless its site has its id. Beyond the limits, the markers that were posted first are deleted.
pub(super) fn post(connection: &mut Connection, marker: Marker) -> Result<Posted, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if let Some(known) = find(&transaction, stored_site(&marker.site), &marker.id)? {
        return Ok(Posted::Known(known));
    }
    transaction.execute(
        "INSERT INTO markers (site, id, timestamp_ms, kind, title, url) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            stored_site(&marker.site),
            marker.id,
            marker.timestamp_ms,
            marker.kind.as_str(),
            marker.title,
            marker.url.as_deref().unwrap_or_default(),
        ],
    )?;
    let beyond = |of_site: &str| {
        format!(
            "DELETE FROM markers WHERE number IN (
                SELECT number FROM markers WHERE {of_site} ORDER BY number DESC LIMIT -1 OFFSET ?1)"
        )
    };
    transaction.execute(&beyond("site = ?2"), params![MOST_OF_SITE, stored_site(&marker.site)])?;
    transaction.execute(&beyond("TRUE"), [MOST])?;
    transaction.commit()?;
    Ok(Posted::New(marker))
}

/// Deletes a marker. Returns whether there was one.
pub(super) fn delete(connection: &Connection, site: &Option<String>, id: &str) -> Result<bool, StoreError> {
    let delete = "DELETE FROM markers WHERE site = ?1 AND id = ?2";
    Ok(connection.execute(delete, [stored_site(site), id])? > 0)
}

/// The selected markers, in the order of their times.
pub(super) fn list(connection: &Connection, asked: &MarkersQuery<'_>) -> Result<Vec<Marker>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM markers WHERE timestamp_ms >= ?1 AND timestamp_ms < ?2
         ORDER BY timestamp_ms, number"
    ))?;
    let rows = statement.query_map([asked.range_ms.0, asked.range_ms.1], stored)?;
    let selected = rows.filter(|row| row.as_ref().map_or(true, |marker| asked.selects(marker)));
    Ok(selected.collect::<Result<_, _>>()?)
}

/// Deletes the markers of all times before this one.
pub(super) fn drop_before(connection: &Connection, timestamp_ms: i64) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM markers WHERE timestamp_ms < ?1")?.execute([timestamp_ms])?;
    Ok(())
}

/// The markers that ClickHouse lacks, with their numbers.
pub(super) fn unpublished(connection: &Connection) -> Result<Vec<(i64, Marker)>, StoreError> {
    let mut statement = connection.prepare(&format!(
        "SELECT {COLUMNS}, number FROM markers WHERE published = 0 ORDER BY number LIMIT {MOST}"
    ))?;
    let rows = statement.query_map([], |row| Ok((row.get(6)?, stored(row)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Notes that ClickHouse has the markers up to this number.
pub(super) fn published(connection: &Connection, number: i64) -> Result<(), StoreError> {
    connection.execute("UPDATE markers SET published = 1 WHERE number <= ?1", [number])?;
    Ok(())
}

fn find(connection: &Connection, site: &str, id: &str) -> rusqlite::Result<Option<Marker>> {
    let find = format!("SELECT {COLUMNS} FROM markers WHERE site = ?1 AND id = ?2");
    connection.query_row(&find, [site, id], stored).optional()
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Marker> {
    let text = |at| row.get::<_, String>(at);
    Ok(Marker {
        site: non_empty(text(0)?),
        id: text(1)?,
        timestamp_ms: row.get(2)?,
        kind: MarkerKind::of_stored(&text(3)?),
        title: text(4)?,
        url: non_empty(text(5)?),
    })
}

/// In the tables, an empty text stands for a missing one.
pub(super) fn stored_site(site: &Option<String>) -> &str {
    site.as_deref().unwrap_or_default()
}

pub(super) fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

const COLUMNS: &str = "site, id, timestamp_ms, kind, title, url";

/// Ten deploys a day for half a year.
pub(super) const MOST_OF_SITE: i64 = 2_000;

/// About 5 MB.
pub(super) const MOST: i64 = 20_000;

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    fn marker(site: Option<&str>, number: i64) -> Marker {
        Marker {
            site: site.map(str::to_owned),
            id: number.to_string(),
            timestamp_ms: number,
            kind: MarkerKind::Config,
            title: format!("change {number}"),
            url: (number % 2 == 0).then(|| "https://ci.example/1".to_owned()),
        }
    }

    fn empty() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, std::path::Path::new("memory")).unwrap();
        connection
    }

    fn all(connection: &Connection) -> Vec<Marker> {
        list(connection, &MarkersQuery { filter: &Filter::default(), range_ms: (0, i64::MAX) }).unwrap()
    }

    #[test]
    fn a_marker_is_read_as_it_was_posted() {
        let mut connection = empty();
        for posted in [marker(None, 1), marker(Some("shop"), 2)] {
            assert_eq!(post(&mut connection, posted.clone()).unwrap(), Posted::New(posted));
        }
        assert_eq!(all(&connection), [marker(None, 1), marker(Some("shop"), 2)]);
        let later = Marker { title: "other".to_owned(), ..marker(None, 1) };
        assert_eq!(post(&mut connection, later).unwrap(), Posted::Known(marker(None, 1)));
        assert_eq!(all(&connection).len(), 2);
    }

    #[test]
    fn the_first_posted_markers_of_a_site_leave_at_its_limit() {
        let mut connection = empty();
        post(&mut connection, marker(Some("blog"), 7)).unwrap();
        // The times fall, so that the order of posts differs from the order of times.
        let of_shop = |number| Marker { timestamp_ms: 1_000_000 - number, ..marker(Some("shop"), number) };
        (0..MOST_OF_SITE + 3).for_each(|number| drop(post(&mut connection, of_shop(number)).unwrap()));
        let kept = all(&connection);
        assert_eq!(kept.len() as i64, MOST_OF_SITE + 1);
        assert_eq!(kept[0], marker(Some("blog"), 7), "another site loses none");
        assert_eq!(kept[1], of_shop(MOST_OF_SITE + 2));
        assert_eq!(kept[MOST_OF_SITE as usize], of_shop(3));
    }

    #[test]
    fn markers_of_all_sites_together_are_limited() {
        let mut connection = empty();
        let insert = "INSERT INTO markers (site, id, timestamp_ms, kind, title, url)
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
            SELECT 'site-' || (i % 100), i, i, 'later', 'title', '' FROM n";
        connection.execute(insert, [MOST]).unwrap();
        post(&mut connection, marker(None, MOST)).unwrap();
        let kept = all(&connection);
        assert_eq!((kept.len() as i64, kept[0].timestamp_ms, kept[0].kind), (MOST, 1, MarkerKind::Other));
    }

    #[test]
    fn only_new_markers_are_unpublished() {
        let mut connection = empty();
        post(&mut connection, marker(None, 1)).unwrap();
        let [(number, first)] = &unpublished(&connection).unwrap()[..] else { panic!("one") };
        assert_eq!(*first, marker(None, 1));
        published(&connection, *number).unwrap();
        post(&mut connection, marker(Some("shop"), 2)).unwrap();
        let left: Vec<_> = unpublished(&connection).unwrap().into_iter().map(|(_, marker)| marker).collect();
        assert_eq!(left, [marker(Some("shop"), 2)]);
    }
}
