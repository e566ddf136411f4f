//! The printed dashboard against the types of Grafana's own package.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn the_printed_dashboard_has_grafanas_types() -> Result<()> {
    let data = tempfile::tempdir()?;
    let config = data.path().join("llm-rum.toml");
    std::fs::write(&config, "reading_speeds = [5, 7]\n[targets.triage]\ntpot_ms = 30\nintegrity = 0.99\n")?;
    let printed = Command::new(tests::binary("llm-rum")).args(["grafana", "--config"]).arg(&config).output();
    let printed = printed.await?;
    ensure!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("grafana");
    ensure!(folder.join("node_modules").is_dir(), "run `npm ci` in {}", folder.display());
    let mut check = Command::new("node")
        .arg("check.mjs")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start node")?;
    check.stdin.take().context("stdin is piped")?.write_all(&printed.stdout).await?;
    let checked = check.wait_with_output().await?;
    ensure!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    Ok(())
}
