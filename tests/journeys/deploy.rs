//! What `deploy/` holds for a cluster, read by those that it is for.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[tokio::test]
async fn kubernetes_takes_the_manifests() -> Result<()> {
    let mut command = Command::new(root().join("target/python/bin/kubernetes-validate"));
    command.args(["--kubernetes-version", "1.33", "--strict"]);
    let output = command.arg(root().join("deploy/kubernetes/llm-rum.yaml")).output().await;
    let output = output.context("cannot start kubernetes-validate: `cargo xtask test` installs it")?;
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && said.matches("passed").count() >= 7, "{said}");
    Ok(())
}

#[tokio::test]
async fn nginx_takes_the_balancer() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = std::fs::read_to_string(root().join("deploy/cluster/nginx.conf"))?;
    // It looks the collectors' names up, which are those of containers.
    let here = ["collector-1", "collector-2", "collector-3"]
        .into_iter()
        .fold(config, |config, name| config.replace(name, "127.0.0.1"));
    let file = folder.path().join("nginx.conf");
    std::fs::write(&file, here)?;
    let mut command = Command::new("/usr/sbin/nginx");
    command.arg("-t").arg("-c").arg(&file).arg("-p").arg(folder.path()).args(["-g", "pid nginx.pid;"]);
    let output = command.output().await.context("cannot start nginx: `cargo xtask test` installs it")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
