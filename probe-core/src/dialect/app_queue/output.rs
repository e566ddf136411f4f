//! One output of a function: a chat, a string that may grow, or anything else.

use super::edit::{ChatMessage, Edit, Place, content_bytes};
use crate::json::{Json, Word};
use crate::text_kinds::TextKinds;

/// What an output has shown so far.
#[derive(Debug, Clone)]
pub(super) enum Output {
    /// Nothing that may be text.
    Other,
    Chat(Chat),
    String(GrowingString),
}

/// What a message brought for an output.
pub(super) enum Brought {
    Nothing,
    /// Text of these kinds in a chat, or none.
    Chat(TextKinds),
    /// A string has grown. If it is known to be text only now: when its beginning came.
    Growth {
        since_ms: Option<f64>,
    },
}

#[derive(Debug, Clone, Default)]
pub(super) struct Chat {
    /// The kind of text of each message.
    kinds: Vec<TextKinds>,
    /// The length of the text since the user's last message, if it comes whole each time.
    bytes: usize,
}

/// A string that is text once it goes on from what it was before.
#[derive(Debug, Clone)]
pub(super) struct GrowingString {
    since_ms: f64,
    bytes: usize,
    hash: Word,
    is_text: bool,
}

impl Output {
    pub(super) fn is_chat(&self) -> bool {
        matches!(self, Self::Chat(_))
    }

    /// Reads the next value: the whole output, or edits of it.
    pub(super) fn read(&mut self, json: &mut Json<'_>, now_ms: f64) -> Brought {
        if json.is_string() {
            return self.read_string(json.string().unwrap_or_default(), now_ms);
        }
        if json.is_array() {
            return self.read_list(json, now_ms);
        }
        let mut brought = Brought::Nothing;
        if json.enter(b'{') {
            // An update of the output: its label, whether it takes input, its value.
            while let Some(key) = json.key() {
                if key == VALUE {
                    brought = self.read(json, now_ms);
                }
            }
        }
        brought
    }

    fn read_string(&mut self, text: &[u8], now_ms: f64) -> Brought {
        match self {
            Self::String(string) => string.observe(text, now_ms),
            Self::Other if !text.is_empty() => {
                *self = Self::String(GrowingString::new(text, now_ms));
                Brought::Nothing
            }
            _ => Brought::Nothing,
        }
    }

    /// Reads a list of messages, of pairs of question and answer, or of edits.
    fn read_list(&mut self, json: &mut Json<'_>, now_ms: f64) -> Brought {
        let (mut brought, mut is_chat) = (Brought::Nothing, false);
        let mut chat = Chat::default();
        let mut latest = TextKinds::NONE;
        json.enter(b'[');
        while json.element() {
            let message = if json.is_array() {
                match self.read_row(json, now_ms) {
                    Row::Edit(new) => {
                        brought = brought.and(new);
                        continue;
                    }
                    Row::Pair(answer) => {
                        latest = TextKinds::NONE;
                        Some(answer)
                    }
                    Row::Other => None,
                }
            } else if json.is_object() {
                ChatMessage::read(json)
            } else {
                None
            };
            let Some(ChatMessage { kinds, bytes }) = message else {
                continue;
            };
            is_chat = true;
            if chat.kinds.len() < MAX_MESSAGES {
                chat.kinds.push(kinds);
            }
            if !kinds.any() {
                (latest, chat.bytes) = (TextKinds::NONE, 0);
            } else if bytes > 0 {
                (latest, chat.bytes) = (latest.and(kinds), chat.bytes + bytes);
            }
        }
        if !is_chat {
            return brought;
        }
        let is_new = !matches!(self, Self::Chat(before) if before.bytes == chat.bytes);
        *self = Self::Chat(chat);
        Brought::Chat(if is_new { latest } else { TextKinds::NONE })
    }

    /// Reads an array in a list.
    fn read_row(&mut self, json: &mut Json<'_>, now_ms: f64) -> Row {
        let (mut edit, mut place, mut answer, mut brought) = (None, None, None, None);
        let mut at = 0;
        json.enter(b'[');
        while json.element() {
            match (at, edit, place) {
                (0, ..) => edit = json.string().and_then(Edit::of),
                (1, Some(_), _) if json.is_array() => place = Some(Place::read(json)),
                (1, ..) if json.is_string() || json.is_null() => answer = Some(content_bytes(json)),
                (2, Some(edit), Some(place)) => brought = Some(self.apply(edit, place, json, now_ms)),
                _ => answer = None,
            }
            at += 1;
        }
        match (brought, answer) {
            (Some(brought), _) => Row::Edit(brought),
            (None, Some(bytes)) => Row::Pair(ChatMessage { kinds: TextKinds::ANSWER, bytes }),
            (None, None) => Row::Other,
        }
    }

