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
    let [one, two, three] = Engine::ALL.map(|engine| conformance(engine, sdk, ""));
    let rows = tokio::try_join!(one, two, three)?;
    let mut table = Table::default();
    for (engine, rows) in Engine::ALL.into_iter().zip([rows.0, rows.1, rows.2]) {
        table.add(sdk, engine, rows);
    }
    Ok(table)
}

async fn serve() -> Result<()> {
    let server = ConformanceServer::start().await?;
    println!("the suite is on {}/?sdk=llm-rum", server.url);
    Ok(tokio::signal::ctrl_c().await?)
}
