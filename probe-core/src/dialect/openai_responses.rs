//! OpenAI Responses: typed events, numbered by OpenAI itself, and one of three last events that
//! carries the whole answer again.

use super::{Clues, Dialect, Facts, Text, Usage, keep_first, keep_latest};
use crate::json::Json;

pub(super) const DIALECT: Dialect =
    Dialect { name: "openai_responses", recognise, read, marks_end: false, gives_reason: true };

/// What a `response` object said that matters only in some events.
#[derive(Default)]
struct Response<'a> {
    id: Option<&'a [u8]>,
    status: Option<String>,
    incomplete: Option<String>,
}

fn recognise(clues: &Clues) -> bool {
    clues.kind.starts_with(b"response.")
}

fn read(facts: &mut Facts, json: &mut Json) -> Text {
    let (mut kind, mut number, mut delta) = (&b""[..], None, false);
    let mut response = Response::default();
    json.each_key(|json, key| match key {
        b"type" => kind = json.word().unwrap_or_default(),
        b"sequence_number" => number = json.count(),
        b"delta" => delta = json.is_text(),
        b"response" => read_response(facts, json, &mut response),
        b"error" => facts.failed |= json.is_something(),
        b"timings" => facts.read_llama_cpp(json),
        _ => {}
    });
    match kind {
        b"response.created" => {
            facts.sequence.restart();
            facts.begin_answer(response.id);
        }
        b"response.completed" | b"response.incomplete" => {
            facts.finish(response.incomplete.or(response.status));
            facts.end_answer();
        }
        b"response.failed" | b"error" => facts.failed = true,
        _ => {}
    }
    facts.sequence.observe(number, &mut facts.defects);
    if delta { kind_of_delta(kind) } else { Text::NONE }
}

fn read_response<'a>(facts: &mut Facts, json: &mut Json<'a>, response: &mut Response<'a>) {
    json.each_key(|json, key| match key {
        b"id" => response.id = json.word(),
        b"model" => keep_first(&mut facts.model, json),
        b"status" => response.status = json.name(),
        b"usage" => read_usage(&mut facts.usage, json),
        b"incomplete_details" => json.each_key(|json, key| {
            if key == b"reason" {
                response.incomplete = json.name();
            }
        }),
        _ => {}
    });
}

fn read_usage(usage: &mut Usage, json: &mut Json) {
    json.each_key(|json, key| match key {
        b"input_tokens" => keep_latest(&mut usage.input, json),
        b"output_tokens" => keep_latest(&mut usage.output, json),
        b"total_tokens" => keep_latest(&mut usage.total, json),
        b"input_tokens_details" | b"output_tokens_details" => usage.read_details(json),
        _ => {}
    });
}

/// Of the many `.delta` events those that carry text. Every tool has its own, with `_call_` in it.
fn kind_of_delta(kind: &[u8]) -> Text {
    let name = kind.strip_prefix(b"response.").unwrap_or_default();
    match name {
        _ if name.starts_with(b"output_text.") => Text::ANSWER,
        _ if name.starts_with(b"reasoning") => Text::REASONING,
        _ if name.starts_with(b"refusal.") => Text::REFUSAL,
        _ if name.windows(6).any(|part| part == b"_call_") => Text::TOOL,
        _ => Text::NONE,
    }
}
