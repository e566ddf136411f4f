//! The scripted server: hands out the pages of the suite, and does for each request to `/play` what the
//! request says, byte by byte. It speaks HTTP/1.1 by itself, one request per connection, since what is
//! tested is when a socket closes and how much it takes.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::log::{End, Log};
use super::request::{Request, read_request};
use super::script::{Script, Step};
use super::socket::speak;
use crate::process::built;

/// The server on two ports, so that pages have another origin to ask. Ends with this value.
pub struct Server {
    /// `http://127.0.0.1:PORT`
    pub url: String,
    listening: [JoinHandle<()>; 2],
}

impl Server {
    /// Starts it over the suite's folder and the built probe's.
    ///
    /// # Errors
    /// When no port is free, or the probe has not been built.
    pub async fn start() -> Result<Self> {
        let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance");
        let probe = built("probe-wasm/dist")?;
        let main = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", main.local_addr()?);
        let other_url = format!("http://{}", other.local_addr()?);
        let site = Arc::new(Site { suite, probe, other_url, log: Log::default() });
        let listening = [main, other].map(|listener| tokio::spawn(listen(listener, Arc::clone(&site))));
        Ok(Self { url, listening })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listening.iter().for_each(JoinHandle::abort);
    }
}

struct Site {
    suite: PathBuf,
    probe: PathBuf,
    other_url: String,
    log: Log,
}

async fn listen(listener: TcpListener, site: Arc<Site>) {
    while let Ok((socket, _)) = listener.accept().await {
        let site = Arc::clone(&site);
        tokio::spawn(async move {
            // Whatever fails, the socket is closed, which is what the page sees of it.
            let _ = answer(socket, &site).await;
        });
    }
}

async fn answer(mut socket: TcpStream, site: &Site) -> Result<()> {
    socket.set_nodelay(true)?;
    let Some(request) = read_request(&mut socket).await? else { return Ok(()) };
    let path = request.url.path().to_owned();
    let (area, id) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    match area {
        "play" => play(socket, site, id, &request).await,
        "go" => {
            site.log.open_gate(id);
            send(&mut socket, "text/plain", b"").await
        }
        "log" => {
            let entry = match request.url.query() {
                Some("end") => site.log.wait(id, |entry| entry.end.is_some()).await,
                _ => site.log.wait(id, |_| true).await,
            };
            send(&mut socket, "application/json", &serde_json::to_vec(&entry)?).await
        }
        "socket" => speak(socket, &request).await,
        // Reports of whatever is being tested: taken, and forgotten.
        "v1" | "api" | "intake" | "datadog" => Ok(socket.write_all(ACCEPTED).await?),
        _ => hand_out(&mut socket, site, &path).await,
    }
}

async fn play(mut socket: TcpStream, site: &Site, id: &str, request: &Request) -> Result<()> {
    let script = match Script::parse(&request.url) {
        Ok(script) => script,
        Err(error) => return send(&mut socket, "text/plain", format!("{error:#}").as_bytes()).await,
    };
    site.log.update(id, |entry| {
        entry.requests += 1;
        entry.method.clone_from(&request.method);
        entry.headers.clone_from(&request.headers);
        entry.body = request.body.iter().map(|&byte| char::from(byte)).collect();
    });
    let mut play = Play { socket, site, id, chunked: script.length.is_none(), gates: 0, head: None };
    play.head = Some(head(&script));
    let bodiless = !script.has_body() || request.method == "HEAD";
    let end = play.run(if bodiless { &[Step::Head] } else { &script.steps }, bodiless).await;
    site.log.update(id, |entry| entry.end = Some(end));
    Ok(())
}

fn head(script: &Script) -> Vec<u8> {
    let mut head =
        format!("HTTP/1.1 {} Scripted\r\nconnection: close\r\ncache-control: no-store\r\n", script.status);
    for (name, value) in &script.headers {
        head += &format!("{name}: {value}\r\n");
    }
    if script.has_body() {
        match script.length {
            Some(length) => head += &format!("content-length: {length}\r\n"),
            None => head += "transfer-encoding: chunked\r\n",
        }
    }
    head += "\r\n";
    head.into_bytes()
}

/// One answer under way.
struct Play<'a> {
    socket: TcpStream,
    site: &'a Site,
    id: &'a str,
    chunked: bool,
    gates: u32,
    /// Not sent yet.
    head: Option<Vec<u8>>,
}

