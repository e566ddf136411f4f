//! A Python app with a server of its own.

use std::path::Path;

use anyhow::{Context, Result};
use tokio::process::Command;

use crate::process::{Server, free_port, target};

/// Serves an app that lies in a folder of the project, with these variables in its environment.
///
/// # Errors
/// When it does not start.
pub async fn uvicorn(folder: &str, app: &str, variables: &[(&str, &str)]) -> Result<(Server, String)> {
    let port = free_port()?;
    let mut command = Command::new(target().join("python-middleware/bin/uvicorn"));
    command
        .arg(app)
        .args(["--log-level", "warning", "--port", &port.to_string()])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(variables.iter().copied());
    let server = Server::start_on(command, port).await.context("`cargo xtask test` installs uvicorn")?;
    Ok((server, format!("http://127.0.0.1:{port}")))
}
