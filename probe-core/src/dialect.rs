//! Events come in, facts go out: which wire format this is, what kinds of text an event carried,
//! how the answer ended, and what the provider counted. Recognised from content, never from a URL.
//!
//! A dialect is a table in the language of [`schema`], read by the code here. A new one is a file of
//! its own and a line in [`formats`]. While the crate is compiled, [`table_encoder`] makes bytes of all tables;
//! what reads them is [`table_reader`], and [`stream_state`] says what it comes to.

mod detect;
mod formats;
mod schema;
mod stream_state;
mod table_encoder;
mod table_reader;
mod usage;

pub(crate) use detect::{NAME as GENERIC, PLAIN_TEXT};
pub(crate) use stream_state::Facts;

use beacon::ServerStart;

use crate::json::Word;
use crate::server_timing::Clock;

use detect::FirstLook;
use schema::{Act, Table, Take, Tokens, table};
pub(crate) use schema::{Number, Reading, Shape, Text, written_bytes};
#[cfg(any(test, fuzzing))]
pub(crate) use table_reader::KNOWN;
pub(crate) use table_reader::{Known, Timing};

/// One wire format.
pub(crate) struct Dialect {
    /// The word in reports.
    pub(crate) name: &'static str,
    /// Who serves it, where nobody else does.
    provider: Option<&'static str>,
    /// Types of event that this format has, and what they mean. One of them is what it is recognised
    /// by, if it has any.
    kinds: &'static Table<Act>,
    /// Pairs of keys at the top level of an event. Where there are no types, or they are
    /// [`Act::COMMON`], one whole pair is what it is recognised by.
    signs: &'static [(Word, Word)],
    /// Where the facts stand in an event.
    shape: &'static Shape,
    /// Whose timing it is that stands in the event itself.
    clock: Option<&'static Clock>,
    /// The type of an event is the name that SSE gives it, not a field in it.
    named: bool,
    /// Name of the SSE events that are numbered by their ids.
    numbered: Option<&'static [u8]>,
    /// The end marker is an event of its own after the finish reason.
    pub(crate) marks_end: bool,
    /// An answer that ends well always gives a finish reason.
    pub(crate) gives_reason: bool,
    /// Nothing marks the end but the end of the body.
    pub(crate) ends_by_closing: bool,
}

impl Dialect {
    /// What most of them are like.
    const PLAIN: Self = Self {
        name: "",
        provider: None,
        kinds: &[],
        signs: &[],
        shape: &[],
        clock: None,
        named: false,
        numbered: None,
        marks_end: false,
        gives_reason: false,
        ends_by_closing: false,
    };
}

impl Known {
    /// Whether an event that looks like this is of this format.
    fn knows(&self, look: &FirstLook) -> bool {
        let kind = if self.named { look.name } else { look.kind };
        let signed = || self.signs.iter().any(|&(one, other)| look.has(one, other));
        match Act::of(kind, self.kinds) {
            Some(act) => !act.has(Act::COMMON) || signed(),
            None => self.kinds.is_empty() && signed(),
        }
    }
}

/// Finish reasons that say that the answer broke off.
const FAILURES: &Table<Act> = table! {
    "error" => Act::FAIL,
    "ERROR" => Act::FAIL,
    "failed" => Act::FAIL,
    "abort" => Act::FAIL,
    "TIMEOUT" => Act::FAIL,
    "network_error" => Act::FAIL,
    "insufficient_system_resource" => Act::FAIL,
};

/// The finer counts, which every OpenAI format puts into objects of their own.
const DETAILS: &Shape = table! {
    "cached_tokens" => Take::Tokens(Tokens::Cached),
    "reasoning_tokens" => Take::Tokens(Tokens::Reasoning),
    "thinking_tokens" => Take::Tokens(Tokens::Reasoning),
};

/// llama.cpp's own timing, in whatever dialect it answers. Its prompt time begins when a slot takes
/// the request up: the wait for one is not in it.
const LLAMA_CPP: Clock = Clock {
    name: "llama_cpp",
    starts_from: ServerStart::Prefill,
    // While it is still busy with the prompt, it has times too.
    needs: Number::Generated,
    shape: table! {
        "prompt_ms" => Take::Number(Number::Prompt),
        "predicted_ms" => Take::Number(Number::Generation),
        "predicted_n" => Take::Number(Number::Generated),
    },
    ..Clock::PLAIN
};

/// vLLM's own timing, where it was started with `--enable-per-request-metrics`. Its first token
/// counts from when the request was scheduled, and the wait for that stands beside it.
const VLLM: Clock = Clock {
    name: "vllm",
    starts_from: ServerStart::Scheduled,
    shape: table! {
        "queue_time_ms" => Take::Number(Number::Queue),
        "time_to_first_token_ms" => Take::Number(Number::Prompt),
        "generation_time_ms" => Take::Number(Number::Generation),
    },
    ..Clock::PLAIN
};

/// Our own timing, in a comment.
const COMMENT: &Shape = table! {
    "ttft_ms" => Take::Number(Number::Prompt),
    "queue_ms" => Take::Number(Number::Queue),
    "generation_ms" => Take::Number(Number::Generation),
    "output_tokens" => Take::Number(Number::Generated),
};
