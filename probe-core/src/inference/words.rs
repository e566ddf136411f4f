//! Keys and words that mean the same in most formats, and hashes of places.

use crate::json::Word;

/// Keys whose value names the kind of the event.
pub(super) const KIND_KEYS: [Word; 11] = Word::all([
    b"type",
    b"event",
    b"object",
    b"msg",
    b"kind",
    b"event_type",
    b"op",
    b"action",
    b"method",
    b"status",
    b"state",
]);

/// Keys of generated text.
pub(super) const TEXT_KEYS: [Word; 12] = Word::all([
    b"text",
    b"content",
    b"token",
    b"delta",
    b"answer",
    b"chunk",
    b"response",
    b"completion",
    b"output",
    b"reply",
    b"generated_text",
    b"output_text",
]);

/// Keys of reasoning.
pub(super) const REASONING_KEYS: [Word; 7] = Word::all([
    b"reasoning",
    b"reasoning_content",
    b"reasoning_text",
    b"thinking",
    b"thought",
    b"thoughts",
    b"think",
]);

/// Keys of what the model writes to a tool.
pub(super) const TOOL_KEYS: [Word; 6] =
    Word::all([b"arguments", b"args", b"tool_calls", b"tool_call", b"function_call", b"partial_json"]);

/// Keys whose value is an error, if it says anything.
pub(super) const ERROR_KEYS: [Word; 12] = Word::all([
    b"error",
    b"errors",
    b"err",
    b"error_code",
    b"error_message",
    b"error_msg",
    b"errorCode",
    b"errorMessage",
    b"errorText",
    b"exception",
    b"is_error",
    b"isError",
]);

/// Keys of the author of an event.
pub(super) const AUTHOR_KEYS: [Word; 4] = Word::all([b"role", b"author", b"sender", b"type"]);

/// Words for the user as the author.
pub(super) const USER_WORDS: [&[u8]; 2] = [b"user", b"human"];

/// Keys that are `false` in an error.
pub(super) const SUCCESS_KEYS: [Word; 3] = Word::all([b"success", b"ok", b"succeeded"]);

/// Keys that are `true` in the last event.
pub(super) const END_KEYS: [Word; 16] = Word::all([
    b"done",
    b"is_done",
    b"isDone",
    b"finished",
    b"is_finished",
    b"isFinished",
    b"final",
    b"is_final",
    b"isFinal",
    b"end",
    b"is_end",
    b"isEnd",
    b"complete",
    b"completed",
    b"is_last",
    b"eof",
]);

/// Keys that have a value in the last event.
pub(super) const REASON_KEYS: [Word; 4] =
    Word::all([b"finish_reason", b"finishReason", b"stop_reason", b"stopReason"]);

/// Keys of token counts: input, then output.
pub(super) const TOKEN_KEYS: [[Word; 4]; 2] = [
    Word::all([b"prompt_tokens", b"input_tokens", b"promptTokens", b"inputTokens"]),
    Word::all([b"completion_tokens", b"output_tokens", b"completionTokens", b"outputTokens"]),
];

/// Words in the kind of an event that ends the answer.
pub(super) const END_WORDS: [&[u8]; 13] = [
    b"end",
    b"ended",
    b"done",
    b"complete",
    b"completed",
    b"finish",
    b"finished",
    b"final",
    b"stop",
    b"stopped",
    b"close",
    b"eof",
    b"success",
];

/// Words in the kind of an event that says that the user has stopped the answer.
pub(super) const STOP_WORDS: [&[u8]; 6] =
    [b"cancel", b"canceled", b"cancelled", b"abort", b"aborted", b"interrupted"];

/// Words in the kind of an event that reports a failure.
pub(super) const FAILURE_WORDS: [&[u8]; 6] =
    [b"error", b"errored", b"failed", b"failure", b"exception", b"fatal"];

/// Words in the kind of an event that carries reasoning.
pub(super) const REASONING_WORDS: [&[u8]; 5] = [b"reasoning", b"thinking", b"thought", b"think", b"thoughts"];

/// Words in the kind of an event that carries what the model writes to a tool.
pub(super) const TOOL_WORDS: [&[u8]; 4] = [b"tool", b"function", b"arguments", b"args"];

/// Whether one of the words of a name, as in `message_end` or `runCompleted`, is in the list.
pub(super) fn has_word(name: &[u8], list: &[&[u8]]) -> bool {
    let is_start = |at: usize| at > 0 && name[at].is_ascii_uppercase() && name[at - 1].is_ascii_lowercase();
    let mut word_start = 0;
    (0..=name.len()).any(|at| {
        let ends = at == name.len() || !name[at].is_ascii_alphanumeric() || is_start(at);
        if !ends {
            return false;
        }
        let word = &name[word_start..at];
        word_start = if name.get(at).is_some_and(u8::is_ascii_alphanumeric) { at } else { at + 1 };
        list.iter().any(|known| word.eq_ignore_ascii_case(known))
    })
}

/// Whether a string has the shape of a name, as kinds of events are.
pub(super) fn is_name(text: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./:|".contains(byte);
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && text.iter().all(fits)
}

/// A place below another one.
pub(super) fn below(place: u64, step: u64) -> u64 {
    (place.rotate_left(23) ^ step).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The longest kind of an event.
const MAX_NAME_BYTES: usize = 48;
