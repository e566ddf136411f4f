//! Runs random programs over streams, each in a page without an SDK and in one with it. The programs and the pages are
//! in `conformance/walk`.

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::server::Server;
use crate::{Browser, Engine};

/// The result of a run of programs.
#[derive(Debug, Deserialize)]
pub struct Walk {
    /// Number of programs that ran.
    pub ran: u32,
    /// Number of programs that ran again because their first two outcomes differed.
    pub reruns: u32,
    /// Programs whose outcome differs with the SDK, reduced to the steps that matter, with both outcomes.
    pub finds: Vec<Value>,
}

impl Walk {
    /// Fails if an outcome differs with the SDK.
    ///
    /// # Errors
    /// The programs that differ.
    pub fn same(&self) -> Result<()> {
        ensure!(self.finds.is_empty(), "{}", serde_json::to_string_pretty(&self.finds)?);
        Ok(())
    }
}

/// Runs the programs from number `from` on in one engine: at most `count`, for about `seconds`.
///
/// # Errors
/// If the server, the browser or the page does not start.
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
