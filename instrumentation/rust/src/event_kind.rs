//! Says which events have generated text, and which ones end a stream: the rules of `instrumentation/contract.json`,
//! whose lists a test compares with these.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::event_splitter::Event;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// Clients stop reading at such an event.
    End,
    Other,
}

pub(crate) fn kind_of(event: &Event<'_>) -> Kind {
    let Fields { name, data } = fields(event.text, event.is_long);
    let item = if event.is_long { None } else { item_in(&data) };
    let type_field = match &item {
        Some(item) => item.get("type").and_then(Value::as_str).unwrap_or_default().as_bytes(),
        None if event.is_long => first_field_if_type(&data).unwrap_or_default(),
        None => b"",
    };
    let types = [name.split(|byte| *byte == b'|').next().unwrap_or_default(), type_field];
    let types = types.map(String::from_utf8_lossy);
    let has_data = if event.is_long { event.has_data } else { !data.is_empty() };
    if *data == *b"[DONE]" || types.iter().any(|name| END_TYPES.contains(&&**name)) {
        Kind::End
    } else if !has_data
        || *data == *b"\"\""
        || types.iter().any(|name| is_without_text(name))
        || item.is_some_and(|item| has_only_silent_parts(&item))
    {
        Kind::Other
    } else {
        Kind::Text
    }
}

fn is_without_text(name: &str) -> bool {
    let is_delta = name.ends_with(".delta");
    NO_TEXT_TYPES.contains(&name)
        || (!is_delta && DELTA_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

/// Whether an item has text parts, and none of them has text.
fn has_only_silent_parts(item: &Map<String, Value>) -> bool {
    let elements = |name: &str| item.get(name).and_then(Value::as_array);
    let lists = [(elements("choices"), CHOICE_PARTS), (elements("candidates"), CANDIDATE_PARTS)];
    let mut parts: Vec<_> = TEXT_PARTS.iter().filter_map(|field| item.get(*field)).collect();
    let mut has_list = false;
    for (list, fields) in lists {
        has_list |= list.is_some();
        let fields = list
            .into_iter()
            .flatten()
            .flat_map(|element| fields.iter().map(move |field| element.get(*field)));
        parts.extend(fields.flatten());
    }
    (has_list || !parts.is_empty()) && !parts.into_iter().any(has_text)
}

/// Whether there is a string that is not empty, at any depth: the parser limits how deep it can be.
fn has_text(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => values.iter().any(has_text),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| !SILENT_FIELDS.contains(&name.as_str()) && has_text(value))
        }
        _ => false,
    }
}

/// The object that a JSON text is, or that its array begins with.
fn item_in(data: &[u8]) -> Option<Map<String, Value>> {
    if !matches!(data.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return None;
    }
    let text = String::from_utf8_lossy(data);
    let value = serde_json::from_str(&without_surrogates(text)).ok()?;
    let item = match value {
        Value::Array(values) => values.into_iter().next()?,
        value => value,
    };
    match item {
        Value::Object(item) => Some(item),
        _ => None,
    }
}

