//! OpenAI chat completions, and the many servers that speak it: role-only frames first, deltas, a
//! finish reason per choice, often a usage frame, then `[DONE]`.

use super::{Clues, Dialect, Facts, Text, Usage, keep_first, keep_latest};
use crate::json::Json;

pub(super) const DIALECT: Dialect =
    Dialect { name: "openai_chat", recognise, read, marks_end: true, gives_reason: true };

/// Which choices were seen, and which of them have finished; one bit each.
#[derive(Default)]
pub(super) struct Choices {
    seen: u64,
    finished: u64,
}

fn recognise(clues: &Clues) -> bool {
    clues.choices && clues.object != b"text_completion"
}

fn read(facts: &mut Facts, json: &mut Json) -> Text {
    let mut text = Text::NONE;
    json.each_key(|json, key| match key {
        b"choices" => json.each_element(|json| read_choice(facts, json, &mut text)),
        b"id" => facts.read_repeated_id(json),
        b"model" => keep_first(&mut facts.model, json),
        b"usage" => read_usage(&mut facts.usage, json),
        b"error" => facts.failed |= json.is_something(),
        b"timings" => facts.read_llama_cpp(json),
        b"x_groq" => read_groq(facts, json),
        b"time_info" => facts.provider = Some("cerebras"),
        _ => {}
    });
    text
}

fn read_choice(facts: &mut Facts, json: &mut Json, text: &mut Text) {
    let (mut index, mut reason) = (0, None);
    json.each_key(|json, key| match key {
        b"index" => index = json.count().unwrap_or(0),
        b"delta" => read_delta(json, text),
        b"finish_reason" => reason = json.name(),
        _ => {}
    });
    let bit = u32::try_from(index).ok().and_then(|index| 1u64.checked_shl(index)).unwrap_or(0);
    facts.choices.seen |= bit;
    if reason.is_some() {
        facts.choices.finished |= bit;
        facts.finish(reason);
    }
    if facts.choices.finished != 0 {
        facts.finished = facts.choices.finished == facts.choices.seen;
    }
}

fn read_delta(json: &mut Json, text: &mut Text) {
    json.each_key(|json, key| match key {
        b"content" if json.is_array() => read_parts(json, text, Text::ANSWER),
        b"content" => text.add(Text::ANSWER, json.is_text()),
        b"reasoning" | b"reasoning_content" => text.add(Text::REASONING, json.is_text()),
        b"reasoning_details" => read_parts(json, text, Text::REASONING),
        b"refusal" => text.add(Text::REFUSAL, json.is_text()),
        b"tool_calls" => json.each_element(|json| {
            json.each_key(|json, key| {
                if key == b"function" {
                    read_function(json, text);
                }
            });
        }),
        b"function_call" => read_function(json, text),
        _ => {}
    });
}

/// A list of parts in place of a string: Mistral's answers, where thinking has parts of its own,
/// and OpenRouter's reasoning.
fn read_parts(json: &mut Json, text: &mut Text, kind: Text) {
    json.each_element(|json| {
        json.each_key(|json, key| match key {
            b"text" | b"summary" => text.add(kind, json.is_text()),
            b"thinking" if kind == Text::ANSWER => read_parts(json, text, Text::REASONING),
            _ => {}
        });
    });
}

fn read_function(json: &mut Json, text: &mut Text) {
    json.each_key(|json, key| {
        if key == b"arguments" {
            text.add(Text::TOOL, json.is_text());
        }
    });
}

fn read_usage(usage: &mut Usage, json: &mut Json) {
    json.each_key(|json, key| match key {
        b"prompt_tokens" => keep_latest(&mut usage.input, json),
        b"completion_tokens" => keep_latest(&mut usage.output, json),
        b"total_tokens" => keep_latest(&mut usage.total, json),
        b"reasoning_tokens" => keep_latest(&mut usage.reasoning, json),
        b"prompt_cache_hit_tokens" => keep_latest(&mut usage.cached, json),
        b"prompt_tokens_details" | b"completion_tokens_details" => usage.read_details(json),
        _ => {}
    });
}

/// Groq's own part. Older answers count tokens only here.
fn read_groq(facts: &mut Facts, json: &mut Json) {
    facts.provider = Some("groq");
    json.each_key(|json, key| {
        if key == b"usage" {
            read_usage(&mut facts.usage, json);
        }
    });
}
