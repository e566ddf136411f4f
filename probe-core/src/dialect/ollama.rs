//! Ollama's own API, chat and generate: one JSON object per line, the last with `done` and all
//! counts and durations.

use super::{Clues, Dialect, Facts, Text, keep_first, keep_latest};
use crate::json::Json;
use crate::server::OllamaDurations;

/// `done` ends it, with a reason only since 2024.
pub(super) const DIALECT: Dialect =
    Dialect { name: "ollama", recognise, read, marks_end: false, gives_reason: false };

fn recognise(clues: &Clues) -> bool {
    clues.done && clues.created_at
}

fn read(facts: &mut Facts, json: &mut Json) -> Text {
    facts.provider = Some("ollama");
    let (mut text, mut done, mut reason) = (Text::NONE, false, None);
    let mut durations = OllamaDurations::default();
    json.each_key(|json, key| match key {
        b"model" => keep_first(&mut facts.model, json),
        b"message" => json.each_key(|json, key| read_text(json, key, &mut text)),
        b"response" => text.add(Text::ANSWER, json.is_text()),
        b"thinking" => text.add(Text::REASONING, json.is_text()),
        b"done" => done = json.is_true(),
        b"done_reason" => reason = json.name(),
        b"error" => facts.failed |= json.is_something(),
        b"prompt_eval_count" => keep_latest(&mut facts.usage.input, json),
        b"eval_count" => keep_latest(&mut facts.usage.output, json),
        b"load_duration" => durations.load_ns = json.number(),
        b"prompt_eval_duration" => durations.prompt_eval_ns = json.number(),
        b"eval_duration" => durations.eval_ns = json.number(),
        _ => {}
    });
    if done {
        facts.finish(reason);
        facts.end_answer();
        facts.server.read_ollama(&durations, facts.usage.output);
    }
    text
}

fn read_text(json: &mut Json, key: &[u8], text: &mut Text) {
    match key {
        b"content" => text.add(Text::ANSWER, json.is_text()),
        b"thinking" => text.add(Text::REASONING, json.is_text()),
        // Tool calls come whole, with arguments as an object.
        b"tool_calls" => json.each_element(|_| text.add(Text::TOOL, true)),
        _ => {}
    }
}
