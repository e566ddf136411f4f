//! Events come in, facts go out: which wire format this is, what kinds of text an event carried,
//! how the answer ended, and what the provider counted. Recognised from content, never from a URL.
//!
//! A new dialect is a file of its own with a [`Dialect`], named in [`DIALECTS`].

mod anthropic;
mod generic;
mod ollama;
mod openai_chat;
mod openai_responses;
mod shape;

pub(crate) use generic::{NAME as GENERIC, PLAIN_TEXT};

use std::borrow::Cow;

use beacon::{Defect, StreamReport};

use crate::framing::Event;
use crate::integrity::{Message, Sequence};
use crate::json::{Json, Word, unescaped, words};
use crate::server::ServerClaims;

pub(crate) use shape::{Number, Reading};
use shape::{Shape, Take, Tokens, walk};

/// Tried in this order on each event until one knows it.
const DIALECTS: &[&Dialect] =
    &[&openai_chat::DIALECT, &openai_responses::DIALECT, &anthropic::DIALECT, &ollama::DIALECT];

/// One wire format.
pub(crate) struct Dialect {
    /// The word in reports.
    pub(crate) name: &'static str,
    /// Whether an event is of this format.
    recognise: fn(&Clues) -> bool,
    /// Where the facts stand in an event.
    shape: &'static Shape,
    /// What an event means, once it is read.
    settle: fn(&mut Facts, &mut Reading),
    /// The end marker is an event of its own after the finish reason.
    pub(crate) marks_end: bool,
    /// An answer that ends well always gives a finish reason.
    pub(crate) gives_reason: bool,
}

/// What tells formats apart: the top level of one event.
struct Clues<'a> {
    kind: &'a [u8],
    object: Word,
    keys: u8,
}

impl Clues<'_> {
    const CHOICES: u8 = 1;
    const DONE: u8 = 2;
    const CREATED_AT: u8 = 4;

    fn has(&self, key: u8) -> bool {
        self.keys & key != 0
    }
}

/// What a stream has said of itself so far.
#[derive(Clone)]
pub(crate) struct Facts {
    /// Filled in as the facts come: model, id, finish reason and defects here, times by the meter.
    pub(crate) report: StreamReport,
    pub(crate) dialect: Option<&'static Dialect>,
    /// Named only where the content proves it.
    pub(crate) provider: Option<&'static str>,
    /// Every answer in the stream has its finish reason.
    pub(crate) finished: bool,
    /// The end marker came.
    pub(crate) ended: bool,
    /// The provider reported an error. Nothing that follows takes it back.
    pub(crate) failed: bool,
    pub(crate) usage: Usage,
    pub(crate) server: ServerClaims,
    sequence: Sequence,
    message: Message,
    choices: openai_chat::Choices,
    /// Events that were not JSON, before the dialect was known.
    unread: u32,
}

