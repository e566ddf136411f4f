//! A recording of a real engine's stream, read by read: a plan with the same bytes at the same times.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use crate::api::Api;
use crate::event::Event;
use crate::plan::{Act, Plan, Step};

/// llama.cpp's `llama-server` generating 200 tokens, one row per read of the socket.
const TIMELINE: &str = include_str!("../../tests/fixtures/streams/llamaserver_timeline_ok.jsonl");

/// One row: the first contains headers, the last the end, all others bytes.
#[derive(Deserialize)]
struct Row {
    t_ms: f64,
    b64: Option<String>,
}

/// The plan of the recording, an OpenAI chat completion.
pub(crate) fn plan() -> Plan {
    let mut steps = Vec::new();
    let mut id = None;
    for row in TIMELINE.lines() {
        let row: Row = serde_json::from_str(row).expect("the embedded fixture is JSON lines");
        let Some(bytes) = row.b64 else { continue };
        let bytes = BASE64_STANDARD.decode(bytes).expect("the embedded fixture is base64");
        let text = String::from_utf8(bytes).expect("each read of the fixture is whole events");
        let at = Duration::from_secs_f64(row.t_ms / 1e3);
        id = id.or_else(|| chunks(&text).find_map(|chunk| Some(chunk["id"].as_str()?.to_owned())));
        let tokens = chunks(&text).filter(has_text).count() as u32;
        steps.push(Step { at, act: Act::Make(Event::fixed(text).counting(tokens)) });
        steps.push(Step { at, act: Act::Write });
    }
    Plan { id, ..Plan::stream(Api::OpenaiChat, steps) }
}

fn chunks(read: &str) -> impl Iterator<Item = serde_json::Value> {
    read.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
}

fn has_text(chunk: &serde_json::Value) -> bool {
    chunk["choices"][0]["delta"]["content"].as_str().is_some_and(|text| !text.is_empty())
}
