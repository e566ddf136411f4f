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
use tests::{ClickHouse, ClockFile, Collector, binary, eventually, report};
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
    let start = async |ago: Duration| Collector::start_earlier(&data, ago, &["--config", &config]).await;

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
    // A kill before the delivery is on disk would repeat the message, with the same id.
    eventually("the delivery on disk", || async {
        let states = std::fs::read_to_string(data.join("notifications.json")).ok()?;
        (states.contains("\"subject\"") && states.contains("\"queue\":[]")).then_some(())
    })
    .await?;
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
    let config = write_cluster_config(folder.path(), &receiver, &clickhouse)?;
    let start = async |name: &str, ago: Duration| {
        Collector::start_earlier(&folder.path().join(name), ago, &["--config", &config]).await
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

/// Both run on while hours pass. The sender is killed between the start of the alert and its end.
#[tokio::test(flavor = "multi_thread")]
async fn another_collector_sends_the_end_after_a_kill() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let clickhouse = ClickHouse::start(&folder.path().join("clickhouse")).await?;
    let receiver = Webhook::listen().await?;
    let config = write_cluster_config(folder.path(), &receiver, &clickhouse)?;
    let clock = ClockFile::new(folder.path(), 3 * HOUR)?;
    let start = async |name: &str| {
        Collector::start_by_clock(&folder.path().join(name), &clock, &["--config", &config]).await
    };

    let (one, other) = tokio::try_join!(start("one"), start("other"))?;
    let (status, body) = one.post(serde_json::to_string(&failures())?).await?;
    ensure!(status == 204, "{status} {body}");
    receiver.has_messages(1).await?;
    let at_the_kill = eventually("the delivery in the states", || async {
        Turn::last(&clickhouse).await.ok().filter(|turn| turn.knows_an_alert() && turn.has_nothing_to_send())
    })
    .await?;
    let is_one = eventually("the count of one collector", || async {
        let counts = tokio::try_join!(sent_by(&one), sent_by(&other)).ok()?;
        (counts.0 + counts.1 == 1).then_some(counts.0 == 1)
    })
    .await?;
    let (sender, successor, killed) = if is_one { (one, other, "one") } else { (other, one, "other") };

    sender.kill().await?;
    // It is over, but perhaps not for long.
    clock.set(HOUR)?;
    // Nothing but time ends the lease.
    tokio::time::sleep(LEASE).await;
    eventually("the takeover", || async {
        let turn = Turn::last(&clickhouse).await.ok()?;
        (turn.holder != at_the_kill.holder && turn.has_seen_an_absence()).then_some(())
    })
    .await?;
    clock.set(Duration::from_mins(30))?;
    receiver.has_messages(2).await?;
    eventually("the delivery of the end in the states", || async {
        let turn = Turn::last(&clickhouse).await.ok()?;
        (!turn.knows_an_alert() && turn.has_nothing_to_send()).then_some(())
    })
    .await?;
    eventually("the count of the successor", || async {
        (sent_by(&successor).await.ok()? == 1).then_some(())
    })
    .await?;

    // The killed one comes back, and is the sender again.
    ensure!(successor.terminate().await? == Some(0));
    ensure!(start(killed).await?.terminate().await? == Some(0));
    let messages = receiver.messages.lock().await.clone();
    let types: Vec<_> = messages.iter().map(|message| message["type"].clone()).collect();
    ensure!(types == ["alert.started", "alert.ended"], "{types:?}");
    let about =
        |message: &Value| [&message["data"]["subject"], &message["data"]["since_ms"]].map(Value::clone);
    ensure!(about(&messages[0]) == about(&messages[1]), "{messages:#?}");
    Ok(())
}

/// The last turn of the collectors that share a ClickHouse.
struct Turn {
    holder: String,
    states: String,
}

impl Turn {
    async fn last(clickhouse: &ClickHouse) -> Result<Self> {
        let query = "SELECT holder, states FROM llm_rum.llm_rum_notifier ORDER BY turn DESC LIMIT 1";
        let (holder, states) = serde_json::from_str(&clickhouse.query(query).await?)?;
        Ok(Self { holder, states })
    }

    fn knows_an_alert(&self) -> bool {
        self.states.contains("\"subject\"")
    }

    fn has_nothing_to_send(&self) -> bool {
        self.states.contains("\"queue\":[]")
    }

    fn has_seen_an_absence(&self) -> bool {
        self.knows_an_alert() && !self.states.contains("\"absent_since_ms\":null")
    }
}

/// How many messages a collector has sent, as it counts them.
async fn sent_by(collector: &Collector) -> Result<u32> {
    let metrics = collector.text("/metrics").await?;
    let name = "llm_rum_notifications_total{kind=\"webhook\",result=\"sent\"} ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    Ok(line.context("the counter")?.parse()?)
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

fn write_cluster_config(folder: &Path, receiver: &Webhook, clickhouse: &ClickHouse) -> Result<String> {
    let config = write_config(folder, WEBHOOK, &receiver.url)?;
    let store = format!("\n[store.clickhouse]\nurl = \"{}\"\npublish_seconds = 1\n", clickhouse.url);
    std::fs::write(&config, std::fs::read_to_string(&config)? + &store)?;
    Ok(config)
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

/// How long a silent collector stays the one that sends.
const LEASE: Duration = Duration::from_secs(90);

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
