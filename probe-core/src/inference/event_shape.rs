//! The structure of one event: its kind, the places of its strings, and what it says about end and failure.

use super::words::{
    AUTHOR_KEYS, END_KEYS, END_WORDS, ERROR_KEYS, FAILURE_WORDS, KIND_KEYS, REASON_KEYS, REASONING_KEYS,
    REASONING_WORDS, STOP_WORDS, SUCCESS_KEYS, TEXT_KEYS, TOKEN_KEYS, TOOL_KEYS, TOOL_WORDS, USER_WORDS,
    below, has_word, is_name,
};
use crate::framing::Event;
use crate::hash::hash;
use crate::json::{Json, Word};
use crate::text_kinds::TextKinds;

/// The structure of one event, whose strings are lent from it.
#[derive(Default)]
pub(super) struct EventShape<'a> {
    /// A hash of its name and of the values that name its kind.
    kind: u64,
    /// A hash of its own keys.
    keys: u64,
    /// It says that the answer is over.
    pub(super) ends: bool,
    /// It says that the answer was stopped.
    pub(super) stops: bool,
    /// It says that the answer has failed.
    pub(super) failed: bool,
    /// It says that it is of the user.
    pub(super) is_users: bool,
    /// Tokens as the server counted them: input and output.
    pub(super) tokens: [Option<f64>; 2],
    /// What its kind says of its text.
    kinds: TextKinds,
    name: u64,
    data: &'a [u8],
    strings: Vec<PlacedString<'a>>,
}

/// A string of an event.
struct PlacedString<'a> {
    place: u64,
    text: &'a [u8],
    is_named: bool,
    kinds: TextKinds,
    /// It may name the kind of the event, so its place does not depend on that.
    names_kind: bool,
}

/// A string that may be text.
pub(super) struct TextValue<'a> {
    /// A hash of the kind of the event and the path of keys.
    pub(super) place: u64,
    /// As JSON writes it, with escapes.
    pub(super) text: &'a [u8],
    /// Its key says that it is text.
    pub(super) is_named: bool,
    pub(super) kinds: TextKinds,
}

/// What a path of keys says.
#[derive(Clone, Copy)]
struct Path {
    place: u64,
    key: Word,
    depth: u32,
    is_named: bool,
    kinds: TextKinds,
}

impl<'a> EventShape<'a> {
    /// Reads an event. `None` without data.
    pub(super) fn of(event: &Event<'a>) -> Option<Self> {
        let data = event.data;
        if data.trim_ascii().is_empty() {
            return None;
        }
        let name = hash(event.name);
        let mut shape = Self { kind: name, name, data, ..Self::default() };
        shape.note_kind(event.name);
        // A number alone may be a word of a text.
        let structured = matches!(data.trim_ascii_start()[0], b'{' | b'[' | b'"');
        if event.is_bare_error() {
            shape.failed = true;
        } else if structured && Json::new(data).finish() {
            let root =
                Path { place: 0, key: Word::default(), depth: 0, is_named: true, kinds: TextKinds::NONE };
            shape.walk(&mut Json::new(data), root);
        } else {
            shape.read_bare(data);
        }
        // A call of a tool may be stopped as well, and the answer goes on.
        shape.stops &= !shape.kinds.has(TextKinds::TOOL);
        Some(shape)
    }

    /// A hash of what distinguishes the event from events of other kinds.
    pub(super) fn outline(&self) -> u64 {
        below(self.kind, self.keys)
    }

