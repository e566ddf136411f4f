//! How fast the collector answers over 30 days of 2,000 series, each with streams in every hour: a day is
//! counted and summed by the collector itself, and copied to the days before it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use beacon::{Batch, Histogram, StreamReport};
use rusqlite::Connection;
use serde_json::{Value, json};
use tests::{Collector, report};
use tokio::process::Command;

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    make_history(folder.path()).await?;
    let mut rows = Vec::new();
    for question in &QUESTIONS {
        rows.push(Row {
            question,
            warm: warm(folder.path(), question).await?,
            cold: cold(folder.path(), question).await?,
        });
    }
    let megabytes = std::fs::metadata(folder.path().join(FILE))?.len() as f64 / 1e6;
    match std::env::args().nth(1).as_deref() {
        Some("--json") => println!("{}", as_json(&rows, megabytes)),
        _ => print(&rows, megabytes),
    }
    Ok(())
}

/// What is asked, and how long it may take at the 95th percentile.
struct Question {
    name: &'static str,
    path: &'static str,
    limit_ms: f64,
}

const QUESTIONS: [Question; 9] = [
    Question { name: "summary", path: "/v1/summary?range=30d&site=demo", limit_ms: 100.0 },
    Question { name: "time series", path: "/v1/timeseries?range=30d&site=demo", limit_ms: 100.0 },
    Question { name: "time series by the hour", path: "/v1/timeseries?range=30d&step=3600", limit_ms: 500.0 },
    Question { name: "heatmap", path: "/v1/heatmap?range=30d&site=demo", limit_ms: 300.0 },
    Question { name: "time series of a model", path: "/v1/timeseries?range=30d&model=m7", limit_ms: 500.0 },
    Question {
        name: "heatmap of one series",
        path: "/v1/heatmap?range=30d&use_case=u1&provider=p2&model=m7",
        limit_ms: 500.0,
    },
    Question { name: "by model", path: "/v1/breakdown?range=30d&by=model", limit_ms: 500.0 },
    Question {
        name: "by model, of a provider and a use case",
        path: "/v1/breakdown?range=30d&by=model&provider=p2&use_case=u1",
        limit_ms: 500.0,
    },
    Question {
        name: "by provider, 7 days, against the week before",
        path: "/v1/breakdown?range=7d&by=provider&against=week",
        limit_ms: 500.0,
    },
];

struct Row {
    question: &'static Question,
    warm: Times,
    cold: Times,
}

/// In milliseconds.
struct Times {
    p50: f64,
    p95: f64,
}

async fn make_history(folder: &Path) -> Result<()> {
    let collector = start(folder).await?;
    for chunk in (0..SERIES * STREAMS).collect::<Vec<_>>().chunks(100) {
        let reports = chunk.iter().map(|&number| of_series(number)).collect();
        let (status, body) = collector.post(serde_json::to_string(&Batch { reports })?).await?;
        ensure!(status == 204, "{status} {body}");
    }
    ensure!(collector.terminate().await? == Some(0), "the collector did not stop well");

    let store = Connection::open(folder.join(FILE))?;
    let hours_ago = "INSERT OR REPLACE INTO windows SELECT minute - 60 * ?1, series, tally FROM copied";
    store.execute_batch("CREATE TEMP TABLE copied AS SELECT * FROM windows; BEGIN")?;
    for hours in 1..48 {
        store.execute(hours_ago, [hours])?;
    }
    // The last hour is as busy as may be: every series in every minute.
    let minutes_ago = "INSERT OR IGNORE INTO windows SELECT minute - ?1, series, tally FROM copied";
    for minutes in 1..60 {
        store.execute(minutes_ago, [minutes])?;
    }
    store.execute_batch(
        "DELETE FROM spans; INSERT INTO spans (length, start, changes, summed)
           SELECT DISTINCT length, minute / length * length, 1, 0 FROM windows,
             (SELECT 5 AS length UNION SELECT 60 UNION SELECT 1440); COMMIT",
    )?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() as i64 / 60;
    let collector = start(folder).await?;
    let unsummed = "SELECT count(*) FROM spans WHERE summed <> changes AND start + length < ?1 - 2";
    while store.query_row(unsummed, [now], |row| row.get::<_, i64>(0))? > 0 || !summed_a_day(&store, now)? {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    ensure!(collector.terminate().await? == Some(0), "the collector did not stop well");
    copy_days(&store, now)?;
    check(folder).await
}

/// Every hour of the range has all of its streams, and the last some more in every minute.
async fn check(folder: &Path) -> Result<()> {
    let collector = start(folder).await?;
    let streams = collector.get("/v1/summary?range=30d").await?["streams"].as_u64().context("a count")?;
    let hours = streams as f64 / (SERIES * STREAMS) as f64;
    ensure!((719.0..=782.0).contains(&hours), "{hours} hours of streams in 30 days");
    collector.terminate().await?;
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
            "INSERT OR REPLACE INTO sums SELECT labels, length, start - 1440 * ?1, tally FROM sums_of_day",
            [days],
        )?;
        store.execute(
            "INSERT OR REPLACE INTO spans SELECT length, start - 1440 * ?1, changes, summed, frozen
             FROM spans_of_day",
            [days],
        )?;
    }
    store.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(())
}

