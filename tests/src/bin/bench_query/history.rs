//! A month of history: a day is counted and summed by the collector itself, and copied to the days before it.
//! Its streams come from 40 countries.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use beacon::{Batch, Histogram, StreamReport};
use rusqlite::Connection;
use tests::{Collector, report};

/// Makes it in a data folder.
pub(crate) async fn month(folder: &Path) -> Result<()> {
    let now = a_day(folder).await?;
    let store = Connection::open(folder.join(FILE))?;
    copy_days(&store, now)?;
    let collector = start(folder).await?;
    check(&collector).await?;
    ensure!(collector.terminate().await? == Some(0), "the collector did not stop well");
    Ok(())
}

/// Makes the newest two days in a data folder, summed; gives back the minute that it is.
pub(crate) async fn a_day(folder: &Path) -> Result<i64> {
    let collector = start(folder).await?;
    let mut waiting: BTreeMap<&str, Vec<StreamReport>> = BTreeMap::new();
    for number in 0..SERIES * STREAMS {
        let country = country(number);
        let mut reports = waiting.remove(country).unwrap_or_default();
        reports.push(of_series(number));
        if reports.len() < 20 {
            waiting.insert(country, reports);
        } else {
            post(&collector, country, reports).await?;
        }
    }
    for (country, reports) in waiting {
        post(&collector, country, reports).await?;
    }
    ensure!(collector.terminate().await? == Some(0), "the collector did not stop well");

    let store = Connection::open(folder.join(FILE))?;
    let hours_ago = "INSERT OR REPLACE INTO windows SELECT minute - 60 * ?1, series, stats FROM copied";
    store.execute_batch("CREATE TEMP TABLE copied AS SELECT * FROM windows; BEGIN")?;
    for hours in 1..48 {
        store.execute(hours_ago, [hours])?;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() as i64 / 60;
    // The last hour is as busy as may be: every series in every minute. Yesterday, which will be copied to the
    // days before it, stays a usual day, also just after midnight.
    let minutes_ago = "INSERT OR IGNORE INTO windows
        SELECT minute - ?1, series, stats FROM copied WHERE minute - ?1 >= ?2";
    for minutes in 1..60 {
        store.execute(minutes_ago, [minutes, yesterday(now) + 1_440])?;
    }
    store.execute_batch(
        "DELETE FROM spans; INSERT INTO spans (length, start, changes, summed)
           SELECT DISTINCT length, minute / length * length, 1, 0 FROM windows,
             (SELECT 5 AS length UNION SELECT 60 UNION SELECT 1440); COMMIT",
    )?;
    let collector = start(folder).await?;
    let unsummed = "SELECT count(*) FROM spans WHERE summed <> changes AND start + length < ?1 - 2";
    while store.query_row(unsummed, [now], |row| row.get::<_, i64>(0))? > 0 || !summed_a_day(&store, now)? {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    ensure!(collector.terminate().await? == Some(0), "the collector did not stop well");
    Ok(now)
}

async fn post(collector: &Collector, country: &str, reports: Vec<StreamReport>) -> Result<()> {
    let body = serde_json::to_string(&Batch { reports })?;
    let (status, body) = collector.post_with(&[(COUNTRY_HEADER, country)], body).await?;
    ensure!(status == 204, "{status} {body}");
    Ok(())
}

/// Every hour of the range has all of its streams, and the last some more in every minute.
pub(crate) async fn check(collector: &Collector) -> Result<()> {
    let streams = collector.get("/v1/summary?range=30d").await?["streams"].as_u64().context("a count")?;
    let hours = streams as f64 / (SERIES * STREAMS) as f64;
    ensure!((719.0..=782.0).contains(&hours), "{hours} hours of streams in 30 days");
    Ok(())
}

/// Whether yesterday stands.
fn summed_a_day(store: &Connection, now: i64) -> Result<bool> {
    let stands = "SELECT count(*) FROM spans WHERE length = 1440 AND start = ?1 AND summed = changes";
    Ok(store.query_row(stands, [yesterday(now)], |row| row.get::<_, i64>(0))? == 1)
}

/// What is shorter than an hour is not kept for so long.
fn copy_days(store: &Connection, now: i64) -> Result<()> {
    store.execute(
        "CREATE TEMP TABLE sums_of_day AS
           SELECT * FROM sums WHERE length >= 60 AND start >= ?1 AND start < ?1 + 1440",
        [yesterday(now)],
    )?;
    store.execute(
        "CREATE TEMP TABLE spans_of_day AS
           SELECT * FROM spans WHERE length >= 60 AND start >= ?1 AND start < ?1 + 1440",
        [yesterday(now)],
    )?;
    store.execute_batch("BEGIN")?;
    for days in 1..DAYS {
        store.execute(
            "INSERT OR REPLACE INTO sums SELECT labels, length, start - 1440 * ?1, stats FROM sums_of_day",
            [days],
        )?;
        store.execute(
            "INSERT OR REPLACE INTO spans (length, start, changes, summed, frozen, window_only)
             SELECT length, start - 1440 * ?1, changes, summed, frozen, window_only FROM spans_of_day",
            [days],
        )?;
    }
    store.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(())
}

/// First minute of the day before.
pub(crate) const fn yesterday(now: i64) -> i64 {
    (now / 1440 - 1) * 1440
}

/// A random country: the n-th is 1/n as frequent as the first, as users are spread.
fn country(number: u64) -> &'static str {
    // Fibonacci hashing: 53 bits of it make a number below 1.
    let lot = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1_u64 << 53) as f64;
    let codes = COUNTRIES.split(' ');
    let shares = (1..=codes.clone().count()).map(|rank| 1.0 / rank as f64);
    let mut left = lot * shares.clone().sum::<f64>();
    let mut chosen = codes.zip(shares).skip_while(|(_, share)| {
        left -= share;
        left >= 0.0
    });
    chosen.next().map_or("US", |(code, _)| code)
}

