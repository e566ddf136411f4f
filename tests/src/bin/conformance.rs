//! `conformance [SDK…]` prints the suite's table for these SDKs in every engine; without names, for the probe.
//! `conformance serve` serves the suite for any browser. `conformance walk ENGINE FROM SECONDS` runs random programs with
//! the probe in one engine.

use anyhow::{Context, Result};
use tests::{ConformanceServer, Engine, Table, conformance, walk};

#[tokio::main]
async fn main() -> Result<()> {
    tests::until_told(run()).await
}

async fn run() -> Result<()> {
    let mut sdks: Vec<String> = std::env::args().skip(1).collect();
    match sdks.first().map(String::as_str) {
        Some("serve") => return serve().await,
        Some("walk") => return run_walk(&sdks[1..]).await,
        None => sdks.push("llm-rum".to_owned()),
        Some(_) => {}
    }
    let mut all = Table::default();
    for sdk in &sdks {
        let table = run_in_every_engine(sdk).await?;
        // The next SDK may take minutes, so print the failures of this one first.
        for failure in table.failures() {
            println!("{failure}\n");
        }
        eprintln!("{}", table.sums());
        all.append(table);
    }
    print!("{all}");
    Ok(())
}

async fn run_in_every_engine(sdk: &str) -> Result<Table> {
    let mut table = Table::default();
    // One engine at a time: the backpressure checks measure a server's progress, which a second engine would slow down.
    for engine in Engine::ALL {
        table.add(sdk, engine, conformance(engine, sdk, "").await?);
    }
    Ok(table)
}

async fn serve() -> Result<()> {
    let server = ConformanceServer::start().await?;
    println!("the suite is on {}/?sdk=llm-rum", server.url);
    std::future::pending().await
}

async fn run_walk(arguments: &[String]) -> Result<()> {
    let [engine, from, seconds] = arguments else {
        anyhow::bail!("`walk` needs three arguments: ENGINE FROM SECONDS")
    };
    let engine = Engine::ALL.into_iter().find(|known| known.to_string().eq_ignore_ascii_case(engine));
    let engine = engine.context("ENGINE must be chromium, firefox or webkit")?;
    let walk = walk(engine, "llm-rum", from.parse()?, u32::MAX, seconds.parse()?).await?;
    println!("{} programs in {engine}, {} run more than once", walk.ran, walk.reruns);
    walk.same()
}
