//! Anthropic Messages: a message in blocks, its reason and cumulative usage in `message_delta`, its
//! end in `message_stop`. With programmatic tool calls one stream holds several messages.

use super::{Clues, Dialect, Facts, Text, keep_first, keep_latest};
use crate::json::Json;

pub(super) const DIALECT: Dialect =
    Dialect { name: "anthropic", recognise, read, marks_end: true, gives_reason: true };

fn recognise(clues: &Clues) -> bool {
    let block = clues.kind.starts_with(b"content_block_");
    block || matches!(clues.kind, b"message_start" | b"message_delta" | b"message_stop")
}

fn read(facts: &mut Facts, json: &mut Json) -> Text {
    let (mut kind, mut id, mut text) = (&b""[..], None, Text::NONE);
    json.each_key(|json, key| match key {
        b"type" => kind = json.word().unwrap_or_default(),
        b"message" => id = read_message(facts, json),
        b"content_block" | b"delta" => read_delta(facts, json, &mut text),
        b"usage" => read_usage(facts, json, true),
        b"error" => facts.failed |= json.is_something(),
        _ => {}
    });
    match kind {
        b"message_start" => facts.begin_answer(id),
        b"message_stop" => facts.end_answer(),
        b"error" => facts.failed = true,
        _ => {}
    }
    text
}

fn read_message<'a>(facts: &mut Facts, json: &mut Json<'a>) -> Option<&'a [u8]> {
    let mut id = None;
    json.each_key(|json, key| match key {
        b"id" => id = json.word(),
        b"model" => keep_first(&mut facts.model, json),
        b"usage" => read_usage(facts, json, false),
        _ => {}
    });
    id
}

/// A part of a block, or of the message itself. A signature is not generated text.
fn read_delta(facts: &mut Facts, json: &mut Json, text: &mut Text) {
    json.each_key(|json, key| match key {
        b"text" => text.add(Text::ANSWER, json.is_text()),
        b"thinking" => text.add(Text::REASONING, json.is_text()),
        b"partial_json" => text.add(Text::TOOL, json.is_text()),
        b"stop_reason" => facts.finish(json.name()),
        _ => {}
    });
}

/// The first usage, at the start of a message, has a placeholder for the output.
fn read_usage(facts: &mut Facts, json: &mut Json, counts_output: bool) {
    let usage = &mut facts.usage;
    json.each_key(|json, key| match key {
        b"input_tokens" => keep_latest(&mut usage.input, json),
        b"cache_read_input_tokens" => keep_latest(&mut usage.cached, json),
        b"output_tokens" if counts_output => keep_latest(&mut usage.output, json),
        _ => {}
    });
}