impl Play<'_> {
    async fn run(&mut self, steps: &[Step], bodiless: bool) -> End {
        for step in steps {
            match step {
                Step::Cut => return End::Played,
                Step::Reset => {
                    let _ = self.socket.set_zero_linger();
                    return End::Played;
                }
                _ if self.take(step).await => {}
                _ => return End::ClientClosed,
            }
        }
        let last: &[u8] = if self.chunked && !bodiless { b"0\r\n\r\n" } else { b"" };
        let written = self.write(last).await && self.socket.shutdown().await.is_ok();
        if written { End::Played } else { End::ClientClosed }
    }

    /// Whether the client is still there.
    async fn take(&mut self, step: &Step) -> bool {
        match step {
            Step::Send(bytes) => self.push(bytes).await,
            Step::Gate => {
                self.gates += 1;
                let number = self.gates;
                let mut nothing = [0];
                tokio::select! {
                    () = self.site.log.gate(self.id, number) => true,
                    _ = self.socket.read(&mut nothing) => false,
                }
            }
            Step::Hold => {
                // Clients send nothing more on this connection: what comes is its end.
                let _ = self.socket.read(&mut [0]).await;
                false
            }
            Step::Drip => self.drip().await,
            Step::Flood => self.flood().await,
            Step::Head | Step::Cut | Step::Reset => self.write(b"").await,
        }
    }

    async fn push(&mut self, bytes: &[u8]) -> bool {
        let framed = if self.chunked {
            [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
        } else {
            bytes.to_vec()
        };
        let written = self.write(&framed).await;
        if written {
            self.site.log.update(self.id, |entry| entry.pushed += bytes.len() as u64);
        }
        written
    }

    async fn write(&mut self, bytes: &[u8]) -> bool {
        let head = self.head.take().unwrap_or_default();
        self.socket.write_all(&[&head, bytes].concat()).await.is_ok()
    }

    async fn drip(&mut self) -> bool {
        let mut nothing = [0];
        while self.push(b"data: {}\n\n").await {
            // The end of the wait is the time for the next event; a byte or an end is the client gone.
            if tokio::time::timeout(DRIP, self.socket.read(&mut nothing)).await.is_ok() {
                break;
            }
        }
        false
    }

    async fn flood(&mut self) -> bool {
        let block = vec![b'.'; FLOOD_BLOCK];
        for _ in 0..FLOOD_LIMIT / FLOOD_BLOCK {
            if !self.push(&block).await {
                return false;
            }
        }
        self.site.log.update(self.id, |entry| entry.unbounded = true);
        self.socket.read(&mut [0]).await.is_ok_and(|read| read > 0)
    }
}

/// A file of the suite, of the bundles made from it, or of the probe.
async fn hand_out(socket: &mut TcpStream, site: &Site, path: &str) -> Result<()> {
    let path = path.trim_start_matches('/');
    ensure!(!path.contains(".."), "{path} leads elsewhere");
    let file = match path.split_once('/') {
        Some(("probe", name)) => site.probe.join(name),
        // What others publish has been bundled first.
        Some(("sdks", name)) if site.suite.join("dist").join(name).is_file() => {
            site.suite.join("dist").join(name)
        }
        // The frame under the service worker's scope is the same page.
        Some(("worker", name)) => site.suite.join(name),
        _ if path.is_empty() => site.suite.join("index.html"),
        _ => site.suite.join(path),
    };
    if path == "other-origin.js" {
        let text = format!("export default {:?};", site.other_url);
        return send(socket, "text/javascript", text.as_bytes()).await;
    }
    let Ok(bytes) = tokio::fs::read(&file).await else {
        return Ok(socket.write_all(NOT_FOUND).await?);
    };
    send(socket, media_type(&file), &bytes).await
}

async fn send(socket: &mut TcpStream, media_type: &str, bytes: &[u8]) -> Result<()> {
    // Files are asked for by every frame again; scripted answers never come this way.
    let caching = if media_type == "text/javascript" { "max-age=600" } else { "no-store" };
    let head = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: {media_type}\r\ncache-control: {caching}\r\n\
         content-length: {}\r\n\r\n",
        bytes.len()
    );
    socket.write_all(&[head.as_bytes(), bytes].concat()).await?;
    Ok(socket.shutdown().await?)
}

fn media_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("js" | "mjs") => "text/javascript",
        Some("wasm") => "application/wasm",
        _ => "text/html; charset=utf-8",
    }
}

const DRIP: Duration = Duration::from_millis(20);
const FLOOD_BLOCK: usize = 64 << 10;
/// Whoever takes this much without reading takes everything; Chromium holds about 62 MB of its own.
const FLOOD_LIMIT: usize = 96 << 20;

const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const ACCEPTED: &[u8] = b"HTTP/1.1 204 No Content\r\nconnection: close\r\naccess-control-allow-origin: *\r\n\
    access-control-allow-headers: *\r\n\r\n";
