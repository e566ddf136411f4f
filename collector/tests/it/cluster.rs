//! What a collector in a cluster asks of ClickHouse.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Instant;

use axum::body::Body;
use axum::http::Request;
use beacon::StreamReport;
use collector::{ClickHouse, Config};
use serde_json::json;

use crate::harness::{TIMEOUT, TestCollector, stream, token};

/// A ClickHouse without rows that answers no question before so many have come.
fn clickhouse(at_once: usize) -> String {
    let all_asked = Barrier::new(at_once);
    serve(move |statement| {
        // The thread that publishes makes tables, and looks at them.
        if statement.starts_with("SELECT") && !statement.contains("system.tables") {
            all_asked.wait();
        }
    })
}

/// A ClickHouse without rows that answers nothing before the other end of this is dropped.
fn silent(ended: Receiver<()>) -> String {
    let ended = Mutex::new(ended);
    serve(move |_| _ = ended.lock().unwrap().recv())
}

fn serve(hear: impl Fn(&str) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let hear = Arc::new(hear);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, hear) = (BufReader::new(stream.unwrap()), hear.clone());
            thread::spawn(move || answer(stream, &*hear));
        }
    });
    url
}

fn answer(mut stream: BufReader<TcpStream>, hear: impl Fn(&str)) -> Option<()> {
    loop {
        hear(&statement(&mut stream)?);
        stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()?;
    }
}

/// A ClickHouse where another collector has a later revision of stream 1, and that fails once: when it is first
/// asked for such revisions after this collector sent its own.
struct Failing {
    sent: bool,
    failed: bool,
    events: Sender<PeerEvent>,
}

#[derive(Debug, PartialEq)]
enum PeerEvent {
    Asked,
    GaveWay,
}

