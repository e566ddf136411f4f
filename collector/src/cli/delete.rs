//! `llm-rum delete`: deletes the data of a site from a data folder and from ClickHouse, searches for it again, and tells
//! what was there and what is left.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::notify::file_outbox;
use crate::notify::outbox::OutboxError;
use crate::server::collector::Collector;
use crate::store::clickhouse::deletion::{DeletionTables, RowCounts};
use crate::store::deletion::{self, FoundData, LockedStore, SiteDeletion};
use crate::store::error::StoreError;
use crate::store::paths::STORE_FILE;
use crate::time::{self, MINUTE_MS};

/// What is to be deleted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeleteRequest {
    /// Name of the site. It need not be configured any more.
    pub site: String,
    /// Only streams whose latest report arrived at this time or later, in milliseconds since 1970: the beginning of a
    /// minute. `None`: from the first on.
    pub from_ms: Option<i64>,
    /// Only streams whose latest report arrived before this time: the beginning of a day (UTC), or with `from_ms` of a
    /// minute. `None`: to the last.
    pub before_ms: Option<i64>,
    /// Names of collectors whose folders are lost. Their rows in ClickHouse are deleted too.
    pub lost_collectors: Vec<String>,
}

/// Result of a deletion, or of the search before one.
#[derive(Debug, Serialize)]
pub struct Deleted {
    site: String,
    /// Only streams from this time on. Absent if it is from the first on.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Only streams before this time. Absent if it is to the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// What was found of the site.
    found: Found,
    /// What a second search found after the deletion. Absent if nothing was to be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<Found>,
    /// Size of the data folder.
    bytes: Bytes,
}

/// What a search found.
#[derive(Debug, Serialize)]
struct Found {
    #[serde(flatten)]
    folder: FoundData,
    /// Alerts that fire, and messages about alerts that are not delivered yet.
    notifications: u64,
    /// Rows in ClickHouse by collector and table. Absent without ClickHouse.
    #[serde(skip_serializing_if = "Option::is_none")]
    clickhouse: Option<BTreeMap<String, RowCounts>>,
}

#[derive(Debug, Serialize)]
struct Bytes {
    before: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<u64>,
}

/// Why a deletion failed.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// The folder contains no store.
    #[error("{0} contains no store: name the data folder of a collector")]
    NoStore(PathBuf),
    /// A collector uses the folder.
    #[error("a collector uses the folder {0}: stop it, delete, and start it again")]
    InUse(PathBuf),
    /// There is neither data nor a configured site of this name.
    #[error("there is no data of a site `{site}`: {hint}")]
    UnknownSite {
        /// The name.
        site: String,
        /// The name that was probably meant, or all names.
        hint: String,
    },
    /// A collector ran between the steps, and its journal has reports that are not counted.
    #[error(
        "the journal in {0} has reports that are not counted: run the command again while no collector starts"
    )]
    Uncounted(PathBuf),
    /// The range is empty, or has no end.
    #[error("the range has no minute: let `--to` be later than `--from`")]
    EmptyRange,
    /// A range of minutes in a cluster.
    #[error("a range of minutes cannot be deleted from ClickHouse: use `--before`, or delete the whole site")]
    RangeInCluster,
    /// The journal could not be counted before the deletion.
    #[error("cannot count the journal before the deletion; nothing is deleted")]
    Count(#[source] StoreError),
    /// The stored notifications cannot be read or written.
    #[error("cannot delete from {path}")]
    Notifications {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The size of the folder cannot be read.
    #[error("cannot read {path}")]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The data cannot be read or deleted.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Deleted {
    /// Whether a search after the deletion found nothing of the site.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.left.as_ref().is_none_or(|left| {
            left.folder.is_empty() && left.notifications == 0 && left.collectors().next().is_none()
        })
    }

    /// Names of the collectors that still have rows of the site in ClickHouse.
    pub fn collectors_left(&self) -> impl Iterator<Item = &str> {
        self.left.iter().flat_map(Found::collectors)
    }
}

impl Found {
    fn collectors(&self) -> impl Iterator<Item = &str> {
        self.clickhouse.iter().flatten().map(|(collector, _)| collector.as_str())
    }
}

