//! The connections that read: filters and time ranges come in, tallies go out.
//! They see what the last transaction left, about a second behind, and never wait for the writer.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use beacon::Outcome;
use rusqlite::{Connection, OpenFlags, named_params, params};
use tokio::sync::Semaphore;

use super::backend::{Books, Source};
use super::clickhouse::Tables;
use super::range_cover::pieces;
use super::rollups::Kept;
use super::stream_index::Listing;
use super::writer::{FILE, load_counts};
use crate::aggregate::cumulative_stats::Total;
use crate::aggregate::dedup::Place;
use crate::aggregate::internal_metrics::Counts;
use crate::aggregate::metric::Metric;
use crate::aggregate::series::{Series, SeriesId, UNKNOWN};
use crate::aggregate::window_stats::Tally;
use crate::store::error::StoreError;

/// A small pool of reading connections.
pub(crate) struct Reader {
    file: PathBuf,
    listing: Listing,
    /// `None` where this collector is alone.
    cluster: Option<Arc<Tables>>,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
    /// What a cluster is asked waits for it: that must not hold up what this collector knows by itself.
    cluster_permits: Arc<Semaphore>,
}

/// Which series a query is about. `None` is all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Filter {
    pub(crate) site: Option<String>,
    pub(crate) use_case: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) country: Option<String>,
}

impl Filter {
    /// All labels in the order of their columns.
    pub(super) fn labels(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        let Self { site, use_case, provider, model, country } = self;
        let all = [
            ("site", site),
            ("use_case", use_case),
            ("provider", provider),
            ("model", model),
            ("country", country),
        ];
        all.into_iter().map(|(name, value)| (name, value.as_deref()))
    }
}

/// A label that every stream has a value of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dimension {
    Site,
    UseCase,
    Provider,
    Model,
    Country,
}

impl Dimension {
    pub(crate) const ALL: [Self; 5] = [Self::Site, Self::UseCase, Self::Provider, Self::Model, Self::Country];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Site => "site",
            Self::UseCase => "use_case",
            Self::Provider => "provider",
            Self::Model => "model",
            Self::Country => "country",
        }
    }
}

/// Which stored reports are asked for.
pub(crate) struct StreamsAsked {
    pub(crate) filter: Filter,
    pub(crate) outcome: Option<Outcome>,
    /// Without those that are open.
    pub(crate) only_ended: bool,
    /// Latest revision arrived from the first up to, not including, the second.
    pub(crate) received_ms: (i64, i64),
    /// Cursor of the page before.
    pub(crate) before: Place,
    pub(crate) limit: usize,
}

/// One stored report.
pub(crate) struct StoredStream {
    pub(crate) json: String,
    pub(crate) received_ms: i64,
    /// As it is counted: `unknown` and `other` are some too.
    pub(crate) country: String,
}

/// Some stored reports, newest first, and where the next ones begin.
pub(crate) struct Page {
    pub(crate) streams: Vec<StoredStream>,
    pub(crate) next: Option<Place>,
}

/// What arrived within the newest while.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recent {
    /// How far back it reaches: as far as was asked for, or less where memory does not go back so far.
    pub(crate) ms: i64,
    /// Streams whose last report came in it and that are not open, by outcome.
    pub(crate) ended: BTreeMap<&'static str, u64>,
    /// Reports that counted, per second of the newest [`RATE_MS`]. `None` over several collectors: those that
    /// another took the place of before it was published are known to one of them alone.
    pub(crate) reports_per_second: Option<f64>,
}

/// What the rate of reports is over.
pub(crate) const RATE_MS: i64 = 10_000;

/// Everything that Prometheus is told.
pub(crate) struct Snapshot {
    pub(crate) series: Vec<SeriesSnapshot>,
    pub(crate) counts: Counts,
}

/// What Prometheus is told of one series.
pub(crate) struct SeriesSnapshot {
    pub(crate) series: Series,
    pub(crate) total: Total,
    /// Mean time per output token of the newest windows. `None` when none of their streams had one.
    pub(crate) mean_tpot_ms: Option<f64>,
}

impl Reader {
    pub(crate) fn new(folder: &Path, listing: Listing, cluster: Option<Tables>) -> Self {
        Self {
            file: folder.join(FILE),
            listing,
            cluster: cluster.map(Arc::new),
            idle: Arc::default(),
            permits: Arc::new(Semaphore::new(MOST_QUESTIONS)),
            cluster_permits: Arc::new(Semaphore::new(MOST_QUESTIONS)),
        }
    }

    /// Runs a query on a thread where it may block.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Source<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self.cluster.clone() {
            None => {
                self.run_own(move |connection, listing| query(&Source::File { connection, listing })).await
            }
            Some(tables) => {
                on_a_thread(&self.cluster_permits, move || query(&Source::Cluster(&tables))).await
            }
        }
    }

    /// The same for what is asked of this collector alone.
    pub(crate) async fn run_own<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection, &Listing) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (file, idle, listing) = (self.file.clone(), self.idle.clone(), self.listing.clone());
        on_a_thread(&self.permits, move || {
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = kept.map_or_else(|| open(&file), Ok)?;
            let answer = query(&connection, &listing);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            answer
        })
        .await
    }
}

/// Runs a question on a thread where it may block, once it is its turn.
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

/// A connection that reads.
pub(crate) fn open(file: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(Duration::from_secs(1))?;
    connection.pragma_update(None, "cache_size", -8_192)?;
    Ok(connection)
}

/// Which windows are asked for.
pub(crate) struct WindowsAsked<'a> {
    pub(crate) filter: &'a Filter,
    /// From the first up to, not including, the second.
    pub(crate) minutes: (i64, i64),
    /// Longest window that may be handed out, in minutes.
    pub(crate) longest: i64,
    /// Distributions that are asked for: tallies come without all others.
    pub(crate) metrics: &'a [Metric],
}

