//! A server process: started, asked where it listens, and killed with the value that holds it.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// A running process, killed when dropped.
pub struct Server {
    child: Child,
}

impl Server {
    /// Starts `command` and waits for the first line on its standard output that `address` takes an
    /// answer from.
    ///
    /// # Errors
    /// When it cannot start, ends, or stays silent for 30 s.
    pub async fn start(
        mut command: Command,
        address: impl Fn(&str) -> Option<String>,
    ) -> Result<(Self, String)> {
        let mut child = command
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let mut lines = BufReader::new(child.stdout.take().context("stdout is piped")?).lines();
        let said = tokio::time::timeout(Duration::from_secs(30), async {
            while let Some(line) = lines.next_line().await? {
                if let Some(address) = address(&line) {
                    return Ok(address);
                }
            }
            bail!("{command:?} ended without saying where it listens")
        });
        let address = said.await.with_context(|| format!("{command:?} did not say where it listens"))??;
        // Whatever it says later is read and forgotten: a full pipe would stop it.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok((Self { child }, address))
    }

    /// Process id, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Kills it as the kernel does when memory runs out: no goodbye.
    ///
    /// # Errors
    /// When it cannot be killed.
    pub async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Asks it to stop and gives back its exit code.
    ///
    /// # Errors
    /// When it does not stop within 20 s.
    pub async fn terminate(mut self) -> Result<Option<i32>> {
        let pid = self.child.id().context("it still runs")?;
        Command::new("kill").args(["-TERM", &pid.to_string()]).status().await?;
        let status = tokio::time::timeout(Duration::from_secs(20), self.child.wait())
            .await
            .context("it does not stop")??;
        Ok(status.code())
    }
}

/// Ends a process as the kernel does when memory runs out. One that is gone already is fine.
pub(crate) fn kill_9(pid: u32) {
    let _ =
        std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status();
}

/// Path of a release binary that `cargo xtask build` made.
///
/// # Panics
/// When it is not there.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    let this = std::env::current_exe().expect("a running test has a path");
    let target = this.ancestors().find(|folder| folder.join("release").is_dir()).expect(
        "tests run from a cargo target folder with a release build in it: run `cargo xtask build` first",
    );
    let binary = target.join("release").join(name);
    assert!(binary.exists(), "{} is missing: run `cargo xtask build` first", binary.display());
    binary
}

/// A port of the loopback address that nobody listens on just now.
///
/// # Errors
/// When there is none.
pub fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
