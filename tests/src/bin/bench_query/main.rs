//! How fast the collector answers over 30 days of 2,000 series, each with streams in every hour, and as many
//! of them by country as it tells apart by default: from its own file, or, with `--cluster`, from ClickHouse's
//! engine. With `--streams`, over a million single streams of a day.

mod cluster;
mod history;
mod streams;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::Collector;
use tokio::process::Command;

use history::{DAYS, SERIES};

#[tokio::main]
async fn main() -> Result<()> {
    tests::until_told(run()).await
}

async fn run() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let is_asked = |name: &str| arguments.iter().any(|argument| argument == name);
    let results = if is_asked("--cluster") {
        cluster(folder.path()).await?
    } else if is_asked("--streams") {
        single_streams(folder.path()).await?
    } else {
        file(folder.path()).await?
    };
    if is_asked("--json") {
        println!("{}", results.json());
    } else {
        results.print();
    }
    Ok(())
}

/// Answers from the collector's own file, also when the system has not read it yet.
async fn file(folder: &Path) -> Result<Results> {
    history::month(folder).await?;
    let mut rows = Vec::new();
    for question in &QUESTIONS {
        let collector = history::start(folder).await?;
        let warm = warm(&collector, question).await?;
        collector.terminate().await?;
        rows.push(Row { question, times: vec![("warm", warm), ("cold", cold(folder, question).await?)] });
    }
    let megabytes = std::fs::metadata(folder.join(history::FILE))?.len() as f64 / 1e6;
    Ok(Results { name: "query", rows, megabytes })
}

/// Answers from ClickHouse, as rows arrived and after they were merged into one part a month.
async fn cluster(folder: &Path) -> Result<Results> {
    let month = cluster::Month::make(folder).await?;
    let collector = month.start().await?;
    let mut rows = Vec::new();
    for question in &QUESTIONS {
        rows.push(Row { question, times: vec![("parts", warm(&collector, question).await?)] });
    }
    month.merge().await?;
    for row in &mut rows {
        row.times.push(("merged", warm(&collector, row.question).await?));
    }
    collector.terminate().await?;
    Ok(Results { name: "cluster", rows, megabytes: month.megabytes().await? })
}

/// Answers from files of streams and from memory.
async fn single_streams(folder: &Path) -> Result<Results> {
    let day = streams::Day::make(folder).await?;
    let collector = day.start().await?;
    let mut rows = Vec::new();
    for question in &OF_STREAMS {
        rows.push(Row { question, times: vec![("warm", warm(&collector, question).await?)] });
    }
    collector.terminate().await?;
    Ok(Results { name: "streams", rows, megabytes: day.megabytes()? })
}

/// What is asked, and how long it may take at the 95th percentile.
struct Question {
    name: &'static str,
    path: &'static str,
    limit_ms: f64,
}

const QUESTIONS: [Question; 18] = [
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
        path: "/v1/breakdown?range=7d&by=provider&compare_to=week",
        limit_ms: 500.0,
    },
    Question { name: "by country", path: "/v1/breakdown?range=30d&by=country", limit_ms: 500.0 },
    Question { name: "heatmap of a country", path: "/v1/heatmap?range=30d&country=IN", limit_ms: 500.0 },
    Question {
        name: "by country, of a use case",
        path: "/v1/breakdown?range=30d&by=country&use_case=u1",
        limit_ms: 500.0,
    },
    Question {
        name: "by country, of a model",
        path: "/v1/breakdown?range=30d&by=country&model=m7",
        limit_ms: 500.0,
    },
    Question {
        name: "by model, of a country",
        path: "/v1/breakdown?range=30d&by=model&country=US",
        limit_ms: 500.0,
    },
    Question {
        name: "by response model",
        path: "/v1/breakdown?range=30d&by=response_model",
        limit_ms: 500.0,
    },
    Question {
        name: "by use case, of a response model",
        path: "/v1/breakdown?range=30d&by=use_case&response_model=m7-2026-08",
        limit_ms: 500.0,
    },
    Question {
        name: "by response model, of a model and a country",
        path: "/v1/breakdown?range=30d&by=response_model&model=m7&country=US",
        limit_ms: 500.0,
    },
    // The most series that have one country: what is beyond the bound of each.
    Question {
        name: "by model, of the other countries",
        path: "/v1/breakdown?range=30d&by=model&country=other",
        limit_ms: 500.0,
    },
];

