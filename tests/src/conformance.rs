//! The conformance suite: is fetch in a page with an SDK what it is without? The checks and their pages
//! are in `conformance/`; here are the scripted server that they talk to, and the run in a browser.

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
    /// What kind of check it is.
    pub group: String,
    /// What should be so.
    pub name: String,
    /// What came of it in a page without an SDK.
    pub native: Value,
    /// What came of it in a page with one.
    pub watched: Value,
    /// What should come of it in this engine.
    pub expected: Value,
    /// Whether that is not what the other engines do.
    pub differs: bool,
    /// Whether the engine did without an SDK what is expected of it.
    pub understood: bool,
    /// Whether the SDK is known to change this here.
    pub excused: bool,
    /// Whether the SDK has what the check is about.
    pub offered: bool,
    /// Whether the outcomes with and without the SDK are the same.
    pub same: bool,
}

impl Row {
    /// Whether the engine does what is expected of it, and the SDK changes nothing but what it is known to
    /// of what it has.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.understood && (!self.offered || self.same != self.excused)
    }
}

/// Runs every check whose name contains `only` in one engine, with one SDK: `llm-rum`, or another file of
/// `conformance/sdks`.
///
/// # Errors
/// When the server, the browser or the page of the suite does not start.
pub async fn conformance(engine: Engine, sdk: &str, only: &str) -> Result<Vec<Row>> {
    let server = ConformanceServer::start().await?;
    let browser = Browser::start_with(engine, Garbage::GoesAtOnce).await?;
    browser.page.goto(&server.url).await?;
    let script = "return (await import('/suite.js')).run(...args);";
    let rows = browser.run(script, vec![sdk.into(), only.into()]).await?;
    browser.close().await?;
    Ok(serde_json::from_value(rows)?)
}
