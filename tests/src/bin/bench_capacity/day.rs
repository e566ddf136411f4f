//! A day on disk: sites of three sizes send a day's streams within seconds, and each row is moved to the
//! minute of the day that its streams belong to. Until then that minute stands in their models' names.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use rusqlite::Connection;
use tests::{Collector, Wire};
use tokio::task::JoinSet;

use crate::disk::{self, Table};
use crate::post::{Prepared, request};

/// Windows of one length of one site over the day.
pub(crate) struct Windows {
    pub(crate) site: &'static str,
    /// In minutes.
    pub(crate) length: i64,
    pub(crate) rows: u64,
    /// Their pages.
    pub(crate) bytes: f64,
}

/// A day of all sites.
pub(crate) struct Day {
    pub(crate) series: u64,
    pub(crate) windows: Vec<Windows>,
    pub(crate) tables: Vec<Table>,
}

/// A site, and how many streams it has in a day.
pub(crate) const SITES: [(&str, u64); 3] = [("small", 10_000), ("medium", 100_000), ("large", 1_000_000)];

impl Day {
    /// Makes it in a data folder, and sums it.
    pub(crate) async fn of(folder: &Path, pool: &Arc<Vec<Prepared>>) -> Result<Self> {
        let data = folder.join("day");
        let config = folder.join("day.toml");
        std::fs::write(&config, configuration())?;
        let config = config.to_str().context("a plain name")?;
        let collector = Collector::start_with(&data, &["--config", config]).await?;
        send(&collector.url, pool).await?;
        ensure!(collector.terminate().await? == Some(0), "the collector did not stop well");

        let store = Connection::open(data.join(disk::FILE))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() as i64 / 60;
        let yesterday = (now / 1_440 - 1) * 1_440;
        store.execute_batch(&MOVE.replace(":day", &yesterday.to_string()))?;
        let collector = Collector::start_with(&data, &["--config", config]).await?;
        let unsummed = "SELECT count(*) FROM spans WHERE summed <> changes";
        while store.query_row(unsummed, [], |row| row.get::<_, i64>(0))? > 0 {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let asked = format!("/v1/summary?from={}&to={}", yesterday * 60_000, (yesterday + 1_440) * 60_000);
        let streams = collector.get(&asked).await?["streams"].as_u64().context("a count")?;
        let all: u64 = SITES.iter().map(|(_, streams)| streams).sum();
        // A minute that ended while its streams were sent is there twice, and one of the two is left out.
        ensure!(streams <= all && streams * 1_000 >= all * 998, "{streams} of {all} streams");
        ensure!(collector.terminate().await? == Some(0), "the collector did not stop well");
        store.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
        Self::in_store(&store)
    }

    fn in_store(store: &Connection) -> Result<Self> {
        let tables = disk::tables(store)?;
        let pages = |name: &str| {
            let table = tables.iter().find(|table| table.name == name).context("a table")?;
            Ok::<_, anyhow::Error>(table.bytes as f64 / table.payload as f64)
        };
        let (of_minutes, of_sums) = (pages("windows")?, pages("sums")?);
        let mut statement = store.prepare(
            "SELECT site, 1, count(*), sum(length(stats)) FROM windows JOIN series ON id = series GROUP BY 1
             UNION ALL
             SELECT site, length, count(*), sum(length(stats)) FROM sums JOIN labels ON id = labels GROUP BY 1, 2
             ORDER BY 2, 3",
        )?;
        let windows = statement.query_map([], |row| {
            let (site, length): (String, i64) = (row.get(0)?, row.get(1)?);
            let rows = row.get::<_, i64>(2)?.cast_unsigned();
            let payload = row.get::<_, i64>(3)? as f64 + (rows * KEY_BYTES) as f64;
            let site = SITES.iter().find(|(name, _)| *name == site).map_or("other", |(name, _)| name);
            Ok(Windows {
                site,
                length,
                rows,
                bytes: payload * if length == 1 { of_minutes } else { of_sums },
            })
        })?;
        let windows = windows.collect::<Result<_, _>>()?;
        let series: i64 = store.query_row("SELECT count(*) FROM series", [], |row| row.get(0))?;
        Ok(Self { series: series.cast_unsigned(), windows, tables })
    }
}

fn configuration() -> String {
    let sites = SITES.map(|(site, _)| {
        format!("[[sites]]\nname = \"{site}\"\nkeys = [\"{site}\"]\norigins = [\"loopback\"]\n")
    });
    format!(
        "[journal]\nsync = \"normal\"\n[ingest]\ntrust_loopback = true\n\
         [limits]\nmodels = 100000\nseries = 100000\nwindow_series = 100000\n[store]\nsamples = 0\n{}",
        sites.concat()
    )
}

/// Streams of one site in one minute that share a beacon.
struct Beacon {
    site: &'static str,
    minute: u64,
    first: u64,
    streams: u64,
}

/// In the order of the day.
fn beacons() -> Vec<Beacon> {
    let mut sent = [0; SITES.len()];
    let mut all = Vec::new();
    for minute in 0..1_440 {
        for ((site, streams), sent) in SITES.iter().zip(&mut sent) {
            let due = (*streams as f64 * share_until(minute + 1)).round() as u64;
            while *sent < due {
                let streams = (due - *sent).min(REPORTS_A_BEACON);
                all.push(Beacon { site, minute, first: *sent, streams });
                *sent += streams;
            }
        }
    }
    all
}

/// Of a day's streams those before a minute: few at night, most in the afternoon.
fn share_until(minute: u64) -> f64 {
    let turn = minute as f64 / 1_440.0;
    let swing = |turn: f64| (std::f64::consts::TAU * (turn - 0.6)).sin() / std::f64::consts::TAU;
    turn + 0.8 * (swing(turn) - swing(0.0))
}

async fn send(url: &str, pool: &Arc<Vec<Prepared>>) -> Result<()> {
    let address = url.strip_prefix("http://").context("an address")?;
    let (beacons, next) = (Arc::new(beacons()), Arc::new(AtomicUsize::new(0)));
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (address, pool, beacons, next) =
            (address.to_owned(), pool.clone(), beacons.clone(), next.clone());
        connections.spawn(async move {
            let mut wire = Wire::connect(&address).await?;
            while let Some(beacon) = beacons.get(next.fetch_add(1, Ordering::Relaxed)) {
                wire.post(&beacon.request(&address, &pool)).await?;
            }
            Ok::<_, anyhow::Error>(())
        });
    }
    while let Some(sent) = connections.join_next().await {
        sent??;
    }
    Ok(())
}

