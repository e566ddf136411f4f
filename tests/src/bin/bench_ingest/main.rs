//! The collector's requests per second beside a bare axum handler that only reads the body: same
//! client, same bodies, same process layout, turn by turn in one run. Then the same collectors with
//! batches, and one with many series for its memory.

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
use contender::{Contender, bare, collector};
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
        contender.turn(Beacons::Single, TURN).await?;
    }
    let mut single = Vec::new();
    for contender in &mut contenders {
        contender.forget();
    }
    for _ in 0..ROUNDS {
        for contender in &mut contenders {
            contender.turn(Beacons::Single, TURN).await?;
        }
    }
    for contender in &mut contenders {
        single.push(contender.figures()?);
    }
    let mut batches = Vec::new();
    for contender in &mut contenders[1..] {
        for _ in 0..BATCH_TURNS {
            contender.turn(Beacons::Batches, TURN).await?;
        }
        batches.push(contender.figures()?);
    }
    drop(contenders);
    Ok(Results { single, batches, many_series: many_series(data.path()).await? })
}

/// A collector that counts into so many series in every window.
async fn many_series(folder: &Path) -> Result<contender::Figures> {
    let mut contender = Contender::start("series", collector(folder, "series", "normal")?).await?;
    contender.turn(Beacons::ManySeries, MANY_SERIES_TURN).await?;
    contender.figures()
}

const ROUNDS: usize = 5;
const TURN: Duration = Duration::from_secs(3);
const BATCH_TURNS: usize = 2;
/// Longer than a window, so that two of them are in memory.
const MANY_SERIES_TURN: Duration = Duration::from_secs(10);
