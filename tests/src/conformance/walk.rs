//! Made-up programs over streams, each run in a page without an SDK and in one with it. The programs and the
//! pages are in `conformance/walk`.

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::server::Server;
use crate::{Browser, Engine};

/// What came of a row of programs.
#[derive(Debug, Deserialize)]
pub struct Walk {
    /// How many were run.
    pub ran: u32,
    /// How many of them were run again, as their first two outcomes were not the same.
    pub reruns: u32,
    /// Programs that come out otherwise with the SDK, without the steps that do not matter, and both outcomes.
    pub finds: Vec<Value>,
}

impl Walk {
    /// Fails with the first program that came out otherwise.
    ///
    /// # Errors
    /// When there is one.
    pub fn same(&self) -> Result<()> {
        ensure!(self.finds.is_empty(), "{}", serde_json::to_string_pretty(&self.finds)?);
        Ok(())
    }
}

/// Runs the programs numbered from `from` on in one engine, at most `count` of them and about as long as told.
///
/// # Errors
/// When the server, the browser or the page does not start.
pub async fn walk(engine: Engine, sdk: &str, from: u32, count: u32, seconds: u32) -> Result<Walk> {
    let server = Server::start().await?;
    let browser = Browser::start_in(engine).await?;
    browser.page.goto(&server.url).await?;
    let script = "return (await import('/walk/walk.js')).walk(...args);";
    let arguments = vec![sdk.into(), from.into(), count.into(), seconds.into()];
    let outcome = browser.run(script, arguments).await?;
    browser.close().await?;
    Ok(serde_json::from_value(outcome)?)
}
