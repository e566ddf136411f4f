//! Recognises the Model Context Protocol: an app asks a server which tools it has, and calls them. Its JSON-RPC frames
//! show the user no text.

use crate::framing::Event;
use crate::json::{Json, Word};

/// The name in reports of a stream whose events are all frames of this protocol.
pub(crate) const NAME: &str = "mcp";

/// Whether all events of a stream so far were frames of this protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolProtocol {
    /// No event came yet.
    Possible,
    Proven,
    Excluded,
}

impl ToolProtocol {
    /// Reads the next event. Returns whether it is a frame.
    pub(super) fn read(&mut self, event: &Event<'_>) -> bool {
        // An event without data only gives a client an id, to resume from.
        if event.data.trim_ascii().is_empty() {
            return false;
        }
        let is_frame = *self != Self::Excluded && is_frame(event, *self == Self::Proven);
        *self = if is_frame { Self::Proven } else { Self::Excluded };
        is_frame
    }
}

/// Whether an event is a frame. An error is one only if it `follows` another frame, as other protocols send errors in
/// JSON-RPC as well.
fn is_frame(event: &Event<'_>, follows: bool) -> bool {
    let mut json = Json::new(event.data);
    let (mut is_rpc, mut is_known) = (false, false);
    let object = json.enter(b'{');
    while object && let Some(key) = json.key() {
        match key {
            JSON_RPC => is_rpc = true,
            METHOD => is_known |= json.string().is_some_and(is_method),
            RESULT => is_known |= is_result(&mut json),
            ERROR => is_known |= follows,
            _ => {}
        }
    }
    is_rpc && is_known && json.finish()
}

/// Whether a server of this protocol calls a method of this name. A notification of another name can be text of another
/// protocol.
fn is_method(name: &[u8]) -> bool {
    name.starts_with(b"notifications/") || METHODS.contains(&name)
}

/// Reads the result of a call. Returns whether it is one of this protocol: it is empty, or has a key of [`RESULTS`].
fn is_result(json: &mut Json<'_>) -> bool {
    let (mut is_known, mut is_empty) = (false, true);
    if !json.enter(b'{') {
        return false;
    }
    while let Some(key) = json.key() {
        is_empty &= key == META;
        is_known |= RESULTS.contains(&key) && (json.is_array() || json.is_object());
    }
    is_known || is_empty
}

const JSON_RPC: Word = Word::of(b"jsonrpc");
const METHOD: Word = Word::of(b"method");
const RESULT: Word = Word::of(b"result");
const ERROR: Word = Word::of(b"error");
const META: Word = Word::of(b"_meta");

/// Requests of a server to the app.
const METHODS: [&[u8]; 4] = [b"ping", b"roots/list", b"sampling/createMessage", b"elicitation/create"];

/// Keys of results: of `initialize`, of lists, and of a tool, resource, prompt or completion.
const RESULTS: [Word; 9] = Word::all([
    b"serverInfo",
    b"tools",
    b"prompts",
    b"resources",
    b"resourceTemplates",
    b"content",
    b"contents",
    b"messages",
    b"completion",
]);
