//! A server process: started, asked where it listens, and killed with the value that holds it.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::signal::ctrl_c;
use tokio::signal::unix::{SignalKind, signal};

/// How long something may take that comes at once on a machine with nothing else to do: what is waited for
/// comes or it never does, and how fast the machine is proves nothing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A running process, killed when dropped.
pub struct Server {
    child: Child,
}

impl Server {
    /// Starts `command` and waits for the first line on its standard output that `address` takes an
    /// answer from.
    ///
    /// # Errors
    /// When it cannot start, ends, or stays silent.
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
        let said = tokio::time::timeout(PATIENCE, async {
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

    /// Starts `command`, which listens on `port` of the loopback address but does not say so.
    ///
    /// # Errors
    /// When it cannot start, ends, or does not listen.
    pub async fn start_on(mut command: Command, port: u16) -> Result<Self> {
        let mut child =
            command.kill_on_drop(true).spawn().with_context(|| format!("cannot start {command:?}"))?;
        let listens = tokio::time::timeout(PATIENCE, async {
            while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
                if let Some(status) = child.try_wait()? {
                    bail!("{command:?} ended with {status}");
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Ok(())
        });
        listens.await.with_context(|| format!("{command:?} does not listen"))??;
        Ok(Self { child })
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
    /// When it does not stop.
    pub async fn terminate(mut self) -> Result<Option<i32>> {
        let pid = self.child.id().context("it still runs")?;
        Command::new("kill").args(["-TERM", &pid.to_string()]).status().await?;
        let status =
            tokio::time::timeout(PATIENCE, self.child.wait()).await.context("it does not stop")??;
        Ok(status.code())
    }
}

/// Ends every process that `pid` started, and those they started, as the kernel does when memory runs
/// out. Those that are gone already are fine.
pub(crate) fn kill_offspring(pid: u32) {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for thread in threads {
        let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_ascii_whitespace() {
            if let Ok(child) = child.parse() {
                kill_offspring(child);
            }
            let _ = std::process::Command::new("kill").args(["-KILL", child]).stderr(Stdio::null()).status();
        }
    }
}

/// What `job` comes to. It ends as soon as this process is told to, and its servers and browsers with it.
///
/// # Errors
/// When it fails, or was told to end.
pub async fn until_told(job: impl Future<Output = Result<()>>) -> Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        done = job => done,
        told = ctrl_c() => {
            told?;
            bail!("interrupted")
        }
        _ = terminated.recv() => bail!("told to end"),
    }
}

/// Path of a program of this project, built in the same profile as the running one.
///
/// # Panics
/// When it is not there.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    let binary = profile_folder().join(name);
    assert!(
        binary.exists(),
        "{} is missing: run `cargo xtask build`, and for tests `cargo build -p collector -p demo-site`",
        binary.display()
    );
    binary
}

/// Path of a folder of the project that `cargo xtask build` fills.
///
/// # Errors
/// When it is not there.
pub(crate) fn built(folder: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    ensure!(folder.is_dir(), "{} is missing: run `cargo xtask build` first", folder.display());
    Ok(folder)
}

/// The library of Debian's `faketime` for programs with threads.
///
/// # Errors
/// When it is not installed.
pub(crate) fn faketime() -> Result<PathBuf> {
    let libraries = std::fs::read_dir("/usr/lib")?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found = libraries.map(|folder| folder.join("faketime/libfaketimeMT.so.1"));
    found.find(|library| library.is_file()).context("the Debian package `faketime` is not installed")
}

/// A program on the path, or else in the folder where `cargo xtask test` installs what Debian has no
/// package of.
pub(crate) fn tool(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
    on_path.unwrap_or_else(|| target().join("tools/bin").join(name))
}

/// The folder with the programs of this profile. Tests are in a folder in it.
fn profile_folder() -> PathBuf {
    let this = std::env::current_exe().expect("a running program has a path");
    let mut folders = this.ancestors().skip(1).skip_while(|folder| folder.ends_with("deps"));
    folders.next().expect("a program is in a folder").to_owned()
}

/// The folder of everything that is built or installed.
pub(crate) fn target() -> PathBuf {
    profile_folder().join("..")
}

/// A port of the loopback address that nobody listens on just now, and that is given to nobody who asks for any:
/// from 32,768 on a browser's next connection may have it before the server that it is for.
///
/// # Errors
/// When there is none.
pub fn free_port() -> Result<u16> {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    // Other test runs beside this one begin elsewhere.
    let begin = std::process::id().wrapping_mul(97);
    let next = || 10_000 + (begin.wrapping_add(ASKED.fetch_add(1, Ordering::Relaxed)) % 20_000) as u16;
    let mut ports = std::iter::repeat_with(next).take(1_000);
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    ports.find(is_free).context("no port is free")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_terminated_server_ends_its_child_processes() -> Result<()> {
        let (told, was_told) = std::sync::mpsc::channel();
        let job = async move {
            let mut asleep = Command::new("sleep").arg("600").kill_on_drop(true).spawn()?;
            told.send(asleep.id().context("it runs")?)?;
            std::process::Command::new("kill").arg(std::process::id().to_string()).status()?;
            asleep.wait().await?;
            Ok(())
        };
        assert!(until_told(job).await.is_err());
        let asleep = PathBuf::from(format!("/proc/{}/comm", was_told.recv()?));
        tokio::time::timeout(PATIENCE, async {
            while asleep.exists() {
                tokio::task::yield_now().await;
            }
        })
        .await?;
        Ok(())
    }
}
