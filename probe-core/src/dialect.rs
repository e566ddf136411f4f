//! Events come in, facts go out: which wire format this is, what kinds of text an event carried,
//! how the answer ended, and what the provider counted. Recognised from content, never from a URL.
//!
//! A new dialect is a file of its own with a [`Dialect`], and its line in [`DIALECTS`].

mod anthropic;
mod generic;
mod ollama;
mod openai_chat;
mod openai_responses;

pub(crate) use generic::NAME as GENERIC;

use beacon::{Defect, Defects};

use crate::framing::Event;
use crate::integrity::{Message, Sequence};
use crate::json::{Json, unescaped};
use crate::server::ServerClaims;

/// Tried in this order on each event until one knows it.
const DIALECTS: &[&Dialect] =
    &[&openai_chat::DIALECT, &openai_responses::DIALECT, &anthropic::DIALECT, &ollama::DIALECT];

/// One wire format.
pub(crate) struct Dialect {
    /// The word in reports.
    pub(crate) name: &'static str,
    /// Whether an event is of this format.
    recognise: fn(&Clues) -> bool,
    /// Reads one event's JSON into the facts, and tells what text it brought.
    read: fn(&mut Facts, &mut Json) -> Text,
    /// The end marker is an event of its own after the finish reason.
    pub(crate) marks_end: bool,
    /// An answer that ends well always gives a finish reason.
    pub(crate) gives_reason: bool,
}

/// What tells formats apart: the top level of one event.
#[derive(Default)]
struct Clues<'a> {
    kind: &'a [u8],
    object: &'a [u8],
    choices: bool,
    done: bool,
    created_at: bool,
}

/// What a stream has said of itself so far.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) dialect: Option<&'static Dialect>,
    /// Named only where the content proves it.
    pub(crate) provider: Option<&'static str>,
    pub(crate) model: Option<String>,
    pub(crate) response_id: Option<String>,
    pub(crate) finish_reason: Option<String>,
    /// Every answer in the stream has its finish reason.
    pub(crate) finished: bool,
    /// The end marker came.
    pub(crate) ended: bool,
    /// The provider reported an error. Nothing that follows takes it back.
    pub(crate) failed: bool,
    pub(crate) usage: Usage,
    pub(crate) server: ServerClaims,
    pub(crate) defects: Defects,
    sequence: Sequence,
    message: Message,
    choices: openai_chat::Choices,
    /// Events that were not JSON, before the dialect was known.
    unread: u32,
}

/// Tokens as the provider counted them, latest count.
#[derive(Default)]
pub(crate) struct Usage {
    pub(crate) input: Option<u64>,
    output: Option<u64>,
    total: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    pub(crate) cached: Option<u64>,
}

/// The kinds of generated text that an event brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Text(u8);

impl Text {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ANSWER: Self = Self(1);
    pub(crate) const REASONING: Self = Self(2);
    pub(crate) const REFUSAL: Self = Self(4);
    pub(crate) const TOOL: Self = Self(8);

    pub(crate) fn any(self) -> bool {
        self != Self::NONE
    }

    /// What the user reads: an answer, or the refusal that stands in its place.
    pub(crate) fn is_visible(self) -> bool {
        self.0 & (Self::ANSWER.0 | Self::REFUSAL.0) != 0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn add(&mut self, kind: Self, there: bool) {
        if there {
            self.0 |= kind.0;
        }
    }
}

impl Facts {
    /// Takes in one event.
    pub(crate) fn read(&mut self, event: &Event<'_>) -> Text {
        if !event.is_utf8() {
            self.defects.add(Defect::InvalidUtf8);
        }
        let data = event.data.trim_ascii();
        if data.is_empty() {
            return Text::NONE;
        }
        if is_sentinel(data) {
            self.ended = true;
            return Text::NONE;
        }
        if event.name == b"error" {
            self.failed = true;
        }
        let Some(dialect) = self.dialect.or_else(|| self.recognise(data)) else {
            return Text::NONE;
        };
        let mut json = Json::new(data);
        let text = (dialect.read)(self, &mut json);
        if json.finish() {
            return text;
        }
        self.defects.add(Defect::Malformed);
        Text::NONE
    }

