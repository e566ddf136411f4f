//! Reads one HTTP/1.1 request from a socket.

use anyhow::{Context, Result, ensure};
use reqwest::Url;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// A request as far as it matters here.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) url: Url,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// By its name in small letters.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

pub(super) async fn read_request(socket: &mut TcpStream) -> Result<Option<Request>> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        ensure!(bytes.len() < MAX_HEAD, "the head is too long");
        if socket.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let body = bytes.split_off(head + 4);
    let head = String::from_utf8_lossy(&bytes);
    let mut lines = head.lines();
    let mut words = lines.next().context("a request line")?.split(' ');
    let method = words.next().context("a method")?.to_owned();
    let url = Url::parse("http://localhost/")?.join(words.next().context("a path")?)?;
    let mut headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    headers.sort();
    let mut request = Request { method, url, headers, body };
    let length = request.header("content-length").map_or(Ok(0), str::parse::<usize>)?;
    ensure!(length <= MAX_BODY, "the body is too long");
    while request.body.len() < length {
        ensure!(socket.read_buf(&mut request.body).await? > 0, "the body is cut");
    }
    Ok(Some(request))
}

const MAX_HEAD: usize = 64 << 10;
const MAX_BODY: usize = 16 << 20;
