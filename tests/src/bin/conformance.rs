//! `conformance [SDK…]` prints the table of the suite for these SDKs in every engine, ours when none is
//! named; `conformance serve` serves the suite for any browser.

use anyhow::Result;
use tests::{ConformanceServer, Engine, Table, conformance};

#[tokio::main]
async fn main() -> Result<()> {
    let mut sdks: Vec<String> = std::env::args().skip(1).collect();
    match sdks.first().map(String::as_str) {
        Some("serve") => return serve().await,
        None => sdks.push("llm-rum".to_owned()),
        Some(_) => {}
    }
    let mut table = Table::default();
    for engine in Engine::ALL {
        for sdk in &sdks {
            table.add(sdk, engine, conformance(engine, sdk, "").await?);
        }
    }
    for failure in table.failures() {
        println!("{failure}\n");
    }
    print!("{table}");
    Ok(())
}

async fn serve() -> Result<()> {
    let server = ConformanceServer::start().await?;
    println!("the suite is on {}/?sdk=llm-rum", server.url);
    Ok(tokio::signal::ctrl_c().await?)
}
