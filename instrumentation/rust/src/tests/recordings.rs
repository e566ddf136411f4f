//! Recorded streams of many APIs: the layer finds the same first token as the probe in the browser.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::Value;

use super::scripted::{Act, Step, receive, respond};

fn files(extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/streams");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<_> = files.filter(|path| path.extension() == Some(OsStr::new(extension))).collect();
    assert!(!found.is_empty());
    found
}

fn commented(steps: &[Step]) -> String {
    let request = Request::builder().header("origin", "https://chat.example").body(()).unwrap();
    let head = Response::builder().header("content-type", "text/event-stream").body(()).unwrap();
    let received = receive(respond(request, head, steps), steps);
    String::from_utf8_lossy(&received.chunks.concat()).into_owned()
}

/// The text without comments of llm-rum, some of which may be the recording's own.
fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once(": llm-rum {") {
        kept.push_str(before);
        let (_, after) = comment.split_once('}').unwrap();
        rest = ["\r\n\r\n", "\n\n", "\r\r", "\r\n", "\n", "\r"]
            .iter()
            .find_map(|end| after.strip_prefix(end))
            .expect("the end of a comment");
    }
    kept + rest
}

#[test]
fn the_first_token_is_that_of_the_probe() {
    let mut streams = 0;
    for path in files("jsonl") {
        let rows = std::fs::read_to_string(&path).unwrap();
        let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
        let report = std::fs::read_to_string(path.with_extension("expected.json")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        let is_event_stream = |row: &Value| {
            row["headers"]["content-type"].as_str().is_some_and(|it| it.starts_with("text/event-stream"))
        };
        // The probe learns from several events where the text is, which the middleware cannot wait for.
        let is_known = !["inferred", "generic", "gradio", "gradio_call", "mcp", "plain_text"]
            .iter()
            .any(|dialect| report["dialect"] == *dialect);
        if !rows.iter().any(is_event_stream) || report["ttft_ms"].is_null() || !is_known {
            continue;
        }
        let chunk = |row: &Value| {
            let text = row["text"].as_str().map(|text| text.as_bytes().to_vec());
            let bytes = text.or_else(|| Some(BASE64_STANDARD.decode(row["b64"].as_str()?).unwrap()))?;
            Some(Step { at_ms: row["t_ms"].as_f64()?, act: Act::Send(bytes.into()) })
        };
        let steps: Vec<Step> = rows.iter().filter_map(chunk).collect();
        let body = commented(&steps);
        let (_, comment) = body.split_once(": llm-rum ").unwrap_or_else(|| panic!("no comment: {path:?}"));
        let comment: Value = serde_json::from_str(comment.lines().next().unwrap()).unwrap();
        assert_eq!(comment["ttft_ms"].as_f64(), report["ttft_ms"].as_f64(), "{path:?}");
        streams += 1;
    }
    assert!(streams > 5, "{streams} streams");
}

#[test]
fn comments_leave_recorded_bytes_unchanged() {
    for path in files("body") {
        let body = Bytes::from(std::fs::read(&path).unwrap());
        for size in [body.len().max(1), 7, 1] {
            let chunk = |at: usize| body.slice(at..body.len().min(at + size));
            let chunks = (0..body.len()).step_by(size).map(chunk);
            let steps: Vec<_> = chunks.map(|bytes| Step { at_ms: 1.0, act: Act::Send(bytes) }).collect();
            let own = String::from_utf8_lossy(&body);
            assert_eq!(without_comments(&commented(&steps)), without_comments(&own), "{path:?}");
        }
    }
}
