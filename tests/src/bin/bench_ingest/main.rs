//! The collector's requests per second beside a bare axum handler that only reads the body: same
//! client, same bodies, same process layout, turn by turn in one run, over 32 connections and over 128. Then
//! the same collectors with batches, as fast as they are answered and at a steady rate (the bare handler too:
//! what is late there is the client's and the machine's), and with many series for their memory.
//!
//! `bench-ingest steady --beside OTHER` measures one part (`single`, `many`, `batches`, `steady`, `series`),
//! and lets another build of the collector take its turns too.

mod client;
mod contender;
mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use tests::binary;
use tokio::net::TcpListener;

use client::{Beacons, CONNECTIONS, MANY_CONNECTIONS};
use contender::{Contender, Figures, Pace, bare, collector};
use table::Results;

#[tokio::main]
async fn main() -> Result<()> {
    tests::until_told(run()).await
}

async fn run() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let has = |argument| arguments.iter().any(|given| given == argument);
    if has("--bare") {
        return serve_bare().await;
    }
    let parts: Vec<_> = Part::ALL.into_iter().filter(|part| has(part.name())).collect();
    // Another build of the collector, to be compared in the same minutes.
    let beside = arguments.iter().skip_while(|given| *given != "--beside").nth(1).map(PathBuf::from);
    let results = bench(if parts.is_empty() { &Part::ALL } else { &parts }, beside.as_deref()).await?;
    match has("--json") {
        true => println!("{}", results.json()),
        false => results.print(),
    }
    Ok(())
}

/// What is measured. Named on the command line, only those are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Single,
    Many,
    Batches,
    Steady,
    Series,
}

impl Part {
    const ALL: [Self; 5] = [Self::Single, Self::Many, Self::Batches, Self::Steady, Self::Series];

    const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Many => "many",
            Self::Batches => "batches",
            Self::Steady => "steady",
            Self::Series => "series",
        }
    }
}

/// The handler to beat: reads the body, answers 204.
async fn serve_bare() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("bare handler listening on http://{}", listener.local_addr()?);
    let app = Router::new().route("/v1/beacons", post(|_: Bytes| async { StatusCode::NO_CONTENT }));
    Ok(axum::serve(listener, app).await?)
}

async fn bench(parts: &[Part], beside: Option<&Path>) -> Result<Results> {
    let data = tempfile::tempdir()?;
    let ours = binary("llm-rum");
    let mut contenders = vec![Contender::start("bare", bare()?).await?];
    for (program, names) in [(Some(&*ours), ["normal", "full"]), (beside, ["normal beside", "full beside"])] {
        let Some(program) = program else { continue };
        for (name, sync) in names.into_iter().zip(SYNCS) {
            let command = collector(program, data.path(), name, sync)?;
            contenders.push(Contender::start(name, command).await?);
        }
    }
    // A round that warms up.
    let one_by_one = Pace::AnswerByAnswer(CONNECTIONS);
    by_turns(&mut contenders, 1, Beacons::Single, one_by_one).await?;
    let mut results = Results::default();
    for part in parts {
        let all = &mut contenders;
        match part {
            Part::Single => {
                results.single = by_turns(all, ROUNDS, Beacons::Single, one_by_one).await?;
            }
            Part::Many => {
                let pace = Pace::AnswerByAnswer(MANY_CONNECTIONS);
                results.many_connections = by_turns(all, ROUNDS, Beacons::Single, pace).await?;
            }
            Part::Batches => {
                let collectors = &mut all[1..];
                results.batches = by_turns(collectors, BATCH_ROUNDS, Beacons::Batches, one_by_one).await?;
            }
            Part::Steady => {
                let pace = Pace::ReportsPerSecond(STEADY);
                results.steady = by_turns(all, BATCH_ROUNDS, Beacons::Batches, pace).await?;
            }
            // After those that the others would stand in the way of.
            Part::Series => {}
        }
    }
    drop(contenders);
    if parts.contains(&Part::Series) {
        for sync in SYNCS {
            results.many_series.push(of_many_series(&ours, data.path(), sync).await?);
        }
    }
    Ok(results)
}

/// One turn of each after the other, so many times: what the machine does beside it falls on all alike.
async fn by_turns(
    contenders: &mut [Contender],
    rounds: usize,
    beacons: Beacons,
    pace: Pace,
) -> Result<Vec<Figures>> {
    for _ in 0..rounds {
        for contender in &mut *contenders {
            contender.turn(beacons, pace, TURN).await?;
        }
    }
    contenders.iter_mut().map(Contender::figures).collect()
}

/// A collector that counts into so many series in every window.
async fn of_many_series(program: &Path, folder: &Path, sync: &'static str) -> Result<Figures> {
    let command = collector(program, folder, &format!("series-{sync}"), sync)?;
    let mut contender = Contender::start(sync, command).await?;
    contender.turn(Beacons::ManySeries, Pace::AnswerByAnswer(CONNECTIONS), MANY_SERIES_TURN).await?;
    contender.figures()
}

/// Values of `journal.sync`.
const SYNCS: [&str; 2] = ["normal", "full"];
const ROUNDS: usize = 5;
const TURN: Duration = Duration::from_secs(3);
const BATCH_ROUNDS: usize = 9;
/// Reports a second, in batches: what a collector is to take, whatever the machine could take.
const STEADY: u32 = 150_000;
const MANY_SERIES_TURN: Duration = Duration::from_secs(10);