const OF_STREAMS: [Question; 13] = [
    Question { name: "by browser", path: "/v1/breakdown?range=24h&by=browser", limit_ms: 150.0 },
    Question {
        name: "by release and browser",
        path: "/v1/breakdown?range=24h&by=release&by=browser",
        limit_ms: 150.0,
    },
    Question {
        name: "by model, of a browser",
        path: "/v1/breakdown?range=24h&by=model&browser=firefox",
        limit_ms: 150.0,
    },
    Question { name: "summary of a browser", path: "/v1/summary?range=24h&browser=firefox", limit_ms: 150.0 },
    Question {
        name: "time series of a browser",
        path: "/v1/timeseries?range=24h&browser=firefox",
        limit_ms: 150.0,
    },
    Question { name: "by browser, one hour", path: "/v1/breakdown?range=1h&by=browser", limit_ms: 150.0 },
    Question { name: "what slow streams have in common", path: "/v1/explain?range=24h", limit_ms: 150.0 },
    Question { name: "abandonment", path: "/v1/abandonment?range=24h", limit_ms: 50.0 },
    Question { name: "phases", path: "/v1/phases?range=24h", limit_ms: 50.0 },
    Question { name: "server layers", path: "/v1/server-layers?range=24h", limit_ms: 50.0 },
    Question { name: "abandonment, one hour", path: "/v1/abandonment?range=1h", limit_ms: 50.0 },
    Question { name: "phases, one hour", path: "/v1/phases?range=1h", limit_ms: 50.0 },
    Question { name: "server layers, one hour", path: "/v1/server-layers?range=1h", limit_ms: 50.0 },
];

struct Row {
    question: &'static Question,
    /// Under one circumstance and another.
    times: Vec<(&'static str, Times)>,
}

struct Results {
    name: &'static str,
    rows: Vec<Row>,
    /// Of the store.
    megabytes: f64,
}

/// In milliseconds.
struct Times {
    p50: f64,
    p95: f64,
}

async fn warm(collector: &Collector, question: &Question) -> Result<Times> {
    ask(collector, question).await?;
    let mut times = Vec::new();
    for _ in 0..WARM {
        times.push(ask(collector, question).await?);
    }
    Ok(Times::of(times))
}

/// Each time in a new process, with the file out of the system's cache.
async fn cold(folder: &Path, question: &Question) -> Result<Times> {
    let mut times = Vec::new();
    for _ in 0..COLD {
        let collector = history::start(folder).await?;
        let mut forget = Command::new("dd");
        forget.arg(format!("if={}", folder.join(history::FILE).display())).args([
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

impl Times {
    fn of(mut ms: Vec<f64>) -> Self {
        ms.sort_by(f64::total_cmp);
        let at = |q: f64| ms[((q * ms.len() as f64).ceil() as usize).clamp(1, ms.len()) - 1];
        Self { p50: at(0.5), p95: at(0.95) }
    }
}

impl Results {
    fn print(&self) {
        match self.name {
            "streams" => println!("{} streams of a day: {:.0} MB of files", streams::STREAMS, self.megabytes),
            _ => println!("{SERIES} series in every hour of {DAYS} days: {:.0} MB", self.megabytes),
        }
        let Some(first) = self.rows.first() else { return };
        let columns: Vec<_> =
            first.times.iter().flat_map(|(name, _)| ["p50", "p95"].map(|q| format!("{name} {q}"))).collect();
        println!("{:45} {:>11} {:>9}", "ms", columns.join(" "), "limit");
        for Row { question, times } in &self.rows {
            let figures: Vec<_> = times
                .iter()
                .zip(columns.chunks(2))
                .flat_map(|((_, times), names)| {
                    [times.p50, times.p95]
                        .into_iter()
                        .zip(names)
                        .map(|(ms, name)| format!("{ms:>0$.1}", name.len()))
                })
                .collect();
            println!("{:45} {} {:>9.0}", question.name, figures.join(" "), question.limit_ms);
        }
    }

    fn json(&self) -> Value {
        let questions: BTreeMap<_, _> = self
            .rows
            .iter()
            .map(|Row { question, times }| {
                let mut figures = json!({ "limit_ms": question.limit_ms });
                for (name, times) in times {
                    figures[name] = json!({ "p50_ms": times.p50, "p95_ms": times.p95 });
                }
                (question.name, figures)
            })
            .collect();
        // The slowest beside what it may take: below 1 every limit is held.
        let shares = self.rows.iter().map(|row| row.times[0].1.p95 / row.question.limit_ms);
        json!({
            "name": self.name, "ratio": shares.fold(0.0, f64::max), "series": SERIES, "days": DAYS,
            "store_mb": self.megabytes, "questions": questions,
        })
    }
}

const WARM: usize = 40;
const COLD: usize = 5;