/// Hands out windows that cover what is asked for, each with its first minute.
pub(crate) fn windows(
    connection: &Connection,
    asked: &WindowsAsked<'_>,
    mut each: impl FnMut(i64, &Tally),
) -> Result<(), StoreError> {
    each_window(connection, asked, None, |start, _, tally| each(start, tally))
}

/// Hands out windows that cover what is asked for, each with its value of a dimension.
pub(crate) fn windows_by(
    connection: &Connection,
    asked: &WindowsAsked<'_>,
    dimension: Dimension,
    mut each: impl FnMut(&str, &Tally),
) -> Result<(), StoreError> {
    each_window(connection, asked, Some(dimension.as_str()), |_, value, tally| each(value, tally))
}

fn each_window(
    connection: &Connection,
    WindowsAsked { filter, minutes, longest, metrics }: &WindowsAsked<'_>,
    column: Option<&str>,
    mut each: impl FnMut(i64, &str, &Tally),
) -> Result<(), StoreError> {
    // Hours come to stand and minutes go meanwhile: all of it is read as it is now.
    let snapshot = connection.unchecked_transaction()?;
    let value = column.unwrap_or("''");
    let minutes_of = format!(
        "SELECT minute, {value}, tally FROM windows CROSS JOIN series ON series.id = windows.series
         WHERE :kept IS NOT NULL AND :length = 1 AND minute >= :from AND minute < :to AND {IN_FILTER}"
    );
    let sums_of = format!(
        "SELECT start, {value}, tally FROM labels CROSS JOIN sums ON sums.labels = labels.id
         WHERE kept = :kept AND length = :length AND start >= :from AND start < :to AND {IN_FILTER}"
    );
    let kept = Kept::of(filter, column);
    for piece in pieces(&snapshot, *minutes, *longest)? {
        let kept = if piece.countries { kept } else { kept.without_countries() };
        let query = if piece.length == 1 { &minutes_of } else { &sums_of };
        let mut statement = snapshot.prepare_cached(query)?;
        let mut rows = statement.query(named_params! {
            ":kept": kept.bits(), ":length": piece.length,
            ":from": piece.from, ":to": piece.to,
            ":site": filter.site, ":use_case": filter.use_case,
            ":provider": filter.provider, ":model": filter.model, ":country": filter.country,
        })?;
        while let Some(row) = rows.next()? {
            let tally =
                Tally::decode_only(row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?, metrics)?;
            each(row.get(0)?, row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?, &tally);
        }
    }
    Ok(())
}

/// All counts since ever.
pub(crate) fn counts(connection: &Connection) -> Result<Counts, StoreError> {
    load_counts(connection)
}

/// Counts and totals as one transaction left them.
pub(super) fn books(connection: &Connection) -> Result<Books, StoreError> {
    let transaction = connection.unchecked_transaction()?;
    let Snapshot { series, counts } = snapshot(&transaction, i64::MAX)?;
    Ok(Books { counts, counted: series.iter().map(|series| series.total.requests()).sum() })
}

/// Everything that Prometheus is told; `from` is the first minute whose time per token still counts.
pub(crate) fn snapshot(connection: &Connection, from: i64) -> Result<Snapshot, StoreError> {
    let means = mean_tpots(connection, from)?;
    let mut statement = connection.prepare_cached(
        "SELECT site, use_case, provider, model, country, id, total
         FROM totals JOIN series ON series.id = totals.series ORDER BY site, use_case, provider, model",
    )?;
    let mut rows = statement.query([])?;
    let mut series = Vec::new();
    while let Some(row) = rows.next()? {
        series.push(SeriesSnapshot {
            series: self::series(row, 0)?,
            mean_tpot_ms: means.get(&row.get(5)?).copied(),
            total: Total::decode(row.get_ref(6)?.as_blob().map_err(rusqlite::Error::from)?)?,
        });
    }
    Ok(Snapshot { series, counts: counts(connection)? })
}

/// By the series over all countries.
fn mean_tpots(connection: &Connection, from: i64) -> Result<HashMap<SeriesId, f64>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT whole.id, tally FROM windows JOIN series AS part ON part.id = windows.series
         JOIN series AS whole USING (site, use_case, provider, model)
         WHERE minute >= ?1 AND whole.country = ?2",
    )?;
    let mut rows = statement.query(params![from, UNKNOWN])?;
    let mut sums: HashMap<SeriesId, (f64, u64)> = HashMap::new();
    while let Some(row) = rows.next()? {
        let tally = Tally::decode(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
        let tpot = tally.histogram(Metric::Tpot);
        let (sum, count) = sums.entry(row.get(0)?).or_default();
        *sum += tpot.sum();
        *count += tpot.count();
    }
    let known = sums.into_iter().filter(|(_, (_, count))| *count > 0);
    Ok(known.map(|(series, (sum, count))| (series, sum / count as f64)).collect())
}

/// The series whose labels stand in a row from a column on.
pub(super) fn series(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Series> {
    Ok(Series {
        site: row.get(first)?,
        use_case: row.get(first + 1)?,
        provider: row.get(first + 2)?,
        model: row.get(first + 3)?,
        country: row.get(first + 4)?,
    })
}

/// The condition on a row of `series` that a [`Filter`] stands for.
pub(super) const IN_FILTER: &str =
    "(:site IS NULL OR site = :site) AND (:use_case IS NULL OR use_case = :use_case)
    AND (:provider IS NULL OR provider = :provider) AND (:model IS NULL OR model = :model)
    AND (:country IS NULL OR country = :country)";

/// At a time, of each kind.
const MOST_QUESTIONS: usize = 4;
