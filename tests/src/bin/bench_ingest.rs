//! The collector's requests per second beside a bare axum handler that only reads the body: same
//! client, same bodies, same process layout, turn by turn in one run.
//!
//! The client speaks HTTP/1.1 over raw sockets with prepared requests, so that it takes as little as
//! possible of the two processors that it shares with the server.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use beacon::Batch;
use serde_json::json;
use tests::{Server, binary, report};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::JoinSet;

const CONNECTIONS: u64 = 32;
const ROUNDS: usize = 5;
const TURN: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("--bare") => serve_bare().await,
        argument => bench(argument == Some("--json")).await,
    }
}

/// The handler to beat: reads the body, answers 204.
async fn serve_bare() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("bare handler listening on http://{}", listener.local_addr()?);
    let app = Router::new().route("/v1/beacons", post(|_: Bytes| async { StatusCode::NO_CONTENT }));
    Ok(axum::serve(listener, app).await?)
}

/// One server under test and what it managed in each turn.
struct Contender {
    name: &'static str,
    address: String,
    _server: Server,
    per_second: Vec<f64>,
    p99_ms: Vec<f64>,
}

async fn bench(as_json: bool) -> Result<()> {
    let data = tempfile::tempdir()?;
    let mut contenders = [
        Contender::start("bare", bare()?).await?,
        Contender::start("normal", collector(data.path(), "normal")?).await?,
        Contender::start("full", collector(data.path(), "full")?).await?,
    ];
    let mut first_id = 0;
    for round in 0..=ROUNDS {
        for contender in &mut contenders {
            let (per_second, p99_ms) = turn(&contender.address, first_id).await?;
            first_id += 1 << 32;
            // The first round warms up.
            if round > 0 {
                contender.per_second.push(per_second);
                contender.p99_ms.push(p99_ms);
            }
        }
    }
    print(&mut contenders, as_json);
    Ok(())
}

fn bare() -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--bare");
    Ok(command)
}

fn collector(folder: &std::path::Path, sync: &str) -> Result<Command> {
    let config = folder.join(format!("{sync}.toml"));
    std::fs::write(&config, format!("[journal]\nsync = \"{sync}\"\n"))?;
    let mut command = Command::new(binary("llm-rum"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(config);
    command.arg("--data").arg(folder.join(sync)).stderr(Stdio::null());
    Ok(command)
}

impl Contender {
    async fn start(name: &'static str, command: Command) -> Result<Self> {
        let address = |line: &str| Some(line.split("http://").nth(1)?.trim().to_owned());
        let (server, address) = Server::start(command, address).await?;
        Ok(Self { name, address, _server: server, per_second: Vec::new(), p99_ms: Vec::new() })
    }
}

/// Every connection sends beacons one after the other for the length of a turn.
async fn turn(address: &str, first_id: u64) -> Result<(f64, f64)> {
    let start = Instant::now();
    let mut connections = JoinSet::new();
    for connection in 0..CONNECTIONS {
        connections.spawn(send(address.to_owned(), first_id + (connection << 24), start + TURN));
    }
    let mut latencies = Vec::new();
    while let Some(sent) = connections.join_next().await {
        latencies.extend(sent??);
    }
    let seconds = start.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let p99 = latencies[latencies.len() * 99 / 100];
    Ok((latencies.len() as f64 / seconds, p99.as_secs_f64() * 1000.0))
}

async fn send(address: String, first_id: u64, until: Instant) -> Result<Vec<Duration>> {
    let mut socket = TcpStream::connect(&address).await?;
    socket.set_nodelay(true)?;
    let (mut request, id_at) = prepared(&address)?;
    let mut answer = [0; 4096];
    let mut latencies = Vec::new();
    for id in first_id.. {
        let now = Instant::now();
        if now >= until {
            break;
        }
        request[id_at..id_at + 32].copy_from_slice(format!("{id:032x}").as_bytes());
        socket.write_all(&request).await?;
        let mut filled = 0;
        while !answer[..filled].ends_with(b"\r\n\r\n") {
            let read = socket.read(&mut answer[filled..]).await?;
            ensure!(read > 0, "the server closed the connection");
            filled += read;
        }
        ensure!(answer.starts_with(b"HTTP/1.1 204"), "{}", String::from_utf8_lossy(&answer[..filled]));
        latencies.push(now.elapsed());
    }
    Ok(latencies)
}

/// A request with a beacon of about 800 bytes, and where in it the stream id stands.
fn prepared(address: &str) -> Result<(Vec<u8>, usize)> {
    let body = serde_json::to_string(&Batch { reports: vec![typical()] })?;
    let head = format!(
        "POST /v1/beacons?site=demo HTTP/1.1\r\nhost: {address}\r\ncontent-type: text/plain;charset=UTF-8\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let request = format!("{head}{body}");
    let id_at = request.find(&"0".repeat(32)).context("the id is in the body")?;
    Ok((request.into_bytes(), id_at))
}

fn typical() -> beacon::StreamReport {
    let mut report = report(0);
    report.provider = Some("openai".into());
    report.response_model = Some("gpt-5-2026-08-01".into());
    report.finish_reason = Some("stop".into());
    report.input_tokens = Some(412);
    report.longest_gap_ms = Some(212.4);
    let mut gaps = beacon::Histogram::default();
    for step in 0..40 {
        gaps.record(30.0 + f64::from(step));
    }
    report.gaps = Some(gaps);
    report.page = Some(beacon::Page {
        browser: Some("chrome".into()),
        os: Some("windows".into()),
        device: Some("desktop".into()),
        visibility: Some("visible".into()),
        route: Some("/chat/:id".into()),
        ..beacon::Page::default()
    });
    report.clock_resolution_ms = Some(0.1);
    report
}

fn print(contenders: &mut [Contender], as_json: bool) {
    let middle = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let figures: Vec<_> = contenders
        .iter_mut()
        .map(|contender| (contender.name, middle(&mut contender.per_second), middle(&mut contender.p99_ms)))
        .collect();
    let bare = figures[0].1;
    if as_json {
        let servers: serde_json::Map<_, _> = figures
            .iter()
            .map(|&(name, per_second, p99_ms)| {
                (name.to_owned(), json!({"per_second": per_second, "p99_ms": p99_ms}))
            })
            .collect();
        let beacon_bytes =
            serde_json::to_string(&Batch { reports: vec![typical()] }).map_or(0, |body| body.len());
        let (normal, full) = (figures[1].1 / bare, figures[2].1 / bare);
        println!(
            "{}",
            json!({"name": "ingest", "ratio": normal, "ratio_full": full, "connections": CONNECTIONS, "beacon_bytes": beacon_bytes, "servers": servers})
        );
        return;
    }
    println!("{:<10} {:>12} {:>8} {:>8}", "server", "requests/s", "p99 ms", "ratio");
    for (name, per_second, p99_ms) in figures {
        println!("{name:<10} {per_second:>12.0} {p99_ms:>8.2} {:>8.2}", per_second / bare);
    }
}
