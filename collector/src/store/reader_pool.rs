//! A pool of read-only connections. Each query runs on a thread that may block, against the file of this
//! collector or against ClickHouse.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::backend::Backend;
use super::clickhouse::queries::ClusterTables;
use super::error::StoreError;
use super::paths::STORE_FILE;
use super::reader::open;
use super::stream_index::StreamIndex;
use crate::memory::MemoryBudget;

/// A small pool of read-only connections.
pub(crate) struct ReaderPool {
    file: PathBuf,
    stream_index: StreamIndex,
    memory: MemoryBudget,
    /// `None` if this collector runs alone.
    cluster: Option<Arc<ClusterTables>>,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
    /// Cluster queries have permits of their own: they wait for ClickHouse, and must not block queries to the
    /// file.
    cluster_permits: Arc<Semaphore>,
    /// Exports have permits of their own: each lasts as long as its client reads, and must not block queries.
    export_permits: Arc<Semaphore>,
}

impl ReaderPool {
    pub(crate) fn new(
        folder: &Path,
        stream_index: StreamIndex,
        cluster: Option<Arc<ClusterTables>>,
        memory: MemoryBudget,
    ) -> Self {
        Self {
            file: folder.join(STORE_FILE),
            stream_index,
            memory,
            cluster,
            idle: Arc::default(),
            permits: Arc::new(Semaphore::new(MOST_QUESTIONS)),
            cluster_permits: Arc::new(Semaphore::new(MOST_QUESTIONS)),
            export_permits: Arc::new(Semaphore::new(MOST_EXPORTS)),
        }
    }

    /// Runs a query on a thread that may block.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Backend<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self.cluster.clone() {
            None => {
                self.run_own(move |connection, stream_index| {
                    query(&Backend::File { connection, stream_index })
                })
                .await
            }
            Some(tables) => {
                admit(self.memory)?;
                on_a_thread(&self.cluster_permits, move || query(&Backend::Cluster(&tables))).await
            }
        }
    }

    /// Runs a query on a thread that may block. It may last as long as a client reads: such queries wait for one another,
    /// and other queries do not wait for them.
    pub(crate) async fn run_export(
        self: Arc<Self>,
        query: impl FnOnce(&Backend<'_>) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        admit(self.memory)?;
        let permits = self.export_permits.clone();
        on_a_thread(&permits, move || self.run_here(query)).await
    }

    /// Runs a query on the calling thread, which may block. It takes no permit: the caller limits its threads.
    pub(crate) fn run_here<T>(
        &self,
        query: impl FnOnce(&Backend<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match &self.cluster {
            None => self.run_own_here(query),
            Some(tables) => query(&Backend::Cluster(tables)),
        }
    }

    /// Runs a query against this collector's own file on the calling thread, which may block. It takes no permit: the
    /// caller limits its threads.
    pub(crate) fn run_own_here<T>(
        &self,
        query: impl FnOnce(&Backend<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = open_within(self.memory, &self.file)?;
        query(&Backend::File { connection: &connection, stream_index: &self.stream_index })
    }

    /// Runs a query against this collector's own file.
    pub(crate) async fn run_own<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection, &StreamIndex) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (file, idle, stream_index) = (self.file.clone(), self.idle.clone(), self.stream_index.clone());
        let memory = self.memory;
        on_a_thread(&self.permits, move || {
            admit(memory)?;
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = kept.map_or_else(|| open_within(memory, &file), Ok)?;
            let answer = query(&connection, &stream_index);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            answer
        })
        .await
    }
}

/// Refuses a query while little memory is left.
fn admit(memory: MemoryBudget) -> Result<(), StoreError> {
    if memory.is_short() { Err(StoreError::MemoryLimited) } else { Ok(()) }
}

/// Opens a connection whose queries end with an error as soon as little memory is left.
fn open_within(memory: MemoryBudget, file: &Path) -> Result<Connection, StoreError> {
    let mut connection = open(file)?;
    connection.progress_handler(STEPS_BETWEEN_CHECKS, Some(move || memory.is_short()))?;
    Ok(connection)
}

/// Waits for a permit and runs a query on a thread that may block.
async fn on_a_thread<T: Send + 'static>(
    permits: &Arc<Semaphore>,
    question: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let permit = permits.clone().acquire_owned().await.expect("the semaphore is never closed");
    let answer = tokio::task::spawn_blocking(move || {
        let answer = question();
        drop(permit);
        answer
    });
    answer.await.expect("a query neither panics nor is cancelled")
}

/// Limit of concurrent queries against the file, and of those against ClickHouse.
const MOST_QUESTIONS: usize = 4;

/// Steps of SQLite's machine. A row of windows takes about ten, and up to 130 kB.
const STEPS_BETWEEN_CHECKS: i32 = 100;

/// Limit of concurrent exports. Each holds a row group in memory.
const MOST_EXPORTS: usize = 2;
