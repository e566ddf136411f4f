//! The collector's requests per second beside a bare axum handler that only reads the body: same
//! client, same bodies, same process layout, turn by turn in one run. Then the same collectors with
//! batches, as fast as they are answered and at a steady rate, and with many series for their memory.

mod client;
mod contender;
mod table;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use tokio::net::TcpListener;

use client::Beacons;
use contender::{Contender, Figures, Pace, bare, collector};
use table::Results;

#[tokio::main]
async fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("--bare") => serve_bare().await,
        argument => {
            let results = bench().await?;
            match argument {
                Some("--json") => println!("{}", results.json()),
                _ => results.print(),
            }
            Ok(())
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

async fn bench() -> Result<Results> {
    let data = tempfile::tempdir()?;
    let mut contenders = [
        Contender::start("bare", bare()?).await?,
        Contender::start("normal", collector(data.path(), "normal", "normal")?).await?,
        Contender::start("full", collector(data.path(), "full", "full")?).await?,
    ];
    // The first round warms up.
    for contender in &mut contenders {
        contender.turn(Beacons::Single, Pace::AnswerByAnswer, TURN).await?;
    }
    let mut single = Vec::new();
    for contender in &mut contenders {
        contender.forget();
    }
    for _ in 0..ROUNDS {
        for contender in &mut contenders {
            contender.turn(Beacons::Single, Pace::AnswerByAnswer, TURN).await?;
        }
    }
    for contender in &mut contenders {
        single.push(contender.figures()?);
    }
    let mut batches = Vec::new();
    let mut steady = Vec::new();
    for contender in &mut contenders[1..] {
        batches.push(of_batches(contender, Pace::AnswerByAnswer).await?);
        steady.push(of_batches(contender, Pace::ReportsPerSecond(STEADY)).await?);
    }
    drop(contenders);
    let mut many_series = Vec::new();
    for sync in ["normal", "full"] {
        many_series.push(of_many_series(data.path(), sync).await?);
    }
    Ok(Results { single, batches, steady, many_series })
}

async fn of_batches(contender: &mut Contender, pace: Pace) -> Result<Figures> {
    for _ in 0..BATCH_TURNS {
        contender.turn(Beacons::Batches, pace, TURN).await?;
    }
    contender.figures()
}

/// A collector that counts into so many series in every window.
async fn of_many_series(folder: &Path, sync: &'static str) -> Result<Figures> {
    let command = collector(folder, &format!("series-{sync}"), sync)?;
    let mut contender = Contender::start(sync, command).await?;
    contender.turn(Beacons::ManySeries, Pace::AnswerByAnswer, MANY_SERIES_TURN).await?;
    contender.figures()
}

const ROUNDS: usize = 5;
const TURN: Duration = Duration::from_secs(3);
const BATCH_TURNS: usize = 2;
/// Reports a second, in batches: what a collector is to take, whatever the machine could take.
const STEADY: u32 = 150_000;
const MANY_SERIES_TURN: Duration = Duration::from_secs(10);