    /// Takes in an event that the stream ended in, if it is whole: most SDKs read it, though the
    /// standard drops it. `None` where it is not whole.
    pub(crate) fn read_pending(&mut self, event: &Event<'_>) -> Option<Text> {
        let data = event.data.trim_ascii();
        let whole = is_sentinel(data) || Json::new(data).finish();
        whole.then(|| self.read(event))
    }

    fn recognise(&mut self, data: &[u8]) -> Option<&'static Dialect> {
        let Some(clues) = Clues::of(data) else {
            if matches!(data[0], b'{' | b'[') {
                self.defects.add(Defect::Malformed);
            } else {
                self.unread = self.unread.saturating_add(1);
            }
            return None;
        };
        let known = DIALECTS.iter().copied().find(|dialect| (dialect.recognise)(&clues));
        match known {
            Some(_) => {
                let malformed = self.defects.get(Defect::Malformed).saturating_add(self.unread);
                self.defects.set(Defect::Malformed, malformed);
                self.dialect = known;
            }
            None => generic::read(self, &mut Json::new(data)),
        }
        known
    }

    /// An answer begins with an event of its own. A second one while the first is open is spliced
    /// in; after its end it is one more, and the stream is open again.
    fn begin_answer(&mut self, id: Option<&[u8]>) {
        (self.ended, self.finished, self.finish_reason) = (false, false, None);
        let Some(id) = id.filter(|id| !id.is_empty()) else {
            return;
        };
        if self.response_id.is_none() {
            self.response_id = unescaped(id);
        }
        if self.message.observe(id, 1) {
            self.defects.add(Defect::Spliced);
        }
    }

    fn end_answer(&mut self) {
        self.ended = true;
        self.message.close();
    }

    /// An id that every event repeats. Another one while the answer is open belongs to another
    /// answer.
    fn read_repeated_id(&mut self, json: &mut Json) {
        let Some(id) = json.word().filter(|id| !id.is_empty()) else {
            return;
        };
        if self.response_id.is_none() {
            self.response_id = unescaped(id);
        }
        if self.message.observe(id, 2) && !self.finished {
            self.defects.add(Defect::Spliced);
        }
    }

    /// llama.cpp's own timing, in whatever dialect it answers.
    fn read_llama_cpp(&mut self, json: &mut Json) {
        if self.server.read_llama_cpp(json) {
            self.provider = Some("llama_cpp");
        }
    }

    /// What every dialect does with a finish reason.
    fn finish(&mut self, reason: Option<String>) {
        if let Some(reason) = reason {
            self.failed |= reason == "error";
            self.finish_reason = Some(reason);
            self.finished = true;
        }
    }
}

impl Usage {
    /// Generated tokens, reasoning included. Some providers leave reasoning out of their own
    /// figure, but never out of the total.
    pub(crate) fn output(&self) -> Option<u64> {
        let beside_input = self.total.zip(self.input).map(|(total, input)| total.saturating_sub(input));
        self.output.max(beside_input.filter(|_| self.output.is_some()))
    }

    /// The finer counts, which every OpenAI format puts into objects of their own.
    fn read_details(&mut self, json: &mut Json) {
        json.each_key(|json, key| match key {
            b"cached_tokens" => keep_latest(&mut self.cached, json),
            b"reasoning_tokens" => keep_latest(&mut self.reasoning, json),
            _ => {}
        });
    }
}

impl<'a> Clues<'a> {
    /// `None` where the data is not JSON.
    fn of(data: &'a [u8]) -> Option<Self> {
        let mut json = Json::new(data);
        let mut clues = Self::default();
        json.each_key(|json, key| match key {
            b"type" => clues.kind = json.word().unwrap_or_default(),
            b"object" => clues.object = json.word().unwrap_or_default(),
            b"choices" => clues.choices = true,
            b"done" => clues.done = true,
            b"created_at" => clues.created_at = true,
            _ => {}
        });
        json.finish().then_some(clues)
    }
}

/// Keeps the first name that a stream gives.
fn keep_first(kept: &mut Option<String>, json: &mut Json) {
    if kept.is_none() {
        *kept = json.name();
    }
}

/// Keeps the latest count that a stream gives.
fn keep_latest(kept: &mut Option<u64>, json: &mut Json) {
    *kept = json.count().or(*kept);
}

/// The end marker that is not JSON. Some writers put more behind it.
fn is_sentinel(data: &[u8]) -> bool {
    data.starts_with(b"[DONE]")
}
