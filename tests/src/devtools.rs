//! Chromium's DevTools protocol over a connection of its own: its driver passes no events on.

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::Browser;
use crate::http::http;

/// A connection to Chromium or to one of its pages.
pub struct DevTools {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl DevTools {
    /// Connects to the browser.
    ///
    /// # Errors
    /// When it is not Chromium or does not accept the connection.
    pub(crate) async fn of_browser(browser: &Browser) -> Result<Self> {
        Self::connect(&Self::ask(browser, "json/version").await?).await
    }

    /// Connects to the only page of the browser.
    ///
    /// # Errors
    /// When it is not Chromium, has no page, or does not accept the connection.
    pub async fn of_page(browser: &Browser) -> Result<Self> {
        let targets = Self::ask(browser, "json/list").await?;
        let page = targets.as_array().into_iter().flatten().find(|target| target["type"] == "page");
        Self::connect(page.context("the browser has no page")?).await
    }

    async fn ask(browser: &Browser, path: &str) -> Result<Value> {
        let capabilities = browser.page.capabilities().context("a session has capabilities")?;
        let address = capabilities.get("goog:chromeOptions").map(|options| &options["debuggerAddress"]);
        let address = address.and_then(Value::as_str).context("only Chromium has DevTools")?;
        Ok(http().get(format!("http://{address}/{path}")).send().await?.json().await?)
    }

    async fn connect(target: &Value) -> Result<Self> {
        let url = target["webSocketDebuggerUrl"].as_str().context("DevTools name their address")?;
        let (socket, _) = connect_async(url).await?;
        Ok(Self { socket })
    }

    /// Sends a command. Its response comes through [`next`](Self::next).
    ///
    /// # Errors
    /// When the connection is closed.
    pub async fn send(&mut self, method: &str, parameters: Value) -> Result<()> {
        let command = json!({ "id": 1, "method": method, "params": parameters });
        Ok(self.socket.send(Message::text(command.to_string())).await?)
    }

    /// The next event or response.
    ///
    /// # Errors
    /// When the connection is closed or a command failed.
    pub async fn next(&mut self) -> Result<Value> {
        let message = self.socket.next().await.context("DevTools closed the connection")??;
        let message: Value = serde_json::from_str(message.to_text()?)?;
        if let Some(error) = message.get("error") {
            bail!("DevTools refuse: {error}");
        }
        Ok(message)
    }
}
