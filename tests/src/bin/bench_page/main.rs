//! What reading a stream costs in Chromium: our pipeline as WebAssembly, the copy into its memory
//! included, beside eventsource-parser with `JSON.parse`, over the same bytes.
//!
//! `cargo xtask bench core` builds what this serves and starts it: `bench-page WASM PARSER [--json]`.

#[path = "../../../../probe-core/benches/core/bodies.rs"]
mod bodies;

use std::path::PathBuf;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Bytes;
use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use serde_json::{Value, json};
use tests::Browser;

#[tokio::main]
async fn main() -> Result<()> {
    tests::until_told(run()).await
}

async fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let wasm = PathBuf::from(arguments.next().context("the compiled example in_page")?);
    let parser = PathBuf::from(arguments.next().context("the folder of eventsource-parser")?);
    let as_json = arguments.next().is_some_and(|argument| argument == "--json");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}/", listener.local_addr()?);
    let server =
        tokio::spawn(async move { axum::serve(listener, site(&wasm, parser)?).await.context("serving") });
    let browser = Browser::start().await?;
    browser.page.goto(&address).await?;
    let mut contests = Vec::new();
    for name in ["chat", "anthropic"] {
        contests.push(contest(name, &browser.run(include_str!("page.js"), vec![json!(name)]).await?)?);
    }
    browser.close().await?;
    server.abort();
    if as_json {
        println!("{}", Value::Array(contests));
    } else {
        contests.iter().for_each(print);
    }
    Ok(())
}

fn site(wasm: &std::path::Path, parser: PathBuf) -> Result<Router> {
    let wasm = Bytes::from(std::fs::read(wasm).with_context(|| format!("cannot read {}", wasm.display()))?);
    let script = move |Path(file): Path<String>| {
        let text = std::fs::read_to_string(parser.join(file)).unwrap_or_default();
        async { ([(CONTENT_TYPE, "text/javascript")], text) }
    };
    Ok(Router::new()
        .route("/", get(|| async { Html("<!doctype html><title>bench</title>") }))
        .route("/core.wasm", get(|| async { ([(CONTENT_TYPE, "application/wasm")], wasm) }))
        .route("/parser/{file}", get(script))
        .route("/body/{name}", get(body)))
}

async fn body(Path(name): Path<String>) -> impl IntoResponse {
    if name == "chat" { bodies::chat(10_000) } else { bodies::anthropic(10_000) }
}

fn contest(name: &str, measured: &Value) -> Result<Value> {
    let ns = |index: usize| measured["ns"][index].as_f64().context("a time");
    let row = |name: &str, ns_per_event: f64, ratio: f64| json!({ "name": name, "ns_per_event": ns_per_event, "ratio": ratio });
    let (ours, theirs) = (ns(0)?, ns(1)?);
    Ok(json!({
        "name": format!("in Chromium, {name}, one event per read"),
        "events": measured["events"],
        "contenders": [
            row("probe-core as WebAssembly", ours, 1.0),
            row("eventsource-parser, JSON.parse", theirs, theirs / ours),
        ],
    }))
}

fn print(contest: &Value) {
    println!("{}", contest["name"].as_str().unwrap_or_default());
    for row in contest["contenders"].as_array().into_iter().flatten() {
        let name = row["name"].as_str().unwrap_or_default();
        let figure = |key: &str| row[key].as_f64().unwrap_or_default();
        println!("  {name:<30} {:>8.1} ns per event {:>6.2} x", figure("ns_per_event"), figure("ratio"));
    }
}
