//! The three browser engines, and what a WebDriver session of each needs.

use std::fmt;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::process::{Server, free_port, tool};

/// A browser engine that pages run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Chromium, headless.
    Chromium,
    /// Firefox, headless.
    Firefox,
    /// WebKitGTK's MiniBrowser, on a display of its own: it has no headless mode.
    WebKit,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Chromium, Self::Firefox, Self::WebKit];

    /// Starts the engine's WebDriver; gives back its address, too. A browser that it starts shows
    /// itself on `display`, where it needs one, and treats its garbage like this.
    pub(crate) async fn drive(self, display: Option<&str>, garbage: Garbage) -> Result<(Server, String)> {
        match self {
            Self::Chromium => chromedriver().await,
            Self::Firefox => {
                let mut command = Command::new(tool("geckodriver"));
                command.args(["--host", "127.0.0.1", "--port", "0"]);
                Server::start(command, |line| said_port(line, "Listening on 127.0.0.1:")).await
            }
            Self::WebKit => {
                // It does not say where it listens.
                let port = free_port()?;
                let mut command = Command::new("WebKitWebDriver");
                command.args(["--host=127.0.0.1", &format!("--port={port}")]);
                command.envs(display.map(|display| ("DISPLAY", display)));
                if garbage == Garbage::GoesAtOnce {
                    command.env("JSC_slowPathAllocsBetweenGCs", WEBKIT_ALLOCATIONS);
                }
                Ok((Server::start_on(command, port).await?, format!("http://127.0.0.1:{port}")))
            }
        }
    }

    /// The display that the engine needs, and its name: an X server that draws into memory.
    pub(crate) async fn display(self) -> Result<Option<(Server, String)>> {
        if self != Self::WebKit {
            return Ok(None);
        }
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"]);
        let number = |line: &str| line.trim().parse::<u32>().ok().map(|number| format!(":{number}"));
        Server::start(command, number).await.map(Some)
    }

    /// What to ask the driver for. An empty folder serves as profile where the driver makes none.
    pub(crate) fn capabilities(self, profile: &Path, garbage: Garbage) -> Value {
        match self {
            Self::Chromium => {
                let mut switches: Vec<String> = CHROMIUM_SWITCHES.map(str::to_owned).into();
                switches.push(format!("--user-data-dir={}", profile.display()));
                if garbage == Garbage::GoesAtOnce {
                    switches.push("--js-flags=--expose-gc".to_owned());
                }
                json!({
                    "goog:chromeOptions": { "args": switches },
                    "goog:loggingPrefs": { "browser": "ALL" },
                })
            }
            Self::Firefox => json!({
                "moz:firefoxOptions": { "binary": "/usr/bin/firefox-esr", "args": ["-headless"] },
            }),
            Self::WebKit => json!({
                "webkitgtk:browserOptions": { "binary": MINI_BROWSER, "args": ["--automation"] },
            }),
        }
    }
}

/// When a browser collects what nobody holds any more. What a page sees of that differs from run to run, so where
/// nothing is to depend on it, it happens all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// As in any browser: now and then.
    GoesInTime,
    /// WebKit collects all the time; a page in Chromium may, by `gc()`; Firefox as in any browser.
    GoesAtOnce,
}

/// It takes a port that is free at 127.0.0.1 and needs the same at `::1`, where somebody may have it: then it
/// ends, and the next one takes another.
async fn chromedriver() -> Result<(Server, String)> {
    let mut left = MOST_TRIES;
    loop {
        let mut command = Command::new("chromedriver");
        command.arg("--port=0");
        left -= 1;
        let started = Server::start(command, |line| said_port(line, "successfully on port ")).await;
        if started.is_ok() || left == 0 {
            return started;
        }
    }
}

/// How often a driver may find its port taken.
const MOST_TRIES: u32 = 5;

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Chromium => "Chromium",
            Self::Firefox => "Firefox",
            Self::WebKit => "WebKit",
        })
    }
}

fn said_port(line: &str, before: &str) -> Option<String> {
    let port: String = line.split(before).nth(1)?.chars().take_while(char::is_ascii_digit).collect();
    (!port.is_empty()).then(|| format!("http://127.0.0.1:{port}"))
}

const MINI_BROWSER: &str = "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser";

/// So often each check of the conformance suite sees several collections; with 200, those that WebKit fails when one
/// comes at the wrong moment pass.
const WEBKIT_ALLOCATIONS: &str = "20";

const CHROMIUM_SWITCHES: [&str; 9] = [
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
