//! Headless Chromium, driven through WebDriver.

use std::time::Duration;

use anyhow::{Context, Result};
use fantoccini::wd::TimeoutConfiguration;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::process::{Server, kill_9};

/// A browser with an empty profile; both it and its driver die with this value.
pub struct Browser {
    /// The WebDriver session.
    pub page: Client,
    driver_url: String,
    pid: u32,
    _driver: Server,
    _profile: TempDir,
}

impl Browser {
    /// Starts driver and browser.
    ///
    /// # Errors
    /// When either does not start.
    pub async fn start() -> Result<Self> {
        let mut command = Command::new("chromedriver");
        command.arg("--port=0");
        let (driver, driver_url) = Server::start(command, |line| {
            let port = line.split("successfully on port ").nth(1)?;
            let port: String = port.chars().take_while(char::is_ascii_digit).collect();
            Some(format!("http://127.0.0.1:{port}"))
        })
        .await?;
        let profile = tempfile::tempdir()?;
        let mut switches: Vec<String> = SWITCHES.map(str::to_owned).into();
        switches.push(format!("--user-data-dir={}", profile.path().display()));
        let capabilities = json!({
            "goog:chromeOptions": { "args": switches },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let page = ClientBuilder::new(HttpConnector::new())
            .capabilities(serde_json::from_value(capabilities)?)
            .connect(&driver_url)
            .await
            .context("the browser does not start")?;
        let patient = TimeoutConfiguration::new(Some(Duration::from_secs(600)), None, None);
        page.update_timeouts(patient).await?;
        let pid = page.capabilities().and_then(|known| known.get("goog:processID")?.as_u64());
        let pid = pid.context("the driver tells the browser's process id")? as u32;
        Ok(Self { page, driver_url, pid, _driver: driver, _profile: profile })
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
                .then(value => done({{ value }}), error => done({{ error: String(error?.stack ?? error) }}));"
        );
        let answer = self.page.execute_async(&script, arguments).await?;
        match answer.get("error") {
            Some(error) => anyhow::bail!("the page threw {error}"),
            None => Ok(answer.get("value").cloned().unwrap_or(Value::Null)),
        }
    }

    /// What the browser has written to its console since the last call.
    ///
    /// # Errors
    /// When the driver does not answer.
    pub async fn console(&self) -> Result<Vec<Value>> {
        let session = self.page.session_id().await?.context("a session")?;
        let url = format!("{}/session/{session}/se/log", self.driver_url);
        let answer = reqwest::Client::new().post(url).json(&json!({ "type": "browser" })).send().await?;
        let mut answer: Value = answer.json().await?;
        Ok(serde_json::from_value(answer["value"].take())?)
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
        // The driver does not take the browser with it when a failing journey ends without `close`.
        kill_9(self.pid);
    }
}

const SWITCHES: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];
