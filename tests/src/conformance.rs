//! The conformance suite compares `fetch` in a page with an SDK and in one without. The checks and their pages are in
//! `conformance/`. This module has the scripted server and runs the suite in a browser.

mod log;
mod request;
mod script;
mod server;
mod socket;
mod table;
mod walk;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;

use crate::{Browser, Engine, Garbage};

pub use server::Server as ConformanceServer;
pub use table::Table;
pub use walk::{Walk, walk};

/// One check in one engine, with one SDK.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    /// The file of the check, without `.js`.
    pub group: String,
    /// The behaviour that is checked, as a sentence.
    pub name: String,
    /// The outcome in a page without an SDK.
    pub native: Value,
    /// The outcome in a page with the SDK.
    pub watched: Value,
    /// The native outcome that is expected in this engine.
    pub expected: Value,
    /// Whether `expected` differs from the other engines.
    pub differs: bool,
    /// Whether `native` is as expected.
    pub understood: bool,
    /// Whether `known.js` lists a difference for this SDK and engine.
    pub excused: bool,
    /// Whether the SDK exports the function that the check needs.
    pub offered: bool,
    /// Whether the outcomes with and without the SDK are equal.
    pub same: bool,
}

impl Row {
    /// Whether the engine behaves as expected and the SDK causes known differences only. A known difference that
    /// no longer exists fails as well.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.understood && (!self.offered || self.same != self.excused)
    }
}

/// Runs every check whose name contains `only` in one engine, with one SDK: `llm-rum`, or another file of
/// `conformance/sdks`.
///
/// # Errors
/// If the server, the browser or the suite's page does not start.
pub async fn conformance(engine: Engine, sdk: &str, only: &str) -> Result<Vec<Row>> {
    let server = ConformanceServer::start().await?;
    let browser = Browser::start_with(engine, Garbage::GoesAtOnce).await?;
    browser.page.goto(&server.url).await?;
    let script = "return (await import('/suite.js')).run(...args);";
    let rows = browser.run(script, vec![sdk.into(), only.into()]).await?;
    browser.close().await?;
    Ok(serde_json::from_value(rows)?)
}
