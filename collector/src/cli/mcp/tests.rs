//! The protocol over a pair of pipes, and the texts of hostile answers. The official client asks a real collector in
//! `tests/mcp`.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, split};

use super::answer::{Answer, MAX_BYTES, quoted};
use super::collector_client::CollectorClient;
use super::server::McpServer;
use super::tool::TOOLS;
use super::{MAX_LINE_BYTES, serve};
use crate::config::secret::Secret;

/// Lines after the handshake, then the answer to each request with one of `ids`.
async fn answers(lines: &[String], ids: &[u64]) -> Vec<Value> {
    let (ours, theirs) = tokio::io::duplex(4 * MAX_LINE_BYTES);
    let (input, output) = split(theirs);
    // Nothing listens on the discard port: no test here needs the collector.
    let client = CollectorClient::new("http://127.0.0.1:9", None).unwrap();
    let serving = tokio::spawn(serve(McpServer::new(client), input, output));
    let (read, mut write) = split(ours);
    let mut read = BufReader::new(read).lines();
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        },
    });
    write.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
    let hello: Value = serde_json::from_str(&read.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    write.write_all(format!("{initialized}\n").as_bytes()).await.unwrap();
    for line in lines {
        write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
    let mut found = vec![Value::Null; ids.len()];
    while found.contains(&Value::Null) {
        let line = read.next_line().await.unwrap().expect("the server goes on");
        let answer: Value = serde_json::from_str(&line).unwrap();
        if let Some(at) = ids.iter().position(|id| answer["id"] == *id) {
            found[at] = answer;
        }
    }
    write.shutdown().await.unwrap();
    drop((write, read));
    serving.await.unwrap().unwrap();
    found
}

fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

#[tokio::test]
async fn malformed_and_too_long_lines_do_not_end_the_server() {
    let long = request(1, "tools/call", &json!({ "name": "x".repeat(MAX_LINE_BYTES) }));
    let lines = [
        "{".to_owned(),
        "[1".to_owned(),
        "7".to_owned(),
        "\u{0}".to_owned(),
        long,
        request(2, "ping", &json!({})),
    ];
    let answers = answers(&lines, &[2]).await;
    assert_eq!(answers[0]["result"], json!({}));
}

#[tokio::test]
async fn unknown_methods_and_tools_are_protocol_errors() {
    let lines =
        [request(1, "tools/paint", &json!({})), request(2, "tools/call", &json!({ "name": "delete" }))];
    let answers = answers(&lines, &[1, 2]).await;
    assert_eq!(answers[0]["error"]["code"], -32601);
    assert_eq!(answers[1]["error"]["code"], -32602);
    assert!(answers[1]["error"]["message"].as_str().unwrap().contains("there are summary, "));
}

#[tokio::test]
async fn an_absent_collector_is_a_tool_error() {
    let call = request(1, "tools/call", &json!({ "name": "summary", "arguments": { "range": "1h" } }));
    let result = &answers(&[call], &[1]).await[0]["result"];
    assert_eq!(result["isError"], true);
    assert!(result["content"][0]["text"].as_str().unwrap().starts_with("the collector cannot be reached"));
}

#[test]
fn wrong_types_are_refused_with_what_was_expected() {
    let reason = |tool: &str, arguments: Value| {
        let tool = TOOLS.iter().find(|spec| spec.name == tool).unwrap();
        tool.query(arguments.as_object().unwrap()).unwrap_err().to_string()
    };
    assert_eq!(reason("summary", json!({ "range": 7 })), "`range` must be a word");
    assert_eq!(reason("summary", json!({ "site": "" })), "`site` must be the name of a site");
    assert!(reason("summary", json!({ "from": "yesterday" })).contains("2026-11-27T10:00:00Z"));
    assert!(reason("summary", json!({ "filters": { "format": "csv" } })).starts_with("`filters` must be"));
    assert!(reason("breakdown", json!({ "group_by": ["model", "os", "site"] })).contains("one or two"));
    assert!(reason("breakdown", json!({ "limit": 1e9 })).contains("from 1 to 40"));
    assert!(reason("slo", json!({ "\u{202e}": 1 })).contains("the tool takes site, filters"));
}

#[test]
fn every_schema_is_bounded_and_has_its_words() {
    for tool in &TOOLS {
        let schema = Value::Object((*tool.definition().input_schema).clone());
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        for (name, argument) in schema["properties"].as_object().unwrap() {
            let bounds = ["enum", "maxLength", "maximum", "maxItems", "maxProperties"];
            assert!(bounds.iter().any(|bound| !argument[bound].is_null()), "{}: {name}", tool.name);
        }
    }
}

#[test]
fn a_token_is_in_no_error_and_no_url() {
    for url in
        ["ftp://rum.example", "http://", "http://user:secret@rum.example", "http://rum.example?token=x"]
    {
        assert!(CollectorClient::new(url, None).is_err(), "{url}");
    }
    let Err(error) = CollectorClient::new("http://rum.example", Some(&Secret::from("secret\n"))) else {
        panic!("a line feed would end the header");
    };
    assert!(!format!("{error:?} {error}").contains("secret"));
}

#[test]
fn names_are_quoted_escaped_and_cut() {
    assert_eq!(quoted("a\"\n\u{202e}b"), r#""a\"\n\u{202e}b""#);
    assert_eq!(quoted(&"x".repeat(1_000)).chars().count(), 83);
}

/// JSON with the names that answers have, so that the writers find what they read.
fn foreign_json() -> impl Strategy<Value = Value> {
    let words = "from|to|n|p50_ms|p95_ms|intervals|points|groups|findings|budgets|value|values|total|good|streams|\
                 timestamp_ms|step_ms|by_use_case|previous|differences|burn_rates|metric|errors|count|lower|upper|rate";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((words, inner), 0..12)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_of_a_collector_becomes_a_short_text(body in foreign_json()) {
        for tool in &TOOLS {
            let mut answer = Answer::default();
            (tool.write)(&body, &mut answer);
            let text = answer.finish();
            prop_assert!(text.len() <= MAX_BYTES);
            prop_assert!(!text.chars().any(|char| char.is_control() && char != '\n'));
        }
    }
}
