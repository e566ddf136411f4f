//! The ids that questions and events name, as hashes.

use crate::hash::hash;
use crate::json::{Json, Word};

/// The ids of an event: of the answer, and of the chat.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct EventIds {
    /// The first by the order of [`ANSWER_KEYS`].
    pub(crate) answer: Option<u64>,
    /// The answer's id is that of a key which names other things as well.
    pub(super) is_vague: bool,
    /// The key and the value.
    pub(super) chat: Option<(u64, u64)>,
}

/// An id in the text of a question: its key and its value.
pub(super) type NamedId = (u64, u64);

impl EventIds {
    pub(crate) fn of(data: &[u8]) -> Self {
        let mut found = Found { ids: Self::default(), rank: usize::MAX };
        found.walk(&mut Json::new(data), 0);
        found.ids
    }
}

struct Found {
    ids: EventIds,
    /// Of the answer's id: its place in the list of keys, then its depth.
    rank: usize,
}

impl Found {
    fn walk(&mut self, json: &mut Json<'_>, depth: usize) {
        if depth == MAX_DEPTH {
            return json.skip();
        }
        if json.is_array() {
            json.enter(b'[');
            for _ in 0..MAX_ELEMENTS {
                if !json.element() {
                    return;
                }
                self.walk(json, depth + 1);
            }
            while json.element() {
                json.skip();
            }
            return;
        }
        if !json.is_object() {
            return json.skip();
        }
        json.enter(b'{');
        while let Some(key) = json.key() {
            let rank = ANSWER_KEYS.iter().position(|&known| known == key);
            if let Some(rank) = rank.map(|rank| rank * MAX_DEPTH + depth) {
                let id = take_id(json);
                if let Some(id) = id.filter(|_| rank < self.rank) {
                    self.rank = rank;
                    self.ids =
                        EventIds { answer: Some(id), is_vague: key == Word::of(VAGUE_KEY), ..self.ids };
                }
            } else if self.ids.chat.is_none() && CHAT_KEYS.contains(&key) {
                self.ids.chat = take_id(json).map(|id| (key.hash(), id));
            } else {
                self.walk(json, depth + 1);
            }
        }
    }
}

/// Takes a value, and returns the hash of a string or a whole number. `None` for any other value.
fn take_id(json: &mut Json<'_>) -> Option<u64> {
    let id = if json.is_string() {
        json.string()?
    } else {
        let count = json.count();
        return (!count.is_nan()).then(|| hash(&count.to_bits().to_le_bytes()));
    };
    (!id.is_empty() && id.len() <= MAX_ID_BYTES).then(|| hash(id))
}

/// The ids that a question names, wherever they are. Its text may be cut: a quote in a string of JSON is escaped, so
/// `"id":` is a key. At most 32 ids.
pub(super) fn named(question: &[u8]) -> Vec<NamedId> {
    let mut ids = Vec::new();
    let mut rest = question;
    while let Some(colon) = rest.iter().position(|&byte| byte == b':') {
        let (before, after) = (rest[..colon].trim_ascii_end(), &rest[colon + 1..]);
        rest = after;
        let Some(key) = before.strip_suffix(b"\"").and_then(|text| text.rsplit(|&byte| byte == b'"').next())
        else {
            continue;
        };
        let key = Word::of(key);
        if !ANSWER_KEYS.contains(&key) && !CHAT_KEYS.contains(&key) {
            continue;
        }
        if let Some(id) = take_id(&mut Json::new(value_at(after)))
            && ids.len() < MAX_NAMED
        {
            ids.push((key.hash(), id));
        }
    }
    ids
}

/// The string or number at the beginning of `text`.
fn value_at(text: &[u8]) -> &[u8] {
    let text = &text[..text.len().min(MAX_ID_BYTES + 16)];
    let text = text.trim_ascii_start();
    let end = match text {
        [b'"', inner @ ..] => inner.iter().position(|&byte| byte == b'"').map(|quote| quote + 2),
        _ => text.iter().position(|byte| !byte.is_ascii_digit()),
    };
    &text[..end.unwrap_or(text.len())]
}

/// Keys of an answer's id, the surest first.
const ANSWER_KEYS: [Word; 9] = Word::all([
    b"message_id",
    b"messageId",
    b"response_id",
    b"responseId",
    b"run_id",
    b"runId",
    b"request_id",
    b"requestId",
    VAGUE_KEY,
]);
const VAGUE_KEY: &[u8] = b"id";
/// Keys of a chat's id.
const CHAT_KEYS: [Word; 8] = Word::all([
    b"chat_id",
    b"chatId",
    b"thread_id",
    b"threadId",
    b"conversation_id",
    b"conversationId",
    b"session_id",
    b"sessionId",
]);
/// Ids are in an event itself or in what it wraps.
const MAX_DEPTH: usize = 4;
/// Elements of an array that are looked at.
const MAX_ELEMENTS: usize = 8;
const MAX_ID_BYTES: usize = 128;
const MAX_NAMED: usize = 32;
