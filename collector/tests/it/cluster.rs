//! What a collector in a cluster asks of ClickHouse.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Barrier};
use std::thread;

use collector::ClickHouse;

use crate::harness::{PATIENCE, TestCollector};

/// A ClickHouse without rows that answers no question before so many have come.
fn clickhouse(at_once: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let all_asked = Arc::new(Barrier::new(at_once));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, all_asked) = (BufReader::new(stream.unwrap()), all_asked.clone());
            thread::spawn(move || answer(stream, &all_asked));
        }
    });
    url
}

fn answer(mut stream: BufReader<TcpStream>, all_asked: &Barrier) -> Option<()> {
    loop {
        let statement = statement(&mut stream)?;
        // The thread that publishes makes tables, and looks at them.
        if statement.starts_with("SELECT") && !statement.contains("system.tables") {
            all_asked.wait();
        }
        stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()?;
    }
}

/// The body of the next request. `None` at the end of the connection.
fn statement(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(String::from_utf8(body).unwrap())
}

#[tokio::test]
async fn what_a_question_needs_is_asked_at_once() {
    for (path, at_once) in [
        ("/v1/live", 4),
        ("/v1/summary", 4),
        ("/v1/slo", 8),
        ("/v1/timeseries?against=previous", 3),
        ("/v1/histogram?against=previous", 3),
        ("/v1/breakdown?against=previous", 3),
        ("/v1/heatmap", 2),
        ("/v1/integrity", 2),
    ] {
        let collector = TestCollector::with(|config| {
            config.store.clickhouse = Some(ClickHouse {
                url: clickhouse(at_once),
                database: "llm_rum".into(),
                user: "default".into(),
                password: None,
                publish_seconds: 1,
                timeout_seconds: PATIENCE.as_secs() as u32,
            });
        });
        collector.json(path).await;
    }
}
