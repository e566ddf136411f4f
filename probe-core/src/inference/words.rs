//! Keys and words that mean the same in most formats, and hashes of places.

use crate::json::Word;

/// Keys whose value names the kind of the event.
pub(super) const KIND_KEYS: [Word; 11] = [
    Word::of(b"type"),
    Word::of(b"event"),
    Word::of(b"object"),
    Word::of(b"msg"),
    Word::of(b"kind"),
    Word::of(b"event_type"),
    Word::of(b"op"),
    Word::of(b"action"),
    Word::of(b"method"),
    Word::of(b"status"),
    Word::of(b"state"),
];

/// Keys of generated text.
pub(super) const TEXT_KEYS: [Word; 12] = [
    Word::of(b"text"),
    Word::of(b"content"),
    Word::of(b"token"),
    Word::of(b"delta"),
    Word::of(b"answer"),
    Word::of(b"chunk"),
    Word::of(b"response"),
    Word::of(b"completion"),
    Word::of(b"output"),
    Word::of(b"reply"),
    Word::of(b"generated_text"),
    Word::of(b"output_text"),
];

/// Keys of reasoning.
pub(super) const REASONING_KEYS: [Word; 7] = [
    Word::of(b"reasoning"),
    Word::of(b"reasoning_content"),
    Word::of(b"reasoning_text"),
    Word::of(b"thinking"),
    Word::of(b"thought"),
    Word::of(b"thoughts"),
    Word::of(b"think"),
];

/// Keys of what the model writes to a tool.
pub(super) const TOOL_KEYS: [Word; 6] = [
    Word::of(b"arguments"),
    Word::of(b"args"),
    Word::of(b"tool_calls"),
    Word::of(b"tool_call"),
    Word::of(b"function_call"),
    Word::of(b"partial_json"),
];

/// Keys whose value is an error, if it says anything.
pub(super) const ERROR_KEYS: [Word; 10] = [
    Word::of(b"error"),
    Word::of(b"errors"),
    Word::of(b"err"),
    Word::of(b"error_code"),
    Word::of(b"error_message"),
    Word::of(b"error_msg"),
    Word::of(b"errorCode"),
    Word::of(b"errorMessage"),
    Word::of(b"errorText"),
    Word::of(b"exception"),
];

/// Keys that are `false` in an error.
pub(super) const SUCCESS_KEYS: [Word; 3] = [Word::of(b"success"), Word::of(b"ok"), Word::of(b"succeeded")];

/// Keys that are `true` in the last event.
pub(super) const END_KEYS: [Word; 16] = [
    Word::of(b"done"),
    Word::of(b"is_done"),
    Word::of(b"isDone"),
    Word::of(b"finished"),
    Word::of(b"is_finished"),
    Word::of(b"isFinished"),
    Word::of(b"final"),
    Word::of(b"is_final"),
    Word::of(b"isFinal"),
    Word::of(b"end"),
    Word::of(b"is_end"),
    Word::of(b"isEnd"),
    Word::of(b"complete"),
    Word::of(b"completed"),
    Word::of(b"is_last"),
    Word::of(b"eof"),
];

/// Keys that have a value in the last event.
pub(super) const REASON_KEYS: [Word; 4] = [
    Word::of(b"finish_reason"),
    Word::of(b"finishReason"),
    Word::of(b"stop_reason"),
    Word::of(b"stopReason"),
];

/// Keys of token counts: input, then output.
pub(super) const TOKEN_KEYS: [[Word; 4]; 2] = [
    [
        Word::of(b"prompt_tokens"),
        Word::of(b"input_tokens"),
        Word::of(b"promptTokens"),
        Word::of(b"inputTokens"),
    ],
    [
        Word::of(b"completion_tokens"),
        Word::of(b"output_tokens"),
        Word::of(b"completionTokens"),
        Word::of(b"outputTokens"),
    ],
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

/// A hash of bytes.
pub(super) fn hash(text: &[u8]) -> u64 {
    hash_on(0xCBF2_9CE4_8422_2325, text)
}

/// Goes on with a hash: that of two parts is that of the whole.
pub(super) fn hash_on(start: u64, text: &[u8]) -> u64 {
    text.iter().fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

/// A place below another one.
pub(super) fn below(place: u64, step: u64) -> u64 {
    (place.rotate_left(23) ^ step).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The longest kind of an event.
const MAX_NAME_BYTES: usize = 48;