fn of_series(number: u64) -> StreamReport {
    let series = number % SERIES;
    let spread = (number / SERIES) as f64 / STREAMS as f64;
    let mut report = report(number);
    report.use_case = Some(format!("u{}", series % 4).into());
    report.provider = Some(format!("p{}", series / 4 % 5).into());
    let model = format!("m{}", series / 20);
    // Every tenth stream still has the version before.
    report.response_model =
        Some(format!("{model}-2026-{}", if number % 10 == 9 { "05" } else { "08" }).into());
    report.model = Some(model.into());
    let ttft = 200.0 * 30f64.powf(spread);
    let mut gaps = Histogram::default();
    for gap in 1..40 {
        gaps.record(f64::from(gap) * 2.5);
    }
    report.gaps = Some(gaps);
    report.ttft_ms = Some(ttft);
    report.ttfv_ms = Some(ttft);
    report.e2e_ms = Some(ttft + 2_000.0);
    report.close_ms = Some(ttft + 2_001.0);
    report.tpot_ms = Some(20.0 + 40.0 * spread);
    report
}

/// A collector on a data folder.
pub(crate) async fn start(folder: &Path) -> Result<Collector> {
    start_with(folder, "").await
}

/// The same with more configuration.
pub(crate) async fn start_with(folder: &Path, more: &str) -> Result<Collector> {
    let config = folder.join("bench.toml");
    let common = format!(
        "[journal]\nsync = \"normal\"\n[ingest]\nproxies = [\"127.0.0.0/8\"]\ntrust_loopback = true\n
         [country]\nheader = \"{COUNTRY_HEADER}\"\n"
    );
    std::fs::write(&config, common + more)?;
    Collector::start_with(folder, &["--config", config.to_str().context("a plain name")?]).await
}

/// Name of the store in the data folder.
pub(crate) const FILE: &str = "llm-rum.sqlite";
pub(crate) const SERIES: u64 = 2_000;
/// Of each series in each hour.
const STREAMS: u64 = 10;
pub(crate) const DAYS: i64 = 31;
const COUNTRIES: &str = "US IN BR GB DE JP FR CA ID MX PH ES IT AU KR NL TR PL VN TH \
    CO AR PK SE EG SG CH MY BE ZA AE CL IL PT RO AT CZ NG DK IE";
const COUNTRY_HEADER: &str = "x-country";