/// Searches for the data that [`delete`] would delete. A collector may be using the folder.
///
/// # Errors
/// If there is no such data, or it cannot be read.
pub fn preview(config: &Config, request: &DeleteRequest) -> Result<Deleted, DeleteError> {
    let data = &config.data;
    request.check(config)?;
    has_store(data)?;
    let deletion = request.deletion();
    let bytes = folder_bytes(data)?;
    let (folder, sites) = deletion::find(data, &deletion)?;
    let found = Found::of(folder, data, &deletion, tables(config).as_ref())?;
    let is_there = found.collectors().next().is_some();
    known(config, request, &sites, is_there)?;
    Ok(Deleted {
        site: deletion.site,
        from: deletion.from_ms.map(time::rfc3339),
        before: deletion.before_ms.map(time::rfc3339),
        found,
        left: None,
        bytes: Bytes { before: bytes, after: None },
    })
}

/// Deletes the data of a site, and continues a deletion that was interrupted. No collector may use the folder.
///
/// # Errors
/// If a collector uses the folder, there is no such data, or it cannot be read or deleted.
pub fn delete(config: &Config, request: &DeleteRequest) -> Result<Deleted, DeleteError> {
    let data = config.data.clone();
    request.check(config)?;
    has_store(&data)?;
    let bytes_before = folder_bytes(&data)?;
    let deletion = request.deletion();
    let interrupted = deletion::interrupted(&data)?.iter().any(|noted| noted.site == deletion.site);
    let tables = tables(config);
    count_journal(config.clone())?;
    let mut store = LockedStore::open(&data).map_err(in_use)?;
    if store.has_uncounted()? {
        return Err(DeleteError::Uncounted(data));
    }
    store.check(&deletion)?;
    let found = Found::of(store.find(&deletion)?, &data, &deletion, tables.as_ref())?;
    let is_there = interrupted || found.collectors().next().is_some();
    known(config, request, &store.sites()?, is_there)?;
    // ClickHouse comes first: if it does not answer, nothing is deleted here.
    if let Some(tables) = &tables {
        let mut collectors = request.lost_collectors.clone();
        collectors.push(store.collector()?);
        tables.delete(&deletion, &collectors)?;
    }
    if deletion.is_whole_site() {
        let deleted = file_outbox::delete_site(&data, &deletion.site);
        deleted.map_err(|error: OutboxError| notifications_failed(&data)(error.into()))?;
    }
    store.delete(&deletion)?;
    let left = Found::of(store.find(&deletion)?, &data, &deletion, tables.as_ref())?;
    drop(store);
    Ok(Deleted {
        site: deletion.site,
        from: deletion.from_ms.map(time::rfc3339),
        before: deletion.before_ms.map(time::rfc3339),
        found,
        left: Some(left),
        bytes: Bytes { before: bytes_before, after: Some(folder_bytes(&data)?) },
    })
}

/// Beginning of a day (UTC) such as `2026-11-25`, in milliseconds since 1970.
///
/// # Errors
/// If the text is no date.
pub fn day_start_ms(text: &str) -> Result<i64, DateError> {
    let date: Date = text.parse().map_err(|_| DateError)?;
    // A time of the day would be ignored.
    if text.len() != "2026-11-25".len() {
        return Err(DateError);
    }
    let begin = date.to_zoned(TimeZone::UTC).map_err(|_| DateError)?;
    Ok(begin.timestamp().as_millisecond())
}

/// A time such as `2026-11-25T14:05Z`, the beginning of a minute, in milliseconds since 1970.
///
/// # Errors
/// If the text is no such time.
pub fn minute_start_ms(text: &str) -> Result<i64, MinuteError> {
    let time: Timestamp = text.parse().map_err(|_| MinuteError)?;
    let ms = time.as_millisecond();
    if time.subsec_nanosecond() == 0 && ms % MINUTE_MS == 0 { Ok(ms) } else { Err(MinuteError) }
}

/// A text that is not the beginning of a minute.
#[derive(Debug, thiserror::Error)]
#[error("write the beginning of a minute, such as 2026-11-25T14:05Z")]
pub struct MinuteError;

/// A text that is no date.
#[derive(Debug, thiserror::Error)]
#[error("write a date such as 2026-11-25: the day (UTC) whose streams are the first that stay")]
pub struct DateError;

impl DeleteRequest {
    fn check(&self, config: &Config) -> Result<(), DeleteError> {
        match (self.from_ms, self.before_ms) {
            (Some(_), _) if config.store.clickhouse.is_some() => Err(DeleteError::RangeInCluster),
            (Some(from_ms), Some(before_ms)) if from_ms < before_ms => Ok(()),
            (Some(_), _) => Err(DeleteError::EmptyRange),
            (None, _) => Ok(()),
        }
    }

