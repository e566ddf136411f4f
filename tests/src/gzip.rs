//! A proxy of Node that compresses answers, as middlewares for Express do.

use anyhow::{Context, Result};
use tokio::process::Command;

use crate::process::{Server, free_port};

/// Starts one before `upstream`. Under `/held/` it passes compressed bytes on when zlib's buffer is full, which is what a
/// stream piped through zlib does. Under `/flushed/` it passes on each write of the upstream's.
///
/// # Errors
/// When Node does not start.
pub async fn gzip(upstream: &str) -> Result<(Server, String)> {
    let port = free_port()?;
    let mut command = Command::new("node");
    command.args(["-e", PROXY, upstream, &port.to_string()]);
    let server =
        Server::start_on(command, port).await.context("Node is needed to build the pages as well")?;
    Ok((server, format!("http://127.0.0.1:{port}")))
}

const PROXY: &str = "
const http = require('node:http'), zlib = require('node:zlib');
const [upstream, port] = process.argv.slice(1);
http.createServer((asked, answer) => {
    const [, way, path] = asked.url.match(/^(\\/held|\\/flushed)?(.*)/);
    const { method, headers } = asked;
    const passed = http.request(upstream + path, { method, headers }, (response) => {
        if (!way) return answer.writeHead(response.statusCode, response.headers), response.pipe(answer);
        answer.writeHead(200, { 'content-type': response.headers['content-type'], 'content-encoding': 'gzip' });
        const gzip = zlib.createGzip({ flush: way == '/held' ? zlib.constants.Z_NO_FLUSH : zlib.constants.Z_SYNC_FLUSH });
        response.pipe(gzip).pipe(answer);
    });
    asked.pipe(passed);
}).listen(Number(port), '127.0.0.1');";
