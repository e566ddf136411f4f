//! Deletes from a folder that a collector uses. `llm-rum delete` hands the request to that collector by a socket in the
//! folder. The collector stops serving, deletes as the command would, answers, and serves again.

use std::fs::{self, Permissions};
use std::future;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{self, UnixListener};
use tokio::time::timeout;
use tracing::{info, warn};

use super::delete::{DeleteError, DeleteRequest, Deleted, delete, preview};
use crate::config::Config;

/// Result of a deletion, whichever process deleted.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeletionResult {
    /// What was found and what is left, to be printed.
    pub deleted: Value,
    /// Whether nothing of the site is left.
    pub is_complete: bool,
    /// Names of the collectors that still have rows of the site in ClickHouse.
    pub collectors_left: Vec<String>,
}

/// Why nothing is known to be deleted.
#[derive(Debug, thiserror::Error)]
pub enum OnlineDeleteError {
    /// This process could not delete.
    #[error(transparent)]
    Here(#[from] DeleteError),
    /// The collector that uses the folder could not delete.
    #[error("the collector that uses the folder could not delete: {0}")]
    There(String),
    /// The collector ended before it had answered.
    #[error("the collector that uses the folder ended before it answered: run the command again")]
    Ended,
}

/// Deletes the data of a site. A collector that uses the folder is asked to do so.
///
/// # Errors
/// As [`delete`], and if the collector does not answer.
pub fn delete_online(config: &Config, request: &DeleteRequest) -> Result<DeletionResult, OnlineDeleteError> {
    match delete(config, request) {
        Err(DeleteError::InUse(folder)) => {
            // A mistyped name must not interrupt the collector.
            preview(config, request)?;
            let stream = UnixStream::connect(config.data.join(SOCKET));
            let stream = stream.map_err(|_no_collector_serves| DeleteError::InUse(folder))?;
            ask(stream, request)
        }
        deleted => Ok(DeletionResult::of(&deleted?)),
    }
}

fn ask(mut stream: UnixStream, request: &DeleteRequest) -> Result<DeletionResult, OnlineDeleteError> {
    let mut answer = Vec::new();
    let line = format!("{}\n", serde_json::json!(request));
    stream
        .write_all(line.as_bytes())
        .and_then(|()| stream.read_to_end(&mut answer))
        .map_err(|_| OnlineDeleteError::Ended)?;
    let answer: Result<DeletionResult, String> =
        serde_json::from_slice(&answer).map_err(|_cut| OnlineDeleteError::Ended)?;
    answer.map_err(OnlineDeleteError::There)
}

impl DeletionResult {
    fn of(deleted: &Deleted) -> Self {
        Self {
            deleted: serde_json::to_value(deleted).expect("counts and names are JSON"),
            is_complete: deleted.is_complete(),
            collectors_left: deleted.collectors_left().map(str::to_owned).collect(),
        }
    }
}

/// Takes the deletions that `llm-rum delete` requests from a running collector.
pub struct DeletionRequests {
    path: PathBuf,
    /// `None` if there can be no socket, as on some network file systems.
    listener: Option<UnixListener>,
}

/// A deletion that was requested. Dropped without an answer, it has failed.
pub struct RequestedDeletion {
    request: DeleteRequest,
    stream: net::UnixStream,
}

/// A deletion that was carried out, successfully or not.
pub struct FinishedDeletion {
    answer: Result<DeletionResult, String>,
    stream: net::UnixStream,
}

impl DeletionRequests {
    /// Listens in the folder of a collector, which must have locked it. Must be called in a runtime.
    #[must_use]
    pub fn listen(data: &Path) -> Self {
        let path = data.join(SOCKET);
        // A killed collector leaves it behind.
        let _missing = fs::remove_file(&path);
        let listener = UnixListener::bind(&path).and_then(|listener| {
            fs::set_permissions(&path, Permissions::from_mode(0o600))?;
            Ok(listener)
        });
        let listener = listener.map_err(|error| {
            warn!(%error, path = %path.display(), "Cannot take deletions: stop the collector to delete data");
        });
        Self { path, listener: listener.ok() }
    }

    /// The next deletion. Completes only if there is one.
    pub async fn next(&mut self) -> RequestedDeletion {
        let Some(listener) = &self.listener else { return future::pending().await };
        loop {
            match listener.accept().await {
                Ok((stream, _)) => match timeout(READ_WITHIN, RequestedDeletion::read(stream)).await {
                    Ok(Ok(deletion)) => return deletion,
                    Ok(Err(error)) => warn!(%error, "Cannot read the request for a deletion"),
                    Err(_late) => warn!("A request for a deletion was not sent within {READ_WITHIN:?}"),
                },
                Err(error) => {
                    warn!(%error, "Cannot accept a request for a deletion");
                    tokio::time::sleep(READ_WITHIN).await;
                }
            }
        }
    }
}

impl Drop for DeletionRequests {
    fn drop(&mut self) {
        let _missing = fs::remove_file(&self.path);
    }
}

impl RequestedDeletion {
    async fn read(mut stream: net::UnixStream) -> io::Result<Self> {
        let mut line = String::new();
        BufReader::new((&mut stream).take(MAX_REQUEST_BYTES)).read_line(&mut line).await?;
        Ok(Self { request: serde_json::from_str(&line)?, stream })
    }

    /// Deletes. No collector may use the folder.
    pub async fn carry_out(self, config: &Config) -> FinishedDeletion {
        let (config, Self { request, stream }) = (config.clone(), self);
        info!(site = request.site, "Deleting data of `{}`", request.site);
        let deleted = tokio::task::spawn_blocking(move || delete(&config, &request));
        let answer = match deleted.await.expect("a deletion does not panic") {
            Ok(deleted) => Ok(DeletionResult::of(&deleted)),
            Err(error) => {
                let text = chain(&error);
                warn!("Nothing is known to be deleted: {text}");
                Err(text)
            }
        };
        FinishedDeletion { answer, stream }
    }
}

impl FinishedDeletion {
    /// Answers the command that requested it.
    pub async fn answer(mut self) {
        let answer = serde_json::to_vec(&self.answer).expect("counts and names are JSON");
        match self.stream.write_all(&answer).await {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => warn!(%error, "Cannot answer a deletion"),
            // The command may have been interrupted.
            _ => {}
        }
    }
}

/// The error with its reasons.
fn chain(error: &DeleteError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(reason) = source {
        text = format!("{text}: {reason}");
        source = reason.source();
    }
    text
}

/// Name of the socket in the data folder.
const SOCKET: &str = "delete.sock";
const READ_WITHIN: Duration = Duration::from_secs(5);
/// More than names of sites and lost collectors take.
const MAX_REQUEST_BYTES: u64 = 64 * 1024;
