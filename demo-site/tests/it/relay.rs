//! One demo site relays another.

use beacon::Outcome;
use sha2::{Digest, Sha256};

use crate::harness::{APIS, Demo, path_of, question, seq_of};

/// The body as the upstream sent it.
fn without_own_comments(body: &[u8]) -> String {
    let text = std::str::from_utf8(body).unwrap();
    let mut kept = String::new();
    let mut own = 0;
    for event in text.split_inclusive("\n\n") {
        let is_comment = event.starts_with(": llm-rum");
        // Of each pair of comments the second is the relay's.
        own += usize::from(is_comment);
        if !is_comment || own % 2 == 1 {
            kept.push_str(event);
        }
    }
    assert_eq!(own, 4, "two comments of each server");
    kept
}

#[tokio::test]
async fn a_relayed_stream_differs_only_in_added_comments() {
    let upstream = Demo::start().await;
    let relay = Demo::relaying(&format!("{}/llm/normal;first=60;gap=8", upstream.url)).await;
    for (api, _) in APIS {
        let read = relay.read("normal", api).await;
        assert_eq!(read.report.outcome, Outcome::Complete, "{api}: {:?}", read.report);
        let body = if api == "ollama" {
            String::from_utf8(read.body).unwrap()
        } else {
            without_own_comments(&read.body)
        };
        let digest: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
        let sent = upstream.ended(read.seq).await;
        assert_eq!(sent["sha256"], digest, "{api}");

        let passed = relay.ended(read.seq).await;
        assert_eq!((&passed["scenario"], &passed["id"]), (&"upstream".into(), &sent["id"]), "{api}");
        assert!(passed["first_token_ms"].as_f64() >= sent["first_token_ms"].as_f64(), "{api}");
    }
}

#[tokio::test]
async fn a_program_gets_the_relayed_bytes_unchanged() {
    let upstream = Demo::start().await;
    let relay = Demo::relaying(&format!("{}/llm/normal;first=60;gap=8", upstream.url)).await;
    for (seq, (api, path)) in (1..).zip(APIS) {
        let request = relay.client.post(format!("{}/llm/normal{path}", relay.url)).json(&question());
        let body = request.send().await.unwrap().bytes().await.unwrap();
        let digest: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(upstream.ended(seq).await["sha256"], digest, "{api}");
        assert_eq!(relay.ended(seq).await["sha256"], digest, "{api}");
    }
}

#[tokio::test]
async fn a_relay_tells_browsers_its_own_times() {
    let upstream = Demo::start().await;
    let relay = Demo::relaying(&format!("{}/llm/normal;first=60;gap=8", upstream.url)).await;
    for (api, _) in &APIS[..3] {
        let read = relay.read("normal", api).await;
        let server = read.report.server.expect("the server's timing");
        let sent = upstream.ended(read.seq).await["first_token_ms"].as_f64().unwrap();
        // The upstream's first token comes later by the clock of the relay.
        assert!(server.ttft_ms.unwrap() >= sent, "{api}: {server:?} and {sent}");
        assert_eq!(server.output_tokens, read.report.output_tokens, "{api}");
    }
}

#[tokio::test]
async fn a_relay_passes_on_how_a_stream_ends() {
    let upstream = Demo::start().await;
    let truths = [
        ("cut_socket", Outcome::NetworkError),
        ("cut_clean", Outcome::Truncated),
        ("provider_error", Outcome::ProviderError),
        ("http_error", Outcome::HttpError),
        ("empty", Outcome::Empty),
    ];
    for (scenario, outcome) in truths {
        let relay = Demo::relaying(&format!("{}/llm/{scenario};first=40;gap=5/v1/", upstream.url)).await;
        for (api, _) in APIS {
            assert_eq!(relay.read("normal", api).await.report.outcome, outcome, "{scenario} {api}");
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_the_relay_closes_the_upstream() {
    let upstream = Demo::start().await;
    let relay = Demo::relaying(&format!("{}/llm/normal;first=60000", upstream.url)).await;
    let response = relay.open("normal", "anthropic").await;
    let seq = seq_of(&response);
    drop(response);
    assert_eq!(relay.ended(seq).await["end"], "client_closed");
    assert_eq!(upstream.ended(1).await["end"], "client_closed");
}

#[tokio::test]
async fn an_unreachable_upstream_returns_bad_gateway() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let relay = Demo::relaying(&format!("http://{address}")).await;
    let response = relay.open("normal", "openai_chat").await;
    assert_eq!(response.status(), 502);
    assert!(response.text().await.unwrap().contains("the upstream did not answer"));
}

#[tokio::test]
async fn a_page_of_another_origin_cannot_use_a_relay() {
    let upstream = Demo::start().await;
    let relay = Demo::relaying(&format!("{}/llm/empty", upstream.url)).await;
    let url = format!("{}/llm/normal{}", relay.url, path_of("openai_chat"));
    let request = relay.client.post(url).header("origin", "http://elsewhere.example");
    let response = request.body(question().to_string()).send().await.unwrap();
    assert_eq!(response.status(), 403);
    assert!(!response.headers().contains_key("access-control-allow-origin"));
    assert_eq!(upstream.get("/demo/log").await["entries"], serde_json::json!([]));
}
