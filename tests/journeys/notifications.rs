//! Notifications about alerts: a real collector over restarts, and a real receiver.

use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use beacon::{Batch, Outcome, StreamReport};
use serde_json::Value;
use tests::{ClickHouse, Collector, binary, eventually, report};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::Mutex;

#[tokio::test(flavor = "multi_thread")]
async fn an_alert_sends_one_start_and_one_end_over_restarts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let receiver = Webhook::listen().await?;
    let config = write_config(folder.path(), WEBHOOK, &receiver.url)?;
    let data = folder.path().join("data");
    let start =
        async |ago: Duration| Collector::start_earlier_with(&data, ago, 1, &["--config", &config]).await;

    let collector = start(3 * HOUR).await?;
    let (status, body) = collector.post(serde_json::to_string(&failures())?).await?;
    ensure!(status == 204, "{status} {body}");
    eventually("the alert", || async {
        let alerts = collector.get("/v1/alerts").await.ok()?;
        alerts.to_string().contains("\"page\"").then_some(())
    })
    .await?;
    // The alerts are evaluated at each start, and every 30 s.
    collector.kill().await?;
    let collector = start(3 * HOUR).await?;
    receiver.has_messages(1).await?;
    collector.kill().await?;

    // The alert fires as before.
    ensure!(start(3 * HOUR).await?.terminate().await? == Some(0));
    // It is over, but perhaps not for long.
    ensure!(start(HOUR).await?.terminate().await? == Some(0));
    let collector = start(Duration::from_mins(30)).await?;
    receiver.has_messages(2).await?;
    ensure!(collector.terminate().await? == Some(0));
    let collector = start(Duration::from_mins(10)).await?;
    ensure!(collector.terminate().await? == Some(0));

    let messages = receiver.messages.lock().await.clone();
    let types: Vec<_> = messages.iter().map(|message| message["type"].clone()).collect();
    ensure!(types == ["alert.started", "alert.ended"], "{types:?}");
    let started = &messages[0]["data"];
    ensure!(started["site"] == "demo" && started["use_case"] == "chat", "{started}");
    ensure!(started["severity"] == "page" && started["cause"].is_string(), "{started}");
    let url = started["url"].as_str().context("a link")?;
    ensure!(url.starts_with("https://rum.example/?from=") && url.contains("&site=demo"), "{url}");
    Ok(())
}

/// Different collectors send the start, see the alert absent, and send the end.
#[tokio::test(flavor = "multi_thread")]
async fn exactly_one_collector_of_a_cluster_sends() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let clickhouse = ClickHouse::start(&folder.path().join("clickhouse")).await?;
    let receiver = Webhook::listen().await?;
    let config = write_config(folder.path(), WEBHOOK, &receiver.url)?;
    let store = format!("\n[store.clickhouse]\nurl = \"{}\"\npublish_seconds = 1\n", clickhouse.url);
    std::fs::write(&config, std::fs::read_to_string(&config)? + &store)?;
    let start = async |name: &str, ago: Duration| {
        Collector::start_earlier_with(&folder.path().join(name), ago, 1, &["--config", &config]).await
    };
    let both = async |ago: Duration| tokio::try_join!(start("one", ago), start("other", ago));

    let one = start("one", 3 * HOUR).await?;
    let (status, body) = one.post(serde_json::to_string(&failures())?).await?;
    ensure!(status == 204, "{status} {body}");
    eventually("the alert", || async {
        one.get("/v1/alerts").await.ok()?.to_string().contains("\"page\"").then_some(())
    })
    .await?;
    ensure!(one.terminate().await? == Some(0));

    let (one, other) = both(3 * HOUR).await?;
    receiver.has_messages(1).await?;
    ensure!(one.terminate().await? == Some(0) && other.terminate().await? == Some(0));
    let (one, other) = both(3 * HOUR).await?;
    ensure!(one.terminate().await? == Some(0) && other.terminate().await? == Some(0));

    // It is over, but perhaps not for long.
    ensure!(start("other", HOUR).await?.terminate().await? == Some(0));
    let one = start("one", Duration::from_mins(30)).await?;
    receiver.has_messages(2).await?;
    ensure!(one.terminate().await? == Some(0));
    let messages = receiver.messages.lock().await.clone();
    let types: Vec<_> = messages.iter().map(|message| message["type"].clone()).collect();
    ensure!(types == ["alert.started", "alert.ended"], "{types:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_message_reaches_the_receiver_and_the_exit_code() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let receiver = Webhook::listen().await?;
    let config = write_config(folder.path(), WEBHOOK, &receiver.url)?;
    let tested = send_test(&config).await?;
    ensure!(tested.status.success(), "{tested:?}");
    ensure!(String::from_utf8_lossy(&tested.stdout) == "notify[0] (webhook): sent\n", "{tested:?}");
    receiver.has_messages(1).await?;
    ensure!(receiver.messages.lock().await[0]["type"] == "alert.test");

    let closed = write_config(folder.path(), WEBHOOK, "http://127.0.0.1:1/SECRET")?;
    let tested = send_test(&closed).await?;
    let told =
        format!("{}{}", String::from_utf8_lossy(&tested.stdout), String::from_utf8_lossy(&tested.stderr));
    ensure!(tested.status.code() == Some(1) && told.contains("cannot reach the receiver"), "{told}");
    ensure!(!told.contains("SECRET"), "{told}");
    Ok(())
}