impl Beacon {
    fn request(&self, address: &str, pool: &[Prepared]) -> Vec<u8> {
        let mut reports = String::new();
        let site = SITES.iter().position(|(name, _)| *name == self.site).unwrap_or_default() as u64;
        for number in self.first..self.first + self.streams {
            if !reports.is_empty() {
                reports.push(',');
            }
            let ended = &pool[number as usize % pool.len()].ended;
            ended.write(number + (site << 40), &format!("{:04} ", self.minute), &mut reports);
        }
        request(address, self.site, &reports)
    }
}

/// Each row to the minute that its model's name begins with, of the day `:day`.
const MOVE: &str = "
    BEGIN;
    CREATE TEMP TABLE moved AS
        SELECT site, use_case, provider, substr(model, 6) AS model, country, response_model,
            CAST(substr(model, 1, 4) AS INTEGER) AS at, stats
        FROM windows JOIN series ON id = series;
    DELETE FROM windows; DELETE FROM totals; DELETE FROM series; DELETE FROM remembered;
    DELETE FROM sums; DELETE FROM labels; DELETE FROM spans;
    INSERT INTO series (id, site, use_case, provider, model, country, response_model)
        SELECT row_number() OVER () - 1, *
        FROM (SELECT DISTINCT site, use_case, provider, model, country, response_model FROM moved);
    INSERT OR IGNORE INTO windows
        SELECT :day + at, id, stats FROM moved JOIN series USING (site, use_case, provider, model, country, response_model)
        ORDER BY 1, 2;
    INSERT INTO spans (length, start, changes, summed)
        SELECT DISTINCT length, minute / length * length, 1, 0
        FROM windows, (SELECT 5 AS length UNION SELECT 60 UNION SELECT 1440);
    COMMIT;
    DROP TABLE moved;
    VACUUM;
";

const CONNECTIONS: usize = 8;
const REPORTS_A_BEACON: u64 = 50;
/// Approximate bytes of a row beside its stats.
const KEY_BYTES: u64 = 8;
