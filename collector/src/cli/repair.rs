//! `llm-rum repair`: makes a new store of a damaged one. Streams are counted again from the journal and from the files
//! of streams, and older minutes and hours are taken from the damaged SQLite file.
//!
//! The new store grows in a folder of its own, so an interrupted repair has changed nothing.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use parquet::errors::ParquetError;
use serde::Serialize;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::cli::report_line::{LineSites, ReportLine, UnknownSite};
use crate::config::{Config, Sync};
use crate::http::error::{ApiError, Reason};
use crate::journal::Journal;
use crate::journal::segments::Segments;
use crate::report::server_fact::revision;
use crate::report::stream_id::StreamId;
use crate::rows::parquet_reader::{EveryRow, FieldsRead, StoredRow, each_row};
use crate::server::collector::Collector;
use crate::store::error::StoreError;
use crate::store::folder_lock::lock;
use crate::store::paths::{JOURNAL_FOLDER, ROWS_FOLDER, STORE_FILE};
use crate::store::salvage::{self, Salvaged};
use crate::time;

/// Result of a repair.
#[derive(Debug, Default, Serialize)]
pub struct Repaired {
    /// `false` if the store was whole, and nothing was changed.
    was_damaged: bool,
    /// Folder with the damaged data.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_to: Option<PathBuf>,
    /// Streams that were counted again.
    from_journal: u64,
    from_files: u64,
    /// Streams in files that the configuration refuses, by the error code of a beacon.
    refused: BTreeMap<&'static str, u64>,
    /// Files of streams that cannot be read.
    unreadable_files: Vec<String>,
    /// What was taken from the damaged SQLite file.
    from_store: Salvaged,
}

/// Why a repair failed.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// The folder contains no store.
    #[error("{0} contains no store: name the data folder of a collector")]
    NoStore(PathBuf),
    /// Counted again, its streams would count twice in ClickHouse.
    #[error(
        "a collector that publishes to ClickHouse is not repaired, as its streams would count twice there: \
         move the data folder away and start on an empty one"
    )]
    Publishes,
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The configuration has no such site.
    #[error(transparent)]
    UnknownSite(#[from] UnknownSite),
    /// A file cannot be copied or moved.
    #[error("cannot copy or move {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The new journal refused a stream.
    #[error("cannot store a stream: {0}")]
    Journal(String),
    /// A file of streams is damaged.
    #[error(transparent)]
    Rows(#[from] ParquetError),
}

impl Repaired {
    /// Whether nothing is lost.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.refused.is_empty() && self.unreadable_files.is_empty() && self.from_store.is_complete()
    }
}

/// Repairs the store in the data folder of the configuration, if it is damaged. No collector may use the folder.
///
/// # Errors
/// If the folder cannot be used. The folder is as before then.
pub fn repair(config: Config) -> Result<Repaired, RepairError> {
    let data = config.data.clone();
    let damaged = data.join(STORE_FILE);
    // If the SQLite file is lost, the journal and the files of streams may still be there.
    if ![STORE_FILE, JOURNAL_FOLDER, ROWS_FOLDER].iter().any(|name| data.join(name).exists()) {
        return Err(RepairError::NoStore(data));
    }
    let _lock = lock(&data)?;
    if salvage::is_whole(&damaged)? {
        return Ok(Repaired::default());
    }
    if config.store.clickhouse.is_some() {
        return Err(RepairError::Publishes);
    }
    let work = data.join(WORK_FOLDER);
    remove_all(&work)?;
    copy_journal(&data.join(JOURNAL_FOLDER), &work.join(JOURNAL_FOLDER))?;
    let mut repaired = Repaired { was_damaged: true, ..Repaired::default() };
    let oldest_ms = count_again(config, &work, &data.join(ROWS_FOLDER), &mut repaired)?;
    repaired.from_store = salvage::add_history(&damaged, &work.join(STORE_FILE), oldest_ms)?;
    sync_all(&work)?;
    repaired.moved_to = Some(swap(&data, &work)?);
    Ok(repaired)
}

