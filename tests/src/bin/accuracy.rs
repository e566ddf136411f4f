//! The probe's errors against the demo server's log, engine by engine: `accuracy [--json]`.

use anyhow::Result;
use serde_json::json;
use tests::{Engine, accuracy, paint};

#[tokio::main]
async fn main() -> Result<()> {
    tests::until_told(run()).await
}

async fn run() -> Result<()> {
    let as_json = std::env::args().any(|argument| argument == "--json");
    let (mut engines, mut paints) = (Vec::new(), Vec::new());
    for engine in Engine::ALL {
        engines.push(accuracy(engine, STREAMS).await?);
        paints.push(paint(engine, STREAMS).await?);
    }
    if as_json {
        let engines: Vec<_> = engines.iter().map(tests::Accuracy::to_json).collect();
        let paints: Vec<_> = paints.iter().map(tests::Paint::to_json).collect();
        println!("{}", json!({ "name": "accuracy", "engines": engines, "paint": paints }));
        return Ok(());
    }
    println!("error over {STREAMS} streams, ms: p50, p95, p99 of its size");
    println!("{:<15}  {:^20}  {:^20}  {:^20}", "", "probe", "page without it", "probe beside its page");
    for engine in &engines {
        print!("{engine}");
    }
    println!("first paint, against the frame that Chromium presented");
    for paint in &paints {
        print!("{paint}");
    }
    for engine in &engines {
        let verdict = if engine.meets_goal() { "within" } else { "NOT within" };
        println!(
            "{}: p99 {verdict} the page's without it plus two steps of the clock ({} ms)",
            engine.engine, engine.clock_step_ms
        );
    }
    Ok(())
}

const STREAMS: u64 = 200;