const fn yesterday(now: i64) -> i64 {
    (now / 1440 - 1) * 1440
}

fn of_series(number: u64) -> StreamReport {
    let series = number % SERIES;
    let spread = (number / SERIES) as f64 / STREAMS as f64;
    let mut report = report(number);
    report.use_case = Some(format!("u{}", series % 4).into());
    report.provider = Some(format!("p{}", series / 4 % 5).into());
    report.model = Some(format!("m{}", series / 20).into());
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

async fn warm(folder: &Path, question: &Question) -> Result<Times> {
    let collector = start(folder).await?;
    ask(&collector, question).await?;
    let mut times = Vec::new();
    for _ in 0..WARM {
        times.push(ask(&collector, question).await?);
    }
    collector.terminate().await?;
    Ok(Times::of(times))
}

/// Each time in a new process, with the file out of the system's cache.
async fn cold(folder: &Path, question: &Question) -> Result<Times> {
    let mut times = Vec::new();
    for _ in 0..COLD {
        let collector = start(folder).await?;
        let mut forget = Command::new("dd");
        forget.arg(format!("if={}", folder.join(FILE).display())).args([
            "iflag=nocache",
            "count=0",
            "status=none",
        ]);
        ensure!(forget.status().await.context("cannot start dd")?.success(), "dd failed");
        times.push(ask(&collector, question).await?);
        collector.terminate().await?;
    }
    Ok(Times::of(times))
}

async fn ask(collector: &Collector, question: &Question) -> Result<f64> {
    let begun = Instant::now();
    let text = collector.text(question.path).await?;
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    let answer: Value = serde_json::from_str(&text)?;
    ensure!(answer.get("error").is_none(), "{}: {answer}", question.path);
    Ok(ms)
}

async fn start(folder: &Path) -> Result<Collector> {
    let config = folder.join("bench.toml");
    std::fs::write(
        &config,
        "[journal]\nsync = \"normal\"\n[ingest]\nnetwork_rate = { per_second = 100000 }\n",
    )?;
    Collector::start_with(folder, &["--config", config.to_str().context("a plain name")?]).await
}

impl Times {
    fn of(mut ms: Vec<f64>) -> Self {
        ms.sort_by(f64::total_cmp);
        let at = |q: f64| ms[((q * ms.len() as f64).ceil() as usize).clamp(1, ms.len()) - 1];
        Self { p50: at(0.5), p95: at(0.95) }
    }
}

fn print(rows: &[Row], megabytes: f64) {
    println!("{SERIES} series in every hour of {DAYS} days: {megabytes:.0} MB");
    println!("{:45} {:>9} {:>9} {:>9} {:>9} {:>9}", "ms", "p50", "p95", "cold p50", "cold p95", "limit");
    for Row { question, warm, cold } in rows {
        println!(
            "{:45} {:9.1} {:9.1} {:9.1} {:9.1} {:9.0}",
            question.name, warm.p50, warm.p95, cold.p50, cold.p95, question.limit_ms
        );
    }
}

fn as_json(rows: &[Row], megabytes: f64) -> Value {
    let of = |times: &Times| json!({ "p50_ms": times.p50, "p95_ms": times.p95 });
    let questions: BTreeMap<_, _> = rows
        .iter()
        .map(|row| {
            let figures = json!({
                "warm": of(&row.warm), "cold": of(&row.cold), "limit_ms": row.question.limit_ms,
            });
            (row.question.name, figures)
        })
        .collect();
    // The slowest beside what it may take: below 1 every limit is held.
    let ratio = rows.iter().map(|row| row.warm.p95 / row.question.limit_ms).fold(0.0, f64::max);
    json!({
        "name": "query", "ratio": ratio, "series": SERIES, "days": DAYS, "store_mb": megabytes,
        "questions": questions,
    })
}

const FILE: &str = "llm-rum.sqlite";
const SERIES: u64 = 2_000;
/// Of each series in each hour.
const STREAMS: u64 = 10;
const DAYS: i64 = 31;
const WARM: usize = 40;
const COLD: usize = 5;