    fn deletion(&self) -> SiteDeletion {
        SiteDeletion { site: self.site.clone(), from_ms: self.from_ms, before_ms: self.before_ms }
    }
}

impl Found {
    fn of(
        folder: FoundData,
        data: &Path,
        deletion: &SiteDeletion,
        tables: Option<&DeletionTables>,
    ) -> Result<Self, DeleteError> {
        let notifications = match deletion.is_whole_site() {
            true => file_outbox::count_of_site(data, &deletion.site)
                .map_err(|error| notifications_failed(data)(error.into()))?,
            // They are about the present.
            false => 0,
        };
        let clickhouse = tables.map(|tables| tables.find(deletion)).transpose()?;
        Ok(Self { folder, notifications, clickhouse })
    }
}

fn has_store(data: &Path) -> Result<(), DeleteError> {
    if data.join(STORE_FILE).exists() { Ok(()) } else { Err(DeleteError::NoStore(data.into())) }
}

fn tables(config: &Config) -> Option<DeletionTables> {
    config.store.clickhouse.clone().map(DeletionTables::new)
}

/// Counts the reports that are only in the journal, as a start of the collector does. Otherwise a later start would count
/// them again.
fn count_journal(mut config: Config) -> Result<(), DeleteError> {
    config.notify.clear();
    let collector = Collector::open(config).map_err(|error| match error {
        StoreError::InUse(folder) => DeleteError::InUse(folder),
        error => DeleteError::Count(error),
    })?;
    collector.close(CLOSE_WITHIN).map_err(DeleteError::Count)
}

fn in_use(error: StoreError) -> DeleteError {
    match error {
        StoreError::InUse(folder) => DeleteError::InUse(folder),
        error => error.into(),
    }
}

/// Fails for a name that is probably mistyped.
fn known(
    config: &Config,
    request: &DeleteRequest,
    sites: &BTreeSet<String>,
    is_there: bool,
) -> Result<(), DeleteError> {
    let site = &request.site;
    if is_there || sites.contains(site) || config.sites.iter().any(|known| known.name == *site) {
        return Ok(());
    }
    let steps = |known: &&String| strsim::damerau_levenshtein(known, site);
    let hint = match sites.iter().min_by_key(steps) {
        Some(similar) if steps(&similar) <= 2 => format!("did you mean `{similar}`?"),
        Some(_) => {
            let names: Vec<_> = sites.iter().map(|name| format!("`{name}`")).collect();
            format!("there is data of {}", names.join(", "))
        }
        None => "there is no data at all".to_owned(),
    };
    Err(DeleteError::UnknownSite { site: site.clone(), hint })
}

fn notifications_failed(
    data: &Path,
) -> impl FnOnce(Box<dyn std::error::Error + Send + Sync>) -> DeleteError + use<> {
    let path = data.join(file_outbox::FILE);
    move |source| DeleteError::Notifications { path, source }
}

/// Sum of the sizes of all files in a folder. Files that vanish meanwhile have none.
fn folder_bytes(folder: &Path) -> Result<u64, DeleteError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| DeleteError::Folder { path, source }
    };
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        bytes += match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => folder_bytes(&path)?,
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(failed(&path)(error)),
        };
    }
    Ok(bytes)
}

/// As long as an import waits.
const CLOSE_WITHIN: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dates_are_accepted() {
        assert_eq!(day_start_ms("1970-01-03").unwrap(), 2 * 86_400_000);
        for text in ["", "now", "2026-02-30", "2026-11-25T12:00:00Z", "20261125", "2026-11-25T12"] {
            assert!(day_start_ms(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_beginnings_of_minutes_are_accepted() {
        let minute = Some(1_795_637_520_000);
        for (text, expected) in [
            ("2026-11-25T20:12Z", minute),
            ("2026-11-25T20:12:00Z", minute),
            ("2026-11-25T21:12+01:00", minute),
            ("2026-11-25T20:12:01Z", None),
            ("2026-11-25T20:12:00.000000001Z", None),
            ("2026-11-25T20:12", None),
            ("2026-11-25", None),
            ("", None),
        ] {
            assert_eq!(minute_start_ms(text).ok(), expected, "{text}");
        }
    }
}