/// Makes a store in the folder `work` of its journal, and of the files of streams in the folder `rows`. Returns when the
/// oldest stream arrived.
fn count_again(
    mut config: Config,
    work: &Path,
    rows: &Path,
    repaired: &mut Repaired,
) -> Result<Option<i64>, RepairError> {
    let sites = LineSites::new(&config, None)?;
    config.data = work.to_owned();
    // The next start of the collector evaluates the alerts and asks the engines.
    config.notify.clear();
    config.engines.clear();
    // The files are synced when all is in them.
    config.journal.sync = Sync::Normal;
    let mut latest = LatestRevisions::default();
    let segments = Segments::open(&work.join(JOURNAL_FOLDER), Sync::Normal).map_err(StoreError::from)?;
    let in_journal = Journal::recent(&segments, i64::MIN, |batch| {
        for report in &batch.reports {
            latest.note(report.id, revision(&report.report), batch.received_ms);
        }
    });
    in_journal.map_err(StoreError::from)?;
    drop(segments);
    repaired.from_journal = latest.of_streams.len() as u64;
    let runtime = Runtime::new().map_err(StoreError::Thread)?;
    let collector = {
        let _entered = runtime.enter();
        Collector::open(config)?
    };
    let import = |line: ReportLine| {
        let state = collector.state();
        let received_ms = line.received_ms.unwrap_or_default();
        let stored = state.ingest().import(received_ms, line.country, line.batch)?;
        runtime.block_on(stored)
    };
    let imported = import_files(rows, &sites, &mut latest, repaired, import);
    collector.close(CLOSE_WITHIN)?;
    imported?;
    Ok(latest.oldest_ms)
}

