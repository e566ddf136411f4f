//! Stores and deletes markers: in the SQLite file, or in ClickHouse for all collectors of a cluster.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use crate::store::clickhouse::queries::ClusterTables;
use crate::store::error::StoreError;
use crate::store::markers;
use crate::store::markers::{Marker, Posted};
use crate::store::paths::STORE_FILE;

/// Writes one marker after the other. Each change is on disk when its call returns.
pub(crate) struct MarkerWriter {
    target: Target,
    turn: Arc<Semaphore>,
}

#[derive(Clone)]
enum Target {
    File(PathBuf),
    Cluster(Arc<ClusterTables>),
}

impl MarkerWriter {
    pub(crate) fn new(folder: &Path, cluster: Option<Arc<ClusterTables>>) -> Self {
        let target = cluster.map_or_else(|| Target::File(folder.join(STORE_FILE)), Target::Cluster);
        Self { target, turn: Arc::new(Semaphore::new(1)) }
    }

    /// Stores a marker, unless its site has its id.
    pub(crate) async fn post(&self, marker: Marker, now_ms: i64) -> Result<Posted, StoreError> {
        self.run(move |target| match target {
            Target::File(file) => markers::post(&mut open(file)?, marker),
            Target::Cluster(tables) => tables.post_marker(marker, now_ms),
        })
        .await
    }

    /// Deletes a marker. Returns whether there was one.
    pub(crate) async fn delete(&self, site: Option<String>, id: String) -> Result<bool, StoreError> {
        self.run(move |target| match target {
            Target::File(file) => markers::delete(&open(file)?, &site, &id),
            Target::Cluster(tables) => tables.delete_marker(&site, &id),
        })
        .await
    }

    /// Runs a change on a thread that may block. A client that leaves does not interrupt it.
    async fn run<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Target) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = self.turn.clone().acquire_owned().await.expect("the semaphore is never closed");
        let target = self.target.clone();
        let changed = tokio::task::spawn_blocking(move || {
            let result = change(&target);
            drop(turn);
            result
        });
        changed.await.expect("a change neither panics nor is cancelled")
    }
}

/// Markers are rare, so no connection waits for the next one.
fn open(file: &Path) -> Result<Connection, StoreError> {
    // In place of a file that was moved away, SQLite would make a new one, and delete the log of the old one.
    let connection = Connection::open_with_flags(file, OpenFlags::default() - OpenFlags::SQLITE_OPEN_CREATE)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    // Nothing else has the marker, unlike a report, which the journal has.
    connection.pragma_update(None, "synchronous", "full")?;
    Ok(connection)
}
