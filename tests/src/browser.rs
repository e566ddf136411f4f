//! A browser of one of the engines, driven through WebDriver.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fantoccini::wd::TimeoutConfiguration;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::engine::{Engine, Garbage};
use crate::http::http;
use crate::process::{Server, kill_offspring};

/// A browser with an empty profile; it, its driver and its display die with this value.
pub struct Browser {
    /// The WebDriver session.
    pub page: Client,
    driver_url: String,
    driver: Server,
    _display: Option<Server>,
    _profile: TempDir,
}

impl Browser {
    /// Starts Chromium and its driver.
    ///
    /// # Errors
    /// When either does not start.
    pub async fn start() -> Result<Self> {
        Self::start_in(Engine::Chromium).await
    }

    /// Starts a browser of that engine, and its driver.
    ///
    /// # Errors
    /// When either does not start.
    pub async fn start_in(engine: Engine) -> Result<Self> {
        Self::start_with(engine, Garbage::GoesInTime).await
    }

    /// Starts a browser of that engine that treats its garbage like this.
    ///
    /// # Errors
    /// When it or its driver does not start.
    pub async fn start_with(engine: Engine, garbage: Garbage) -> Result<Self> {
        let (display, name) = engine.display().await?.unzip();
        let (driver, driver_url) = engine.drive(name.as_deref(), garbage).await?;
        let profile = tempfile::tempdir()?;
        let capabilities = engine.capabilities(profile.path(), garbage);
        let page = ClientBuilder::new(HttpConnector::new())
            .capabilities(serde_json::from_value(capabilities)?)
            .connect(&driver_url)
            .await
            .with_context(|| format!("{engine} does not start"))?;
        let browser = Self { page, driver_url, driver, _display: display, _profile: profile };
        let patient = TimeoutConfiguration::new(Some(Duration::from_secs(600)), None, None);
        browser.page.update_timeouts(patient).await?;
        Ok(browser)
    }

    /// Runs the body of an async function in the page and gives back what it resolves to. Its
    /// arguments are in `args`.
    ///
    /// # Errors
    /// When it throws, with what it threw.
    pub async fn run(&self, body: &str, arguments: Vec<Value>) -> Result<Value> {
        let script = format!(
            "const done = arguments[arguments.length - 1], args = [...arguments].slice(0, -1);
             (async () => {{ {body} }})()
                .then(value => done({{ value }}), error => done({{ error: `${{error}}\n${{error?.stack}}` }}));"
        );
        let answer = self.page.execute_async(&script, arguments).await;
        let answer = answer.with_context(|| format!("the page did not get through {body}"))?;
        match answer.get("error") {
            Some(error) => anyhow::bail!("the page threw {error}"),
            None => Ok(answer.get("value").cloned().unwrap_or(Value::Null)),
        }
    }

    /// What Chromium has written to its console since the last call; other drivers do not tell.
    ///
    /// # Errors
    /// When the driver does not answer.
    pub async fn console(&self) -> Result<Vec<Value>> {
        let session = self.page.session_id().await?.context("a session")?;
        let url = format!("{}/session/{session}/se/log", self.driver_url);
        let answer = http().post(url).json(&json!({ "type": "browser" })).send().await?;
        let mut answer: Value = answer.json().await?;
        Ok(serde_json::from_value(answer["value"].take())?)
    }

    /// Sends a command of the DevTools protocol; only Chromium has one.
    ///
    /// # Errors
    /// When the driver or the browser refuses it.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Result<Value> {
        let session = self.page.session_id().await?.context("a session")?;
        let url = format!("{}/session/{session}/goog/cdp/execute", self.driver_url);
        let body = json!({ "cmd": command, "params": parameters });
        let answer = http().post(url).json(&body).send().await?;
        ensure!(answer.status().is_success(), "{command} is refused: {}", answer.text().await?);
        let mut answer: Value = answer.json().await?;
        Ok(answer["value"].take())
    }

    /// Ends the browser in good order.
    ///
    /// # Errors
    /// When the driver does not answer.
    pub async fn close(self) -> Result<()> {
        Ok(self.page.clone().close().await?)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A driver does not take its browser with it when a failing journey ends without `close`.
        if let Some(driver) = self.driver.pid() {
            kill_offspring(driver);
        }
    }
}
