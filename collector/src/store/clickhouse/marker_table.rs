//! The markers of a cluster. They are posted to ClickHouse itself, so that all collectors know the same ones.

use super::client::{ClickHouseError, Client, Params};
use super::queries::ClusterTables;
use super::rows::{self, Rows};
use crate::store::error::StoreError;
use crate::store::markers::{self, MOST, MOST_OF_SITE, Marker, MarkerKind, MarkersQuery, Posted};

impl ClusterTables {
    /// Stores a marker, unless its site has its id. If two collectors store the same id at the same moment, the one that
    /// was posted last stays.
    pub(in crate::store) fn post_marker(&self, marker: Marker, now_ms: i64) -> Result<Posted, StoreError> {
        let mut params = Params::default();
        let same = condition(&marker.site, &marker.id, &mut params);
        if let Some(known) = self.marker_rows(&same, &params)?.pop() {
            return Ok(Posted::Known(known));
        }
        insert(&self.client, [&marker], now_ms)?;
        let mut params = Params::default();
        let of_site = format!("site = {}", params.text(markers::stored_site(&marker.site)));
        self.drop_beyond(&of_site, MOST_OF_SITE, &params)?;
        self.drop_beyond("1", MOST, &Params::default())?;
        Ok(Posted::New(marker))
    }

    /// Deletes a marker. Returns whether there was one.
    pub(in crate::store) fn delete_marker(
        &self,
        site: &Option<String>,
        id: &str,
    ) -> Result<bool, StoreError> {
        let mut params = Params::default();
        let same = condition(site, id, &mut params);
        let is_known = !self.marker_rows(&same, &params)?.is_empty();
        if is_known {
            self.drop_markers(&same, &params)?;
        }
        Ok(is_known)
    }

    /// The selected markers, in the order of their times.
    pub(in crate::store) fn markers(&self, asked: &MarkersQuery<'_>) -> Result<Vec<Marker>, StoreError> {
        let (from_ms, to_ms) = asked.range_ms;
        let in_range = format!("timestamp_ms >= {from_ms} AND timestamp_ms < {to_ms}");
        let all = self.marker_rows(&in_range, &Params::default())?;
        Ok(all.into_iter().filter(|marker| asked.selects(marker)).collect())
    }

    fn marker_rows(&self, condition: &str, params: &Params) -> Result<Vec<Marker>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM {} FINAL WHERE {condition} ORDER BY timestamp_ms, posted_ms, site, id",
            self.client.table(NAME)
        );
        let mut found = Vec::new();
        type Row = (String, String, i64, String, String, String);
        rows::each(
            &self.client.query(&query, params)?,
            |(site, id, timestamp_ms, kind, title, url): Row| {
                let (site, url) = (markers::non_empty(site), markers::non_empty(url));
                found.push(Marker { site, id, timestamp_ms, kind: MarkerKind::of_stored(&kind), title, url });
                Ok(())
            },
        )?;
        Ok(found)
    }

    /// Deletes the markers that were posted first, so that no more than `most` remain.
    fn drop_beyond(&self, condition: &str, most: i64, params: &Params) -> Result<(), StoreError> {
        let beyond = format!(
            "SELECT site, id FROM {} FINAL WHERE {condition} ORDER BY posted_ms DESC, site, id LIMIT {MOST}
             OFFSET {most}",
            self.client.table(NAME)
        );
        let mut too_many = Vec::new();
        rows::each(&self.client.query(&beyond, params)?, |row: (String, String)| {
            too_many.push(row);
            Ok(())
        })?;
        for (site, id) in too_many {
            let mut params = Params::default();
            let same = condition_of(&site, &id, &mut params);
            self.drop_markers(&same, &params)?;
        }
        Ok(())
    }

    /// Waits until the rows are gone: the response says so. The table is small, so that rewriting it is cheap.
    fn drop_markers(&self, condition: &str, params: &Params) -> Result<(), ClickHouseError> {
        let delete = format!(
            "ALTER TABLE {} DELETE WHERE {condition} SETTINGS mutations_sync = 2",
            self.client.table(NAME)
        );
        self.client.execute_with(&delete, params)
    }
}

/// Inserts markers. Doing it twice changes nothing.
pub(super) fn insert<'a>(
    client: &Client,
    markers: impl IntoIterator<Item = &'a Marker>,
    now_ms: i64,
) -> Result<(), ClickHouseError> {
    let mut rows = Rows::default();
    for marker in markers {
        rows.push([
            markers::stored_site(&marker.site).into(),
            marker.id.as_str().into(),
            marker.timestamp_ms.into(),
            marker.kind.as_str().into(),
            marker.title.as_str().into(),
            marker.url.as_deref().unwrap_or_default().into(),
            now_ms.into(),
        ]);
    }
    client.insert(NAME, &format!("{COLUMNS}, posted_ms"), rows.bytes())
}

fn condition(site: &Option<String>, id: &str, params: &mut Params) -> String {
    condition_of(markers::stored_site(site), id, params)
}

fn condition_of(site: &str, id: &str, params: &mut Params) -> String {
    format!("site = {} AND id = {}", params.text(site), params.text(id))
}

pub(super) const NAME: &str = "markers";
const COLUMNS: &str = "site, id, timestamp_ms, kind, title, url";
