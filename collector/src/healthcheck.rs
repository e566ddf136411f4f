//! Asks a running collector's `/readyz`: an address comes in, goes out well or not. Without an HTTP
//! client: one request, one status line.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// Fails when the collector is not ready within `patience`, or not there.
pub(crate) fn check_within(url: &str, patience: Duration) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        match check(url) {
            Err(_) if begun.elapsed() < patience => thread::sleep(BETWEEN),
            checked => return checked,
        }
    }
}

fn check(url: &str) -> anyhow::Result<()> {
    let authority = url.strip_prefix("http://").context("the address has to begin with http://")?;
    let authority = authority.trim_end_matches('/');
    if authority.contains('/') {
        bail!("the address ends after the machine's name and port: /readyz is asked for");
    }
    let with_port = if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
    let address = with_port.to_socket_addrs()?.next().context("the address names no machine")?;
    let connected = TcpStream::connect_timeout(&address, PATIENCE);
    let mut stream = connected.with_context(|| format!("nobody answers at {url}"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(LONGEST_ANSWER).read_to_string(&mut answer)?;
    let status = answer.lines().next().unwrap_or_default();
    if !status.starts_with("HTTP/1.1 200") {
        bail!("not ready: {status}");
    }
    Ok(())
}

const BETWEEN: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(3);
const LONGEST_ANSWER: u64 = 16 * 1024;
