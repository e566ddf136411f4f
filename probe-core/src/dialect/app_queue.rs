//! The queue of a Gradio app: calls of functions, several at a time on one stream, each with its outputs. Which
//! output is text shows by its shape, and by how it grows. `docs/gradio.md` has the rules.

mod edit;
mod output;

use crate::build_variant::ALL_DIALECTS;
use crate::json::{Json, Word};
use crate::text_kinds::TextKinds;

use output::{Brought, Output};

/// What the queue of one stream has shown so far.
#[derive(Debug, Clone)]
pub(crate) struct AppQueue {
    /// When the latest bytes came.
    pub(crate) now_ms: f64,
    pub(super) calls: Vec<Call>,
    /// The user stopped the call that ended last.
    pub(crate) stopped: bool,
    /// Which calls are of the stream.
    pub(super) own: OwnCalls,
    /// When text came that is known to be text only now.
    pub(super) earlier: Vec<(f64, TextKinds)>,
}

/// Which calls of a queue are of a stream, where others may have streams of their own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OwnCalls {
    All,
    /// The first that comes.
    First,
    One(Word),
}

/// A call of a function that has not ended.
#[derive(Debug, Clone)]
pub(super) struct Call {
    id: Word,
    outputs: Vec<Output>,
    /// Its outputs came before its end, which repeats them.
    pub(super) generates: bool,
    pub(super) has_text: bool,
}

/// One queue in a build with all dialects, none in the build that a page loads first.
pub(crate) type OptionalQueue = [AppQueue; ALL_DIALECTS as usize];

impl AppQueue {
    /// For a stream without messages.
    pub(crate) const NONE: Self =
        Self { now_ms: 0.0, calls: Vec::new(), stopped: false, own: OwnCalls::All, earlier: Vec::new() };

    /// Text of earlier events that is known to be text since the latest: when it came, in order.
    pub(crate) fn take_earlier(&mut self) -> Vec<(f64, TextKinds)> {
        std::mem::take(&mut self.earlier)
    }

    /// Whether a message is of a call that is not of this stream. A message without a call is of all calls.
    pub(super) fn leaves_out(&mut self, call: &[u8]) -> bool {
        if call.is_empty() {
            return false;
        }
        if self.own == OwnCalls::First {
            self.own = OwnCalls::One(Word::of(call));
        }
        matches!(self.own, OwnCalls::One(own) if own != Word::of(call))
    }

    /// The index of the call with this id. The oldest call makes room for a new one.
    pub(super) fn call(&mut self, id: &[u8]) -> usize {
        let id = Word::of(id);
        self.calls.iter().position(|call| call.id == id).unwrap_or_else(|| {
            if self.calls.len() == MAX_CALLS {
                self.calls.remove(0);
            }
            self.calls.push(Call { id, outputs: Vec::new(), generates: false, has_text: false });
            self.calls.len() - 1
        })
    }
}

impl Call {
    /// Reads the outputs of a message, a JSON array. Returns the text that they brought.
    pub(super) fn read(
        &mut self,
        outputs: &[u8],
        now_ms: f64,
        earlier: &mut Vec<(f64, TextKinds)>,
    ) -> TextKinds {
        let (mut text, mut grown, mut since) = (TextKinds::NONE, TextKinds::NONE, None);
        let mut json = Json::new(outputs);
        let mut at = 0;
        let is_list = json.enter(b'[');
        while is_list && json.element() && at < MAX_OUTPUTS {
            if at == self.outputs.len() {
                self.outputs.push(Output::Other);
            }
            match self.outputs[at].read(&mut json, now_ms) {
                Brought::Nothing => {}
                Brought::Chat(kinds) => text = text.and(kinds),
                Brought::Growth { since_ms } => {
                    grown = TextKinds::ANSWER;
                    since = since_ms.or(since);
                }
            }
            at += 1;
        }
        // Beside a chat, strings are states and logs.
        if self.outputs.iter().any(Output::is_chat) {
            return text;
        }
        earlier.extend(since.map(|at_ms| (at_ms, grown)));
        grown
    }
}

/// The data of the stream by which an open page shows that it is still there.
pub(super) const ALIVE: &[u8] = b"ALIVE";
/// Calls at the same time. A page has one or two.
const MAX_CALLS: usize = 8;
/// Outputs of one function. A chat has two or three.
const MAX_OUTPUTS: usize = 32;

#[cfg(test)]
mod tests;