/// Without escapes of half characters, of which the parser refuses one without the other. Some servers put the halves
/// into two events. The replacement has the same length, and is text as well.
fn without_surrogates(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_surrogate = |escape: &[u8]| {
        matches!(escape, [b'\\', b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', _, _])
    };
    if !text.as_bytes().windows(6).any(is_surrogate) {
        return text;
    }
    let mut bytes = text.into_owned().into_bytes();
    for at in 0..bytes.len().saturating_sub(5) {
        if is_surrogate(&bytes[at..at + 6]) && bytes[at + 4..at + 6].iter().all(u8::is_ascii_hexdigit) {
            bytes[at + 2..at + 6].copy_from_slice(b"fffd");
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// The type of a long event, whose data is not parsed.
fn first_field_if_type(data: &[u8]) -> Option<&[u8]> {
    let mut rest = data;
    for token in [&b"{"[..], b"\"type\"", b":", b"\""] {
        rest = rest.trim_ascii_start().strip_prefix(token)?;
    }
    let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    (rest[end] == b'"').then(|| &rest[..end])
}

/// The fields of an event that are read.
struct Fields<'a> {
    name: &'a [u8],
    data: Cow<'a, [u8]>,
}

/// `is_cut` says whether the last line may be incomplete.
fn fields(text: &[u8], is_cut: bool) -> Fields<'_> {
    let mut name = &b""[..];
    let mut data: Option<Cow<'_, [u8]>> = None;
    let mut rest = Some(text);
    while let Some(lines) = rest {
        let end = memchr::memchr2(b'\n', b'\r', lines);
        let line = &lines[..end.unwrap_or(lines.len())];
        let line_end = end.map(|end| if lines[end..].starts_with(b"\r\n") { end + 2 } else { end + 1 });
        rest = line_end.map(|end| &lines[end..]);
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match (field, &mut data) {
            (b"data", None) => data = Some(Cow::Borrowed(value)),
            (b"data", Some(data)) => {
                data.to_mut().push(b'\n');
                data.to_mut().extend_from_slice(value);
            }
            (b"event", _) if !(is_cut && rest.is_none()) => name = value,
            _ => {}
        }
    }
    Fields { name, data: data.unwrap_or_default() }
}

pub(crate) const END_TYPES: [&str; 11] = [
    "RUN_ERROR",
    "RUN_FINISHED",
    "conversation.response.done",
    "end",
    "finish",
    "interaction.completed",
    "message-end",
    "message_stop",
    "response.completed",
    "response.failed",
    "response.incomplete",
];

pub(crate) const NO_TEXT_TYPES: [&str; 64] = [
    "ACTIVITY_DELTA",
    "ACTIVITY_SNAPSHOT",
    "MESSAGES_SNAPSHOT",
    "REASONING_END",
    "REASONING_MESSAGE_END",
    "REASONING_MESSAGE_START",
    "REASONING_START",
    "RUN_STARTED",
    "STATE_DELTA",
    "STATE_SNAPSHOT",
    "STEP_FINISHED",
    "STEP_STARTED",
    "TEXT_MESSAGE_END",
    "TEXT_MESSAGE_START",
    "THINKING_END",
    "THINKING_START",
    "THINKING_TEXT_MESSAGE_END",
    "THINKING_TEXT_MESSAGE_START",
    "TOOL_CALL_END",
    "TOOL_CALL_RESULT",
    "TOOL_CALL_START",
    "abort",
    "checkpoints",
    "citation-end",
    "citation-start",
    "content-end",
    "content-start",
    "content_block_start",
    "content_block_stop",
    "debug",
    "error",
    "file",
    "finish-step",
    "human",
    "message-metadata",
    "message-start",
    "message_delta",
    "message_start",
    "messages/complete",
    "messages/metadata",
    "metadata",
    "ping",
    "reasoning-end",
    "reasoning-start",
    "response.audio.delta",
    "response.output_audio.delta",
    "source-document",
    "source-url",
    "speed",
    "start",
    "start-step",
    "stop",
    "system",
    "tasks",
    "text-end",
    "text-start",
    "tool",
    "tool-call-end",
    "tool-call-start",
    "tool-input-available",
    "tool-input-start",
    "tool-output-available",
    "usage",
    "values",
];

/// Of types that begin so, only the deltas have text.
pub(crate) const DELTA_PREFIXES: [&str; 5] =
    ["conversation.", "interaction.", "response.", "step.", "tool.execution."];

/// The fields of an item that hold its text.
pub(crate) const TEXT_PARTS: [&str; 6] =
    ["arguments", "content", "delta", "function", "text", "tool_call_chunks"];

/// Fields within text parts whose strings are no text.
pub(crate) const SILENT_FIELDS: [&str; 10] = [
    "annotations",
    "citation",
    "citations",
    "id",
    "index",
    "name",
    "role",
    "signature",
    "thoughtSignature",
    "type",
];

const CHOICE_PARTS: &[&str] = &["delta", "text"];
const CANDIDATE_PARTS: &[&str] = &["content"];