impl Failing {
    fn start(events: Sender<PeerEvent>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let failing = Arc::new(Mutex::new(Self { sent: false, failed: false, events }));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, failing) = (BufReader::new(stream.unwrap()), failing.clone());
                thread::spawn(move || -> Option<()> {
                    loop {
                        let statement = statement(&mut stream)?;
                        let (status, body) = failing.lock().unwrap().answer(&statement);
                        let head =
                            format!("HTTP/1.1 {status} Said\r\ncontent-length: {}\r\n\r\n", body.len());
                        stream.get_mut().write_all((head + &body).as_bytes()).ok()?;
                    }
                });
            }
        });
        url
    }

    fn answer(&mut self, statement: &str) -> (u16, String) {
        let id = format!("{:032x}", 1);
        if statement.contains("system.tables") {
            return (200, r#"["llm-rum layout 1","country"]"#.to_owned());
        }
        if statement.starts_with('[') {
            self.sent |= statement.contains(&format!(r#",0,"{id}",0,"#));
            if statement.contains(r#"["moved","","revised""#) {
                // Nobody listens any more when it says so a second time.
                let _ended = self.events.send(PeerEvent::GaveWay);
            }
        }
        if !statement.starts_with("SELECT collector, place, id, site, rev") {
            return (200, String::new());
        }
        if self.sent && !self.failed {
            self.failed = true;
            return (500, "no".to_owned());
        }
        let _ended = self.events.send(PeerEvent::Asked);
        let is_new = !statement.contains("collector = 'other' AND place <= 0");
        let is_of_those_sent = self.sent && statement.contains("place >= 0))");
        let row = format!(r#"["other",0,"{id}","demo",5]"#);
        (200, if is_new || is_of_those_sent { row } else { String::new() })
    }
}

/// The body of the next request, with the values of its parameters in their places. `None` at the end of the
/// connection.
fn statement(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let (mut first_line, mut line, mut length) = (String::new(), String::new(), 0);
    stream.read_line(&mut first_line).ok()?;
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let params =
        first_line.split(['?', '&', ' ']).filter_map(|pair| pair.strip_prefix("param_")?.split_once('='));
    let filled = params.fold(String::from_utf8(body).unwrap(), |statement, (name, value)| {
        statement.replace(&format!("{{{name}:String}}"), &format!("'{value}'"))
    });
    Some(filled)
}

#[tokio::test]
async fn clickhouse_queries_of_one_request_run_in_parallel() {
    for (path, at_once) in [
        ("/v1/live", 4),
        ("/v1/summary", 4),
        ("/v1/slo", 8),
        ("/v1/timeseries?compare_to=previous", 4),
        ("/v1/histogram?compare_to=previous", 3),
        ("/v1/breakdown?compare_to=previous", 3),
        ("/v1/heatmap", 2),
        ("/v1/phases?by=country", 2),
        ("/v1/integrity", 2),
    ] {
        let collector = in_cluster(clickhouse(at_once));
        collector.json(path).await;
    }
}

#[tokio::test]
async fn queries_of_a_limited_token_select_its_sites() {
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let url = serve(move |statement| {
        let _ended = tell.lock().unwrap().send(statement.to_owned());
    });
    let collector = in_cluster_with(url, |config| {
        let mut limited = token("team", "limited-0123456789");
        limited.sites = vec!["demo".to_owned()].into();
        config.tokens = vec![limited];
    });
    for path in [
        "/v1/streams".to_owned(),
        "/v1/streams?sample=failed".to_owned(),
        format!("/v1/streams/{:032x}", 1),
        "/v1/live".to_owned(),
        "/v1/summary?range=7d".to_owned(),
    ] {
        let request = Request::get(path).header("authorization", "Bearer limited-0123456789");
        collector.send(request.body(Body::empty()).unwrap()).await;
    }
    let is_of_streams = |statement: &String| {
        statement.starts_with("SELECT") && statement.contains("report") || statement.contains("latest")
    };
    let asked: Vec<_> = told.try_iter().filter(is_of_streams).collect();
    assert!(asked.len() >= 6, "{asked:#?}");
    for statement in asked {
        assert!(statement.contains(" IN ('demo')"), "{statement}");
        // Another site may have a stream of the same id, and a later revision of it.
        let is_latest = statement.contains("argMax(");
        assert!(!is_latest || statement.contains(" GROUP BY site, id)"), "{statement}");
    }
}

fn in_cluster(url: String) -> TestCollector {
    in_cluster_with(url, |_| {})
}

fn in_cluster_with(url: String, change: impl FnOnce(&mut Config)) -> TestCollector {
    TestCollector::with(|config| {
        change(config);
        config.store.clickhouse = Some(ClickHouse {
            url,
            database: "llm_rum".into(),
            user: "default".into(),
            password: None,
            publish_seconds: 1,
            timeout_seconds: TIMEOUT.as_secs() as u32,
        });
    })
}

#[tokio::test]
async fn metrics_do_not_wait_for_queries_that_wait_for_clickhouse() {
    let (silence, ended) = mpsc::channel();
    let collector = in_cluster(silent(ended));
    let (ask, asked) = (|| collector.get("/v1/summary"), Instant::now());
    let metrics = tokio::select! {
        biased;
        answers = async { tokio::join!(ask(), ask(), ask(), ask(), ask()) } => panic!("{answers:?}"),
        metrics = collector.get("/metrics") => metrics,
    };
    assert!(metrics.body.contains("llm_rum_replication_lag_seconds"), "{metrics:?}");
    assert!(asked.elapsed() < TIMEOUT / 2, "{:?}", asked.elapsed());
    drop(silence);
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_silent_clickhouse() {
    let (silence, ended) = mpsc::channel();
    let mut collector = in_cluster(silent(ended));
    collector.report(&[stream(1, 100.0)]).await;
    let events = Instant::now();
    collector.close();
    assert!(events.elapsed() < TIMEOUT / 2, "{:?}", events.elapsed());
    drop(silence);
}

#[tokio::test]
async fn an_earlier_report_at_a_peer_wins_also_after_a_failed_query() {
    give_way(&stream(1, 100.0)).await;
}

#[tokio::test]
async fn a_stream_yielded_to_a_peer_stays_closed_without_the_cluster() {
    for open in [true, false] {
        let mut collector = give_way(&StreamReport { open, ..stream(1, 100.0) }).await;
        collector.config.store.clickhouse = None;
        collector.restart();
        let books = collector.json("/v1/accounting").await;
        assert_eq!(books["streams"], json!({ "new": 0, "counted": 0, "open": 0, "apart": {} }), "{open}");
        let by_result = json!({ "new": 0, "revised": 1 });
        assert_eq!(
            (&books["reports"]["by_result"], &books["reports"]["unaccounted"]),
            (&by_result, &json!(0))
        );
    }
}

/// A collector whose only stream is another's.
async fn give_way(report: &StreamReport) -> TestCollector {
    let (tell, events) = mpsc::channel();
    let collector = in_cluster(Failing::start(tell));
    assert_eq!(
        events.recv_timeout(TIMEOUT),
        Ok(PeerEvent::Asked),
        "what the other has is heard, and unknown here"
    );
    collector.report(std::slice::from_ref(report)).await;
    let reported = Instant::now();
    while events.recv_timeout(TIMEOUT) != Ok(PeerEvent::GaveWay) {
        assert!(reported.elapsed() < TIMEOUT, "it never gave way");
    }
    collector
}