/// Imports each stream of the files that the journal lacks, in its latest revision.
fn import_files(
    folder: &Path,
    sites: &LineSites,
    latest: &mut LatestRevisions,
    repaired: &mut Repaired,
    import: impl Fn(ReportLine) -> Result<(), ApiError>,
) -> Result<(), RepairError> {
    let mut in_files = LatestRevisions::default();
    let mut readable = Vec::new();
    for path in row_files(folder)? {
        let read = each_stream(&path, |id, row| {
            in_files.note(id, revision(row.report), row.received_ms);
            Ok(())
        });
        match read {
            Ok(()) => readable.push(path),
            Err(RepairError::Rows(_)) => {
                repaired.unreadable_files.push(path.file_name().unwrap_or_default().display().to_string());
                // The rows before the damage can be read.
                readable.push(path);
            }
            Err(error) => return Err(error),
        }
    }
    for path in readable {
        let read = each_stream(&path, |id, row| {
            let found = revision(row.report);
            // The same revision is in two files only if a crash came between a file and its entry in the store.
            if latest.of_streams.get(&id).is_some_and(|rev| *rev >= found)
                || in_files.of_streams.get(&id) != Some(&found)
            {
                return Ok(());
            }
            latest.note(id, found, row.received_ms);
            match store(&row, sites, &import)? {
                Ok(()) => repaired.from_files += 1,
                Err(refused) => *repaired.refused.entry(refused.code()).or_default() += 1,
            }
            Ok(())
        });
        match read {
            Ok(()) | Err(RepairError::Rows(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Stores a row, as soon as counting is no longer behind. The inner error: the configuration refuses the stream.
fn store(
    row: &StoredRow<'_>,
    sites: &LineSites,
    import: &impl Fn(ReportLine) -> Result<(), ApiError>,
) -> Result<Result<(), Reason>, RepairError> {
    let mut tries = 0;
    loop {
        let line = match line_of(row, sites) {
            Ok(line) => line,
            Err(refused) => return Ok(Err(refused.reason)),
        };
        match import(line) {
            Ok(()) => return Ok(Ok(())),
            Err(busy) if busy.reason == Reason::Overloaded && tries < MOST_TRIES => {
                tries += 1;
                thread::sleep(BETWEEN_TRIES);
            }
            Err(failed) => return Err(RepairError::Journal(failed.message().to_owned())),
        }
    }
}

/// The latest revision of each stream.
#[derive(Default)]
struct LatestRevisions {
    of_streams: HashMap<StreamId, u32>,
    oldest_ms: Option<i64>,
}

impl LatestRevisions {
    fn note(&mut self, id: StreamId, found: u32, received_ms: i64) {
        let latest = self.of_streams.entry(id).or_insert(found);
        *latest = found.max(*latest);
        self.oldest_ms = Some(self.oldest_ms.map_or(received_ms, |oldest_ms| oldest_ms.min(received_ms)));
    }
}

/// A row as `llm-rum import` would read it from a file.
fn line_of(row: &StoredRow<'_>, sites: &LineSites) -> Result<ReportLine, ApiError> {
    let mut line = json!(row.report);
    line["received_ms"] = row.received_ms.into();
    line["country"] = row.country.map(|country| country.as_str().to_owned()).into();
    let mut line = sites.parse(line.to_string().as_bytes())?;
    for report in &mut line.batch.reports {
        report.visit = row.visit;
    }
    Ok(line)
}

fn each_stream(
    path: &Path,
    mut each: impl FnMut(StreamId, StoredRow<'_>) -> Result<(), RepairError>,
) -> Result<(), RepairError> {
    each_row(&[(path.to_owned(), EveryRow)], &FieldsRead::All, |row| {
        match StreamId::from_str_radix(&row.report.id, 16) {
            Ok(id) => each(id, row),
            Err(_) => Ok(()),
        }
    })
}

/// The files of streams, oldest first: their names are numbers of equal length.
fn row_files(folder: &Path) -> Result<Vec<PathBuf>, RepairError> {
    let mut files = entries(folder)?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "parquet"));
    files.sort();
    Ok(files)
}

/// Empty if the folder does not exist.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, RepairError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed(folder))?,
    };
    entries.map(|entry| Ok(entry.map_err(failed(folder))?.path())).collect()
}

fn copy_journal(from: &Path, to: &Path) -> Result<(), RepairError> {
    // Only users who may read the data folder may read the copy.
    DirBuilder::new().recursive(true).mode(0o700).create(to).map_err(failed(to))?;
    for path in entries(from)? {
        let copy = to.join(path.file_name().unwrap_or_default());
        fs::copy(&path, copy).map_err(failed(&path))?;
    }
    Ok(())
}

/// Moves the damaged data aside, and the new data into its place. Returns where the damaged data is.
fn swap(data: &Path, work: &Path) -> Result<PathBuf, RepairError> {
    let name = format!("damaged-{}", time::rfc3339(time::now_ms()).replace(':', ""));
    let aside = data.join(name);
    DirBuilder::new().mode(0o700).create(&aside).map_err(failed(&aside))?;
    let files = [STORE_FILE.to_owned(), format!("{STORE_FILE}-wal"), format!("{STORE_FILE}-shm")];
    let folders = [JOURNAL_FOLDER, ROWS_FOLDER].map(str::to_owned);
    // The store last: what is interrupted in between is in one of the three folders.
    for name in folders.iter().chain(&files) {
        rename(&data.join(name), &aside.join(name))?;
    }
    for name in folders.iter().chain(files.iter().rev()) {
        rename(&work.join(name), &data.join(name))?;
    }
    remove_all(work)?;
    File::open(data).and_then(|folder| folder.sync_all()).map_err(failed(data))?;
    Ok(aside)
}

fn sync_all(folder: &Path) -> Result<(), RepairError> {
    for path in entries(folder)? {
        match path.is_dir() {
            true => sync_all(&path)?,
            false => File::open(&path).and_then(|file| file.sync_all()).map_err(failed(&path))?,
        }
    }
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed(folder))
}

fn rename(from: &Path, to: &Path) -> Result<(), RepairError> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        renamed => renamed.map_err(failed(from)),
    }
}

fn remove_all(folder: &Path) -> Result<(), RepairError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(failed(folder)),
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> RepairError + use<> {
    let path = path.to_owned();
    move |source| RepairError::File { path, source }
}

/// Folder in the data folder in which the new store grows.
const WORK_FOLDER: &str = "repair";

/// Counting goes on while the files are read, so little is left to count at the end.
const CLOSE_WITHIN: Duration = Duration::from_secs(600);

/// With the pauses between them, the tries take a minute. A disk that accepts no write by then counts as failed.
const MOST_TRIES: u32 = 1_200;
const BETWEEN_TRIES: Duration = Duration::from_millis(50);