    /// The strings that may be text.
    pub(super) fn values(&self) -> impl Iterator<Item = TextValue<'a>> {
        self.strings.iter().map(|string| TextValue {
            place: below(if string.names_kind { self.name } else { self.kind }, string.place),
            text: string.text,
            is_named: string.is_named,
            kinds: match string.kinds.and(self.kinds) {
                kinds if kinds.has(TextKinds::TOOL) => TextKinds::TOOL,
                kinds if kinds.has(TextKinds::REASONING) => TextKinds::REASONING,
                _ => TextKinds::ANSWER,
            },
        })
    }

    /// Data that is not JSON: a marker in brackets, or text.
    fn read_bare(&mut self, data: &'a [u8]) {
        let marker = data.trim_ascii();
        if let [b'[' | b'<', inner @ .., b']' | b'>'] = marker
            && is_name(inner)
        {
            self.ends = has_word(inner, &END_WORDS);
            self.failed = has_word(inner, &FAILURE_WORDS);
            self.kind = below(self.kind, hash(marker));
        } else {
            let (place, kinds) = (below(0, BARE), TextKinds::NONE);
            self.strings.push(PlacedString { place, text: data, is_named: true, kinds, names_kind: false });
        }
    }

    fn walk(&mut self, json: &mut Json<'a>, path: Path) {
        if json.is_string() {
            let text = json.string().unwrap_or_default();
            return self.string(text, path);
        }
        if path.depth == MAX_DEPTH {
            return json.skip();
        }
        let depth = path.depth + 1;
        if json.is_array() {
            json.enter(b'[');
            for index in 0.. {
                if !json.element() {
                    return;
                }
                self.walk(json, Path { place: below(path.place, index.min(MAX_INDEX)), depth, ..path });
            }
        }
        if !json.is_object() {
            return self.scalar(json, path);
        }
        json.enter(b'{');
        while let Some(key) = json.key() {
            let place = below(path.place, key.hash());
            if path.depth == 0 {
                self.keys = self.keys.wrapping_add(place);
            }
            let is_named = TEXT_KEYS.contains(&key);
            let own = match key {
                _ if TOOL_KEYS.contains(&key) => TextKinds::TOOL,
                _ if REASONING_KEYS.contains(&key) => TextKinds::REASONING,
                _ => TextKinds::NONE,
            };
            if path.depth < ERROR_DEPTH && ERROR_KEYS.contains(&key) {
                self.failed |= says_something(json, self.data);
            } else {
                self.walk(json, Path { place, key, depth, is_named, kinds: path.kinds.and(own) });
            }
        }
    }

    fn string(&mut self, text: &'a [u8], path: Path) {
        let names_kind = KIND_KEYS.contains(&path.key);
        if names_kind && is_name(text) {
            self.kind = below(below(self.kind, path.key.hash()), hash(text));
            self.note_kind(text);
        }
        self.is_users |= AUTHOR_KEYS.contains(&path.key) && has_word(text, &USER_WORDS);
        self.ends |= REASON_KEYS.contains(&path.key) && !text.is_empty();
        if self.strings.len() < MAX_STRINGS {
            let Path { place, is_named, kinds, .. } = path;
            self.strings.push(PlacedString { place, text, is_named, kinds, names_kind });
        }
    }

    /// A number, `true`, `false` or `null`.
    fn scalar(&mut self, json: &mut Json<'a>, path: Path) {
        let start = json.start();
        let number = json.number();
        let text = self.data.get(start..json.end()).unwrap_or_default();
        self.ends |= text == b"true" && END_KEYS.contains(&path.key);
        self.failed |= text == b"false" && path.depth <= ERROR_DEPTH && SUCCESS_KEYS.contains(&path.key);
        for (count, keys) in self.tokens.iter_mut().zip(&TOKEN_KEYS) {
            if keys.contains(&path.key) && !number.is_nan() {
                *count = Some(number);
            }
        }
    }

    /// What a name of the event's kind says.
    fn note_kind(&mut self, name: &[u8]) {
        self.ends |= has_word(name, &END_WORDS);
        self.failed |= has_word(name, &FAILURE_WORDS);
        self.stops |= has_word(name, &STOP_WORDS);
        if has_word(name, &TOOL_WORDS) {
            self.kinds = self.kinds.and(TextKinds::TOOL);
        }
        if has_word(name, &REASONING_WORDS) {
            self.kinds = self.kinds.and(TextKinds::REASONING);
        }
    }
}

/// Takes a value, and returns whether it is anything but `null`, `false`, zero or empty.
fn says_something(json: &mut Json, data: &[u8]) -> bool {
    let start = json.start();
    let number = json.number();
    let text = data.get(start..json.end()).unwrap_or_default();
    number != 0.0 && !matches!(text, b"null" | b"false" | b"\"\"" | b"{}" | b"[]" | b"")
}

/// The step to data that is not JSON.
const BARE: u64 = 1;
/// Values deeper than this are not looked at.
const MAX_DEPTH: u32 = 10;
/// Later elements of an array are one place.
const MAX_INDEX: u64 = 8;
/// Strings beyond this number are not looked at.
const MAX_STRINGS: usize = 64;
/// Errors are in the event itself or one level below, as in `data`: deeper ones are a tool's.
const ERROR_DEPTH: u32 = 2;
