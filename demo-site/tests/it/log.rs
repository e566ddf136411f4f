//! What the server does to its sockets, and what it says of it.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{APIS, Demo, path_of, question, seq_of};

/// `;first=40;gap=5` makes a scenario brisk.
const BRISK: &str = ";first=40;gap=5";

#[tokio::test]
async fn a_reset_fails_the_read_and_a_clean_cut_ends_it() {
    let demo = Demo::start().await;
    for (api, _) in APIS {
        let cut = demo.open(&format!("cut_socket{BRISK}"), api).await;
        let seq = seq_of(&cut);
        assert!(cut.bytes().await.is_err(), "{api}");
        assert_eq!(demo.ended(seq).await["end"], "cut");

        let clean = demo.open(&format!("cut_clean{BRISK}"), api).await;
        let seq = seq_of(&clean);
        assert!(!clean.bytes().await.unwrap().is_empty(), "{api}");
        assert_eq!(demo.ended(seq).await["end"], "complete");
    }
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed_between_writes() {
    let demo = Demo::start().await;
    for (api, _) in APIS {
        let response = demo.open("normal;first=60000", api).await;
        let seq = seq_of(&response);
        drop(response);
        let entry = demo.ended(seq).await;
        assert_eq!(entry["end"], "client_closed", "{api}");
        assert!(entry["end_ms"].as_f64().unwrap() < 10_000.0, "{entry}");
        assert_eq!(entry.get("first_token_ms"), None);
    }
}

#[tokio::test]
async fn the_logged_digest_covers_the_bytes_that_the_client_read() {
    use sha2::{Digest, Sha256};
    let demo = Demo::start().await;
    for (api, _) in APIS {
        let read = demo.read(&format!("normal{BRISK}"), api).await;
        let digest: String = Sha256::digest(&read.body).iter().map(|byte| format!("{byte:02x}")).collect();
        let entry = demo.ended(read.seq).await;
        assert_eq!(entry["sha256"], digest, "{api}");
        let bytes = |write: &Value| write["bytes"].as_u64().unwrap();
        let written: u64 = entry["writes"].as_array().unwrap().iter().map(bytes).sum();
        assert_eq!(written, read.body.len() as u64);
    }
}

/// Number of the log entry, and the bytes of each read of a raw socket, headers first.
async fn raw_reads(demo: &Demo, scenario: &str, api: &str) -> (u64, Vec<Vec<u8>>) {
    let mut socket = TcpStream::connect(demo.address).await.unwrap();
    let (path, body) = (path_of(api), question().to_string());
    let length = body.len();
    let head = format!("POST /llm/{scenario}{path} HTTP/1.1\r\nhost: demo\r\nconnection: close\r\n");
    let request = format!("{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut reads = Vec::new();
    loop {
        let mut buffer = vec![0; 1 << 18];
        let count = socket.read(&mut buffer).await.unwrap();
        if count == 0 {
            break;
        }
        buffer.truncate(count);
        reads.push(buffer);
    }
    let head = String::from_utf8_lossy(&reads[0]);
    let seq = head.lines().find_map(|line| line.strip_prefix("x-demo-seq: ")).expect("a number");
    (seq.parse().unwrap(), reads)
}

#[tokio::test]
async fn a_buffered_response_arrives_in_one_read() {
    let demo = Demo::start().await;
    let check = async |(api, _): (&str, &str)| {
        let (seq, reads) = raw_reads(&demo, "buffered", api).await;
        let entry = demo.ended(seq).await;
        let writes = entry["writes"].as_array().unwrap();
        assert_eq!(writes.len(), 1);
        let all = writes[0]["bytes"].as_u64().unwrap() as usize;
        assert!(reads.iter().any(|read| read.len() >= all), "{api}");
    };
    join_all(APIS.map(check)).await;
}

#[tokio::test]
async fn each_write_is_a_chunk_of_its_own() {
    let demo = Demo::start().await;
    let (seq, reads) = raw_reads(&demo, "normal;gap=0", "openai_chat").await;
    let entry = demo.ended(seq).await;
    let whole = reads.concat();
    let mut rest = &whole[whole.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4..];
    for write in entry["writes"].as_array().unwrap() {
        let size = write["bytes"].as_u64().unwrap() as usize;
        let head = format!("{size:X}\r\n");
        assert!(rest.starts_with(head.as_bytes()));
        rest = &rest[head.len() + size + 2..];
    }
    assert_eq!(rest, b"0\r\n\r\n");
}

#[tokio::test]
async fn the_server_sends_its_own_times_in_band() {
    let demo = Demo::start().await;
    let check = async |(api, _): (&str, &str)| {
        let read = demo.read(&format!("normal{BRISK}"), api).await;
        let sent = demo.ended(read.seq).await["first_token_ms"].as_f64().unwrap();
        let server = read.report.server.expect("the server's timing");
        assert_eq!(server.source, if api == "ollama" { "ollama" } else { "comment" });
        let ttft_ms = server.ttft_ms.unwrap();
        // Made right before it is written.
        assert!((40.0..=sent).contains(&ttft_ms), "{api}: {ttft_ms} and {sent}");
        assert!(server.generation_ms.unwrap() > 29.0 * 5.0 * 0.75, "{api}");
        assert_eq!(server.output_tokens, read.report.output_tokens, "{api}");

        let held = demo.read(&format!("buffered{BRISK}"), api).await;
        let sent = demo.ended(held.seq).await["first_token_ms"].as_f64().unwrap();
        assert!(held.report.server.unwrap().ttft_ms.unwrap() + 500.0 < sent, "{api}");
    };
    join_all(APIS.map(check)).await;
}

#[tokio::test]
async fn the_first_token_and_its_comment_are_one_write() {
    let demo = Demo::start().await;
    for (api, _) in &APIS[..3] {
        let mut response = demo.open(&format!("normal{BRISK}"), api).await;
        let is_first = |chunk: &[u8]| chunk.windows(9).any(|part| part == b": llm-rum");
        let first = loop {
            let chunk = response.chunk().await.unwrap().expect("a comment");
            if is_first(&chunk) {
                break String::from_utf8(chunk.to_vec()).unwrap();
            }
        };
        assert!(first.starts_with(": llm-rum {\"ttft_ms\":"), "{first}");
        assert!(first.contains("This "), "{first}");
    }
    let recorded = demo.read("recorded", "openai_chat").await;
    assert!(!recorded.body.windows(9).any(|part| part == b": llm-rum"));
    assert_eq!(recorded.report.server.unwrap().source, "llama_cpp");
}

#[tokio::test]
async fn the_log_starts_at_the_requested_entry() {
    let demo = Demo::start().await;
    for _ in 0..3 {
        demo.read("empty", "anthropic").await;
    }
    let log = demo.get("/demo/log?after=1").await;
    let seqs: Vec<_> = log["entries"].as_array().unwrap().iter().map(|entry| entry["seq"].clone()).collect();
    assert_eq!(seqs, [2, 3]);
    let url = format!("{}/demo/log/wait?seq=9&timeout_ms=1", demo.url);
    let answer = demo.client.get(url).timeout(Duration::from_secs(10)).send().await.unwrap();
    assert_eq!(answer.status(), 408);
}
