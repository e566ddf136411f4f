//! Timings of the scripted layers, sent to a collector of a few lines.

use axum::extract::RawQuery;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::harness::Demo;

/// A demo site, and the facts that it sends: the request's query and the fact.
async fn start() -> (Demo, UnboundedReceiver<(String, Value)>) {
    let (sender, facts) = unbounded_channel();
    let take = async move |RawQuery(query): RawQuery, Json(body): Json<Value>| {
        for fact in body["facts"].as_array().unwrap() {
            sender.send((query.clone().unwrap(), fact.clone())).unwrap();
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let collector = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/server-timings", post(take));
    tokio::spawn(axum::serve(listener, router).into_future());
    (Demo::with_timings(&collector).await, facts)
}

/// The facts of one stream, from outside to inside, without the edge's. That one knows only how long the answer took.
async fn four(facts: &mut UnboundedReceiver<(String, Value)>) -> [Value; 4] {
    let mut found = Vec::new();
    for layer in ["edge", "app", "model_call", "gateway", "engine"] {
        let (query, fact) = facts.recv().await.unwrap();
        assert_eq!((&*query, &fact["layer"]), ("site=demo", &layer.into()));
        found.push(fact);
    }
    let edge = found.remove(0);
    assert_eq!((&edge["id"], &edge["ttft_ms"]), (&found[0]["id"], &Value::Null));
    assert!(ms(&edge, "duration_ms") >= ms(&found[0], "duration_ms"), "{edge}");
    found.try_into().unwrap()
}

fn ms(fact: &Value, field: &str) -> f64 {
    fact[field].as_f64().unwrap_or_else(|| panic!("no {field} in {fact}"))
}

#[tokio::test]
async fn each_layer_sends_its_part_of_the_wait() {
    let (demo, mut facts) = start().await;
    for api in ["openai_chat", "openai_responses", "anthropic"] {
        let read = demo.read("normal;first=200;queue=80;gap=2;deltas=5", api).await;
        let all = four(&mut facts).await;
        for (outer, inner) in all.iter().zip(&all[1..]) {
            assert!(ms(outer, "ttft_ms") >= ms(inner, "ttft_ms"), "{api}: {outer} {inner}");
            assert!(ms(outer, "duration_ms") >= ms(inner, "duration_ms"), "{api}: {outer} {inner}");
        }
        let entry = demo.ended(read.seq).await;
        for fact in &all {
            assert_eq!((&fact["id"], &fact["ended"]), (&entry["id"], &"complete".into()), "{api}");
        }
        let [app, _, _, engine] = all;
        assert!(ms(&app, "ttft_ms") <= ms(&entry, "first_token_ms"), "{api}: {app} {entry}");
        let parts = ms(&engine, "queue_ms") + ms(&engine, "prefill_ms");
        assert!((parts - ms(&engine, "ttft_ms")).abs() < 0.01, "{api}: {engine}");
        let server = read.report.server.unwrap();
        // A report has whole microseconds.
        let beside_ms = server.queue_ms.unwrap() - ms(&engine, "queue_ms");
        assert!(beside_ms.abs() < 0.001, "{api}: the comment says the same: {server:?} {engine}");
        assert_eq!(server.output_tokens, engine["output_tokens"].as_u64(), "{api}");
        assert_eq!(engine["tokens_after_gone"], Value::Null, "{api}");
    }
}

#[tokio::test]
async fn the_engine_says_what_it_made_for_a_client_that_left() {
    let (demo, mut facts) = start().await;
    demo.read_until("user_stops;first=20;gap=10", "openai_chat", |report| report.deltas >= 3).await;
    let [app, .., engine] = four(&mut facts).await;
    assert_eq!((&app["ended"], &engine["ended"]), (&"client_gone".into(), &"client_gone".into()));
    let after = engine["tokens_after_gone"].as_u64().unwrap();
    // Two seconds at ten milliseconds a word, a word of at least one token.
    assert!(after >= 100, "{engine}");
    assert!(engine["output_tokens"].as_u64().unwrap() > after, "{engine}");
}

#[tokio::test]
async fn a_broken_response_ends_as_an_error_for_its_layers() {
    let (demo, mut facts) = start().await;
    for scenario in ["cut_socket;gap=2", "cut_clean;gap=2", "provider_error;gap=2"] {
        demo.read(scenario, "anthropic").await;
        assert!(four(&mut facts).await.iter().all(|fact| fact["ended"] == "error"), "{scenario}");
    }
    // Responses without an id have no facts: the next ones are those of the last stream.
    demo.read("empty", "openai_chat").await;
    demo.read("http_error", "openai_chat").await;
    demo.read("normal;first=5;gap=2;deltas=4", "ollama").await;
    let read = demo.read("normal;first=5;gap=2;deltas=4", "openai_chat").await;
    assert_eq!(four(&mut facts).await[0]["id"], demo.ended(read.seq).await["id"]);
}
