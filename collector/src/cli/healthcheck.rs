//! `llm-rum healthcheck`: requests `/readyz` of a running collector. One request and one status line need no
//! HTTP client.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

/// Why a health check failed.
#[derive(Debug, thiserror::Error)]
pub enum HealthcheckError {
    /// The URL has another form.
    #[error("`{0}` is not a valid URL: write `http://HOST:PORT`")]
    BadUrl(String),
    /// No collector responded.
    #[error("no answer from {url}")]
    NoAnswer {
        /// The URL.
        url: String,
        /// The system's error.
        source: io::Error,
    },
    /// The status is not 200.
    #[error("not ready: {0}")]
    NotReady(String),
}

/// Succeeds once the collector at `url` is ready.
///
/// # Errors
/// If it is not ready within `timeout`. A timeout of zero means a single request.
pub fn healthcheck(url: &str, timeout: Duration) -> Result<(), HealthcheckError> {
    let begun = Instant::now();
    loop {
        match check(url) {
            Err(_) if begun.elapsed() < timeout => thread::sleep(RETRY_EVERY),
            checked => return checked,
        }
    }
}

fn check(url: &str) -> Result<(), HealthcheckError> {
    let authority = url.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
    let authority = authority.filter(|authority| !authority.contains('/'));
    let authority = authority.ok_or_else(|| HealthcheckError::BadUrl(url.to_owned()))?;
    let status =
        ask(authority).map_err(|source| HealthcheckError::NoAnswer { url: url.to_owned(), source })?;
    if status.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(HealthcheckError::NotReady(status)) }
}

/// The status line of `/readyz`.
fn ask(authority: &str) -> io::Result<String> {
    let with_port = if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
    let address = with_port.to_socket_addrs()?.next();
    let address = address.ok_or_else(|| io::Error::other("the host name has no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(MAX_ANSWER_BYTES).read_to_string(&mut answer)?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

const RETRY_EVERY: Duration = Duration::from_millis(100);
const TIMEOUT: Duration = Duration::from_secs(3);
const MAX_ANSWER_BYTES: u64 = 16 * 1024;
