//! An nginx of its own.

use std::path::Path;

use anyhow::{Context, Result};
use tokio::process::Command;

use crate::process::{Server, free_port};

/// Starts nginx with its defaults and these `locations`. Its files lie in `folder`. One process, because a killed
/// master leaves its workers behind.
///
/// # Errors
/// When nginx does not start.
pub async fn nginx(folder: &Path, locations: &str) -> Result<(Server, String)> {
    nginx_with(folder, "", locations).await
}

/// The same with more directives of the block `http`.
///
/// # Errors
/// When nginx does not start.
pub async fn nginx_with(folder: &Path, http: &str, locations: &str) -> Result<(Server, String)> {
    let port = free_port()?;
    let file = folder.join("nginx.conf");
    let config = format!(
        "daemon off; master_process off; pid nginx.pid; error_log nginx.log; events {{}}\nhttp {{ access_log off;\n\
         client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;\n\
         scgi_temp_path scgi; absolute_redirect off;\n{http}\n\
         server {{ listen 127.0.0.1:{port};\n{locations}\n}} }}"
    );
    std::fs::write(&file, config)?;
    let mut command = Command::new("/usr/sbin/nginx");
    command.arg("-c").arg(&file).arg("-p").arg(folder).args(["-e", "nginx.log"]);
    let server = Server::start_on(command, port).await.context("`cargo xtask test` installs nginx")?;
    Ok((server, format!("http://127.0.0.1:{port}")))
}
