//! The page is the same with the probe and without: same bytes, same ends, same cancellation.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::{Engine, LogEntry};

use crate::{Stage, in_every_engine};

const ROUTES: [&str; 4] = ["v1/chat/completions", "v1/responses", "v1/messages", "api/chat"];
const PAGES: [&str; 2] = ["?probe=off", ""];
const WAYS_TO_READ: [&str; 6] = ["reader", "iterate", "pipe", "text", "clone", "tee"];
const WAYS_TO_STOP: [&str; 4] = ["cancel", "break", "abort", "body_cancel"];

/// Of what has come before a connection is cut Chromium drops what the page has yet to read, and an error before
/// the body is read has another text: a page has most of a second for both.
const CUT_SOCKET: &str = "cut_socket;deltas=4;gap=1000";

/// WebKit's bodies cannot be iterated: there an app that tries gets a `TypeError`, with the probe as without.
fn can(engine: Engine, way: &str) -> bool {
    engine != Engine::WebKit || !matches!(way, "iterate" | "break")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_gets_the_servers_bytes_however_it_reads() -> Result<()> {
    in_every_engine(gets_the_servers_bytes).await
}

async fn gets_the_servers_bytes(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    for page in PAGES {
        stage.open(page).await?;
        for (route, way) in ROUTES.iter().cycle().zip(WAYS_TO_READ.iter().cycle()).take(12) {
            let (answer, entry) = read(&stage, "normal;first=100;gap=15", route, way).await?;
            let as_it_should = if can(engine, way) {
                answer["error"].is_null() && answer["digest"].as_str() == entry.sha256.as_deref()
            } else {
                answer["error"].as_str().is_some_and(|error| error.starts_with("TypeError"))
            };
            ensure!(as_it_should, "{page} {route} {way}: {answer} for {entry:?}");
        }
    }
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_stream_breaks_the_same_way() -> Result<()> {
    in_every_engine(breaks_the_same_way).await
}

async fn breaks_the_same_way(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    for scenario in [CUT_SOCKET, "cut_clean", "provider_error", "malformed", "http_error", "empty"] {
        for way in ["reader", "text"] {
            let mut seen = Vec::new();
            for page in PAGES {
                stage.open(page).await?;
                let (answer, entry) = read(&stage, scenario, ROUTES[0], way).await?;
                let same_bytes = answer["digest"].as_str() == entry.sha256.as_deref();
                // The scenario answers with one of several error statuses.
                let refused = answer["status"].as_u64().is_some_and(|status| status >= 400);
                seen.push(json!([refused, answer["error"], same_bytes]));
            }
            ensure!(
                seen[0] == seen[1],
                "{scenario} read by {way}: {} without the probe, {} with it",
                seen[0],
                seen[1]
            );
        }
    }
    stage.browser.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_closes_the_servers_socket() -> Result<()> {
    in_every_engine(closes_the_servers_socket).await
}

async fn closes_the_servers_socket(engine: Engine) -> Result<()> {
    let stage = Stage::set_in(engine).await?;
    for page in PAGES {
        stage.open(page).await?;
        let ways = WAYS_TO_STOP.into_iter().filter(|way| can(engine, way));
        for (route, way) in ROUTES.iter().cycle().zip(ways) {
            let before = stage.demo.latest().await?;
            let url = format!("/llm/user_stops/{route}");
            let webkit = engine == Engine::WebKit;
            let stopped = stage.browser.run(STOP, vec![url.into(), way.into(), webkit.into()]).await?;
            let entry = stage.demo.ended(before).await.with_context(|| format!("{page} {route} {way}"))?;
            ensure!(entry.end.as_deref() == Some("client_closed"), "{page} {route} {way}: {entry:?}");
            // The server learns it at its next write, some 20 ms later; an answer to the end takes a minute.
            let late = entry.end_ms.context("it ended")? - stopped.as_f64().context("a time")?;
            ensure!(late < 20_000.0, "{page} {route} {way}: the server went on for {late} ms");
        }
    }
    stage.browser.close().await
}

async fn read(stage: &Stage, scenario: &str, route: &str, way: &str) -> Result<(Value, LogEntry)> {
    let before = stage.demo.latest().await?;
    let answer = stage.browser.run(READ, vec![format!("/llm/{scenario}/{route}").into(), way.into()]).await?;
    Ok((answer, stage.demo.ended(before).await?))
}

/// Reads a stream to its end in one of the ways; gives back a digest of the bytes, or the error.
const READ: &str = "
    const [url, way] = args;
    const body = JSON.stringify({ model: 'demo', stream: true, max_tokens: 64, messages: [{ role: 'user', content: 'hi' }], input: 'hi' });
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const parts = [];
    const drain = async stream => { const reader = stream.getReader(); for (;;) { const { done, value } = await reader.read(); if (done) return; parts.push(value); } };
    const ways = {
        reader: () => drain(response.body),
        iterate: async () => { for await (const chunk of response.body) parts.push(chunk); },
        pipe: async () => { await drain(response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new TextEncoderStream())); },
        text: async () => { parts.push(new TextEncoder().encode(await response.text())); },
        clone: async () => { const copy = response.clone(); await Promise.all([response.arrayBuffer(), drain(copy.body)]); },
        tee: async () => { const [one, two] = response.body.tee(); await Promise.all([drain(one), new Response(two).text()]); },
    };
    let error = null;
    try { await ways[way](); } catch (e) { error = `${e.name}: ${e.message}`; }
    if (error) await response.body?.cancel().catch(() => {});
    const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
    const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    return { status: response.status, error, digest: [...hash].map(b => b.toString(16).padStart(2, '0')).join('') };";

/// Reads two chunks, stops in one of the ways, and gives back how long after the request that was.
const STOP: &str = "
    const [url, way, webkit] = args;
    const start = performance.now();
    const controller = new AbortController();
    const body = JSON.stringify({ model: 'demo', stream: true, max_tokens: 64, messages: [{ role: 'user', content: 'hi' }], input: 'hi' });
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal: controller.signal });
    if (way === 'break') {
        let chunks = 0;
        for await (const chunk of response.body) if (++chunks === 2) break;
    } else {
        const reader = response.body.getReader();
        await reader.read();
        await reader.read();
        if (way === 'cancel') await reader.cancel();
        if (way === 'body_cancel') { reader.releaseLock(); await response.body.cancel(); }
        if (way === 'abort') {
            const reason = new Error('the user pressed stop');
            controller.abort(reason);
            const thrown = await reader.read().then(() => null, e => e);
            // WebKit loses the reason by itself.
            const kept = webkit ? thrown?.name === 'AbortError' : thrown === reason;
            if (!kept) throw new Error(`the reason of the abort became ${thrown}`);
        }
    }
    return performance.now() - start;";
