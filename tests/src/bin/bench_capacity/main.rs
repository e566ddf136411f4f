//! Cost of streams for a collector and its disk: processor time, memory and bytes, measured through the real ingest
//! endpoint with streams as varied as those of a chat product. Results: `docs/capacity.md`.

mod cluster;
mod cost;
mod day;
mod disk;
mod post;
mod streams;
mod table;

use std::sync::Arc;

use anyhow::Result;

use cluster::Cluster;
use cost::{Cost, Load};
use day::Day;
use post::Prepared;
use table::Results;

#[tokio::main]
async fn main() -> Result<()> {
    tests::until_told(run()).await
}

async fn run() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let pool = Arc::new(Prepared::all(&streams::streams(POOL))?);
    let mut costs = Vec::new();
    for load in &LOADS {
        costs.push(Cost::of(load, folder.path(), &pool).await?);
    }
    let day = Day::of(folder.path(), &pool).await?;
    let cluster = Cluster::of(folder.path(), &folder.path().join("day"), &costs[0].folder).await?;
    let results = Results { costs, day, cluster };
    match std::env::args().nth(1).as_deref() {
        Some("--json") => println!("{}", results.json()),
        _ => results.print(),
    }
    Ok(())
}

/// The first is what a collector does by default.
const LOADS: [Load; 3] = [
    Load { name: "full", streams: 300_000, per_second: None, sync: "full", ids: 200_000 },
    Load { name: "normal", streams: 600_000, per_second: None, sync: "normal", ids: 1_000_000 },
    Load { name: "paced", streams: 4_000, per_second: Some(200), sync: "full", ids: 200_000 },
];

/// Streams that differ.
const POOL: usize = 20_000;
