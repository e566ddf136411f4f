//! `conformance [SDK…]` prints the table of the suite for these SDKs in every engine, ours when none is
//! named; `conformance serve` serves the suite for any browser; `conformance walk ENGINE FROM SECONDS`
//! runs made-up programs with ours in one engine for so long.

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
        Some("walk") => return take_walk(&sdks[1..]).await,
        None => sdks.push("llm-rum".to_owned()),
        Some(_) => {}
    }
    let mut all = Table::default();
    for sdk in &sdks {
        let table = in_every_engine(sdk).await?;
        // An SDK may take minutes: what is known is told.
        for failure in table.failures() {
            println!("{failure}\n");
        }
        eprintln!("{}", table.sums());
        all.append(table);
    }
    print!("{all}");
    Ok(())
}

async fn in_every_engine(sdk: &str) -> Result<Table> {
    let mut table = Table::default();
    // In turn: checks look at what a server could push within a time, which another engine would take from it.
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

async fn take_walk(arguments: &[String]) -> Result<()> {
    let [engine, from, seconds] = arguments else { anyhow::bail!("walk takes ENGINE FROM SECONDS") };
    let engine = Engine::ALL.into_iter().find(|known| known.to_string().eq_ignore_ascii_case(engine));
    let engine = engine.context("chromium, firefox or webkit")?;
    let walk = walk(engine, "llm-rum", from.parse()?, u32::MAX, seconds.parse()?).await?;
    println!("{} programs in {engine}, {} run more than once", walk.ran, walk.reruns);
    walk.same()
}