async fn send_test(config: &str) -> Result<Output> {
    let arguments = ["notify", "--test", "--config", config];
    Ok(Command::new(binary("llm-rum")).args(arguments).output().await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_reaches_the_server_of_its_receiver() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let config = write_config(folder.path(), MAIL, &listener.local_addr()?.to_string())?;
    let server = tokio::spawn(take_mail(listener));
    let tested = send_test(&config).await?;
    ensure!(tested.status.success(), "{tested:?}");
    let mail = server.await??;
    for line in [
        "MAIL FROM:<rum@example.org>",
        "RCPT TO:<oncall@example.org>",
        "RCPT TO:<second@example.org>",
        "From: rum@example.org",
        "Subject: ",
    ] {
        ensure!(mail.iter().any(|sent| sent.starts_with(line)), "no {line:?} in {mail:#?}");
    }
    Ok(())
}

/// A mail server that takes one mail. Returns all lines of the client.
async fn take_mail(listener: TcpListener) -> Result<Vec<String>> {
    let (stream, _) = listener.accept().await?;
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let (mut sent, mut in_text) = (Vec::new(), false);
    write.write_all(b"220 mail.example\r\n").await?;
    while let Some(line) = lines.next_line().await? {
        let answer = match line.split([' ', ':']).next().unwrap_or_default() {
            "." if in_text => {
                in_text = false;
                "250 taken"
            }
            _ if in_text => "",
            "EHLO" => "250 mail.example",
            "DATA" => {
                in_text = true;
                "354 go on"
            }
            "MAIL" | "RCPT" | "NOOP" | "RSET" => "250 fine",
            "QUIT" => "221 bye",
            _ => "500 unknown",
        };
        sent.push(line);
        if !answer.is_empty() {
            write.write_all(format!("{answer}\r\n").as_bytes()).await?;
        }
    }
    Ok(sent)
}

/// Twenty chats that failed, among a hundred.
fn failures() -> Batch {
    let of = |number: u64| match number % 5 {
        0 => StreamReport {
            outcome: Outcome::HttpError,
            status: Some(503),
            ttft_ms: None,
            ttfv_ms: None,
            e2e_ms: None,
            ..report(number)
        },
        _ => report(number),
    };
    Batch { reports: (0..100).map(of).collect() }
}

fn write_config(folder: &Path, receiver: &str, url: &str) -> Result<String> {
    let path = folder.join("llm-rum.toml");
    std::fs::write(&path, SITE.to_owned() + &receiver.replace("URL", url))?;
    Ok(path.to_str().context("a temporary path is text")?.to_owned())
}

/// A receiver that remembers the messages.
struct Webhook {
    url: String,
    messages: Arc<Mutex<Vec<Value>>>,
}

impl Webhook {
    async fn listen() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/hook", listener.local_addr()?);
        let messages = Arc::default();
        let app = Router::new().fallback(take).with_state(Arc::clone(&messages));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(Self { url, messages })
    }

    async fn has_messages(&self, count: usize) -> Result<()> {
        let has = || async { (self.messages.lock().await.len() == count).then_some(()) };
        eventually(&format!("{count} messages"), has).await
    }
}

async fn take(
    State(messages): State<Arc<Mutex<Vec<Value>>>>,
    headers: HeaderMap,
    body: String,
) -> StatusCode {
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let Ok(message) = serde_json::from_str(&body) else { return StatusCode::BAD_REQUEST };
    if !names.iter().all(|name| headers.contains_key(*name)) {
        return StatusCode::BAD_REQUEST;
    }
    messages.lock().await.push(message);
    StatusCode::OK
}

const HOUR: Duration = Duration::from_hours(1);

const SITE: &str = r#"
    public_url = "https://rum.example"

    [[sites]]
    name = "demo"
    keys = ["demo"]
    origins = ["https://demo.example"]
"#;

const WEBHOOK: &str = r#"
    [[notify]]
    kind = "webhook"
    url = "URL"
    secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
    on = ["page"]
"#;

const MAIL: &str = r#"
    [[notify]]
    kind = "email"
    url = "smtp://URL"
    from = "rum@example.org"
    to = ["oncall@example.org", "second@example.org"]
"#;