    /// Applies an edit, whose value comes next.
    fn apply(&mut self, edit: Edit, place: Place, json: &mut Json<'_>, now_ms: f64) -> Brought {
        match (edit, place) {
            (Edit::Append, Place::Whole) => self.append(json.string().unwrap_or_default(), now_ms),
            (Edit::Put, Place::Whole) => self.read(json, now_ms),
            (Edit::Delete, Place::Element(at)) => {
                if let Self::Chat(chat) = self
                    && at < chat.kinds.len()
                {
                    chat.kinds.remove(at);
                }
                Brought::Nothing
            }
            (Edit::Put, Place::Element(at)) => self.put_message(at, json, now_ms),
            (Edit::Append | Edit::Put, Place::Content(at)) => {
                let bytes = content_bytes(json);
                self.edit_chat(|chat| chat.text_at(at, bytes))
            }
            (Edit::Append | Edit::Put, Place::PairAnswer(at)) => {
                let bytes = content_bytes(json);
                match self {
                    Self::Chat(chat) => chat.text_at(at, bytes),
                    _ => Brought::Nothing,
                }
            }
            _ => Brought::Nothing,
        }
    }

    fn append(&mut self, text: &[u8], now_ms: f64) -> Brought {
        match self {
            Self::String(string) if !text.is_empty() => string.grow(),
            _ => self.read_string(text, now_ms),
        }
    }

    /// A message of a chat, or a pair, begins or is replaced.
    fn put_message(&mut self, at: usize, json: &mut Json<'_>, now_ms: f64) -> Brought {
        let message = if json.is_object() {
            ChatMessage::read(json)
        } else if json.is_array() {
            match self.read_row(json, now_ms) {
                Row::Pair(answer) => Some(answer),
                Row::Edit(_) | Row::Other => None,
            }
        } else {
            None
        };
        let Some(ChatMessage { kinds, bytes }) = message else {
            return Brought::Nothing;
        };
        self.edit_chat(|chat| {
            if at < MAX_MESSAGES {
                if at >= chat.kinds.len() {
                    chat.kinds.resize(at + 1, TextKinds::ANSWER);
                }
                chat.kinds[at] = kinds;
            }
            Brought::Chat(if bytes > 0 { kinds } else { TextKinds::NONE })
        })
    }

    /// Edits the chat that this output is known to be by now. Its text does not come whole any longer.
    fn edit_chat(&mut self, edit: impl FnOnce(&mut Chat) -> Brought) -> Brought {
        let mut chat = match self {
            Self::Chat(chat) => std::mem::take(chat),
            Self::Other | Self::String(_) => Chat::default(),
        };
        chat.bytes = 0;
        let brought = edit(&mut chat);
        *self = Self::Chat(chat);
        brought
    }
}

/// An array in a list.
enum Row {
    Edit(Brought),
    /// A question and its answer.
    Pair(ChatMessage),
    Other,
}

impl Chat {
    /// `bytes` bytes of text came in the message with this number.
    fn text_at(&self, at: usize, bytes: usize) -> Brought {
        let kinds = self.kinds.get(at).copied().unwrap_or(TextKinds::ANSWER);
        Brought::Chat(if bytes > 0 { kinds } else { TextKinds::NONE })
    }
}

impl GrowingString {
    fn new(text: &[u8], now_ms: f64) -> Self {
        Self { since_ms: now_ms, bytes: text.len(), hash: Word::of(text), is_text: false }
    }

    /// The string comes whole again.
    fn observe(&mut self, text: &[u8], now_ms: f64) -> Brought {
        let goes_on = text.get(..self.bytes).is_some_and(|start| Word::of(start) == self.hash);
        if goes_on && text.len() == self.bytes {
            return Brought::Nothing;
        }
        let Self { since_ms, is_text, .. } = *self;
        *self = Self { is_text, ..Self::new(text, now_ms) };
        if goes_on || (is_text && !text.is_empty()) {
            self.since_ms = since_ms;
            self.grow()
        } else {
            Brought::Nothing
        }
    }

    fn grow(&mut self) -> Brought {
        let is_known = std::mem::replace(&mut self.is_text, true);
        Brought::Growth { since_ms: (!is_known).then_some(self.since_ms) }
    }
}

impl Brought {
    /// What two edits brought.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, it) | (it, Self::Nothing) => it,
            (Self::Chat(one), Self::Chat(other)) => Self::Chat(one.and(other)),
            (Self::Growth { since_ms }, Self::Growth { .. }) => Self::Growth { since_ms },
            (chat @ Self::Chat(_), _) | (_, chat) => chat,
        }
    }
}

const VALUE: Word = Word::of(b"value");
/// Messages whose kinds are kept. Text of later ones counts as an answer.
const MAX_MESSAGES: usize = 256;