/// Tokens as the provider counted them, latest count, by [`Tokens`].
#[derive(Clone, Default)]
pub(crate) struct Usage([Option<u64>; Tokens::Cached as usize + 1]);

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
    pub(crate) fn new(report: StreamReport) -> Self {
        Self {
            report,
            dialect: None,
            provider: None,
            finished: false,
            ended: false,
            failed: false,
            usage: Usage::default(),
            server: ServerClaims::default(),
            sequence: Sequence::default(),
            message: Message::default(),
            choices: openai_chat::Choices::default(),
            unread: 0,
        }
    }

    /// Takes in one event.
    pub(crate) fn read(&mut self, event: &Event<'_>) -> Text {
        if !event.is_utf8() {
            self.report.defects.add(Defect::InvalidUtf8);
        }
        if event.name == b"error" {
            self.failed = true;
        }
        let data = event.data.trim_ascii();
        if data.is_empty() {
            return Text::NONE;
        }
        if is_sentinel(data) {
            self.ended = true;
            return Text::NONE;
        }
        let Some(dialect) = self.dialect.or_else(|| self.recognise(data)) else {
            return Text::NONE;
        };
        let mut event = Reading::default();
        let mut json = Json::new(data);
        walk(self, &mut event, &mut json, dialect.shape);
        if !json.finish() {
            self.report.defects.add(Defect::Malformed);
            return Text::NONE;
        }
        (dialect.settle)(self, &mut event);
        event.text
    }

    /// Takes in an SSE comment if it is ours: `llm-rum {"ttft_ms":85.2,…}`.
    pub(crate) fn read_comment(&mut self, comment: &[u8]) {
        if let Some(fields) = comment.trim_ascii().strip_prefix(b"llm-rum ") {
            let (mut reading, mut json) = (Reading::default(), Json::new(fields));
            walk(self, &mut reading, &mut json, COMMENT);
            if json.finish() && reading.has_numbers() {
                self.server.settle_comment(&mut reading);
            }
        }
    }

    /// Takes in an event that the stream ended in, if it is whole: most SDKs read it, though the
    /// standard drops it. `None` where it is not whole.
    pub(crate) fn read_pending(&mut self, event: &Event<'_>) -> Option<Text> {
        let data = event.data.trim_ascii();
        let whole = is_sentinel(data) || Json::new(data).finish();
        whole.then(|| self.read(event))
    }

    fn recognise(&mut self, data: &[u8]) -> Option<&'static Dialect> {
        let mut event = Reading::default();
        let mut json = Json::new(data);
        walk(self, &mut event, &mut json, generic::EVENT);
        if !json.finish() {
            if matches!(data[0], b'{' | b'[') {
                self.report.defects.add(Defect::Malformed);
            } else {
                self.unread = self.unread.saturating_add(1);
            }
            return None;
        }
        self.failed |= event.kind == b"error";
        let clues = Clues { kind: event.kind, object: event.object, keys: event.clues };
        self.dialect = DIALECTS.iter().copied().find(|dialect| (dialect.recognise)(&clues));
        if self.dialect.is_some() {
            let malformed = self.report.defects.get(Defect::Malformed).saturating_add(self.unread);
            self.report.defects.set(Defect::Malformed, malformed);
        }
        self.dialect
    }

    /// An answer begins with an event of its own. A second one while the first is open is spliced
    /// in; after its end it is one more, and the stream is open again.
    fn begin_answer(&mut self, id: &[u8]) {
        (self.ended, self.finished, self.report.finish_reason) = (false, false, None);
        self.see_id(id, 1);
    }

    /// An answer ended with an event of its own.
    fn end_answer(&mut self, reason: Option<String>) {
        self.finish(reason);
        self.ended = true;
        self.message.close();
    }

    /// An id that every event repeats. Another one while the answer is open belongs to another
    /// answer, unless the server makes one up per event.
    fn repeat_id(&mut self, id: &[u8]) {
        self.see_id(id, if self.finished { u32::MAX } else { 2 });
    }

    fn see_id(&mut self, id: &[u8], settled: u32) {
        if id.is_empty() {
            return;
        }
        if self.report.response_id.is_none() {
            self.report.response_id = unescaped(id).map(Cow::Owned);
        }
        if self.message.observe(id, settled) {
            self.report.defects.add(Defect::Spliced);
        }
    }

    /// What every dialect does with a finish reason.
    fn finish(&mut self, reason: Option<String>) {
        if let Some(reason) = reason {
            self.failed |= reason == "error";
            self.report.finish_reason = Some(Cow::Owned(reason));
            self.finished = true;
        }
    }
}

impl Usage {
    pub(crate) fn input(&self) -> Option<u64> {
        self.0[Tokens::Input as usize]
    }

    pub(crate) fn reasoning(&self) -> Option<u64> {
        self.0[Tokens::Reasoning as usize]
    }

    pub(crate) fn cached(&self) -> Option<u64> {
        self.0[Tokens::Cached as usize]
    }

    /// Generated tokens, reasoning included. Some providers leave reasoning out of their own
    /// figure, but never out of the total.
    pub(crate) fn output(&self) -> Option<u64> {
        let output = self.0[Tokens::Output as usize]?;
        match (self.0[Tokens::Total as usize], self.input()) {
            (Some(total), Some(input)) => Some(output.max(total.saturating_sub(input))),
            _ => Some(output),
        }
    }
}

fn settle_llama_cpp(facts: &mut Facts, timings: &mut Reading) {
    if facts.server.settle_llama_cpp(timings) {
        facts.provider = Some("llama_cpp");
    }
}

/// The end marker that is not JSON. Some writers put more behind it.
fn is_sentinel(data: &[u8]) -> bool {
    data.starts_with(b"[DONE]")
}

/// The finer counts, which every OpenAI format puts into objects of their own.
const DETAILS: &Shape =
    &[(CACHED_TOKENS, Take::Tokens(Tokens::Cached)), (REASONING_TOKENS, Take::Tokens(Tokens::Reasoning))];

/// llama.cpp's own timing, in whatever dialect it answers.
const TIMINGS_SHAPE: &Shape = &[
    (PROMPT_MS, Take::Number(Number::Prompt)),
    (PREDICTED_MS, Take::Number(Number::Generation)),
    (PREDICTED_N, Take::Number(Number::Generated)),
];

/// Our own timing, in a comment.
const COMMENT: &Shape = &[
    (TTFT_MS, Take::Number(Number::Prompt)),
    (QUEUE_MS, Take::Number(Number::Queue)),
    (GENERATION_MS, Take::Number(Number::Generation)),
    (OUTPUT_TOKENS, Take::Number(Number::Generated)),
];

words! {
    CACHED_TOKENS = b"cached_tokens",
    GENERATION_MS = b"generation_ms",
    OUTPUT_TOKENS = b"output_tokens",
    PREDICTED_MS = b"predicted_ms",
    PREDICTED_N = b"predicted_n",
    PROMPT_MS = b"prompt_ms",
    QUEUE_MS = b"queue_ms",
    REASONING_TOKENS = b"reasoning_tokens",
    TTFT_MS = b"ttft_ms",
}
