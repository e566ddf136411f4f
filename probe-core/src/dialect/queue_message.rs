//! One message of the queue, or one event of a call with a stream of its own.

use crate::json::{Json, Word};

/// The parts of a message that mean something here.
pub(super) struct QueueMessage<'a> {
    pub(super) kind: MessageKind,
    /// The id of the call.
    pub(super) call: &'a [u8],
    pub(super) failed: bool,
    /// A JSON array with an element for each output of the function. A call that the user stopped ends without it.
    pub(super) outputs: Option<&'a [u8]>,
    /// The end of the call is the end of the stream.
    pub(super) closes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// A call waits or begins.
    Call,
    /// A call goes on.
    Outputs,
    /// A call has ended.
    End,
    /// The stream ends.
    Close,
    /// Progress, log lines, signs of life.
    Other,
}

impl<'a> QueueMessage<'a> {
    /// Reads an event. `None` if it is not JSON.
    pub(super) fn of(name: &[u8], data: &'a [u8]) -> Option<Self> {
        if name.is_empty() { Self::read(data) } else { Self::named(name, data) }
    }

    fn read(data: &'a [u8]) -> Option<Self> {
        let mut message =
            Self { kind: MessageKind::Other, call: b"", failed: false, outputs: None, closes: false };
        let mut json = Json::new(data);
        let is_object = json.enter(b'{');
        while is_object && let Some(key) = json.key() {
            if key == MSG {
                message.kind = MessageKind::of(json.string().unwrap_or_default());
            } else if key == EVENT_ID {
                message.call = json.string().unwrap_or_default();
            } else if key == SUCCESS {
                message.failed |= !json.is_something();
            } else if key == OUTPUT {
                let is_object = json.enter(b'{');
                while is_object && let Some(key) = json.key() {
                    if key == DATA {
                        message.outputs = list(data, &mut json);
                    }
                }
            }
        }
        json.finish().then_some(message)
    }

    /// An event of `/call/NAME/ID`: its data is the array of outputs.
    fn named(name: &[u8], data: &'a [u8]) -> Option<Self> {
        let kind = match name {
            b"generating" => MessageKind::Outputs,
            b"complete" => MessageKind::End,
            _ => MessageKind::Other,
        };
        let mut json = Json::new(data);
        let outputs = list(data, &mut json);
        let closes = kind == MessageKind::End;
        json.finish().then_some(Self { kind, call: b"", failed: false, outputs, closes })
    }
}

impl MessageKind {
    fn of(msg: &[u8]) -> Self {
        match msg {
            b"estimation" | b"process_starts" => Self::Call,
            b"process_generating" | b"process_streaming" => Self::Outputs,
            b"process_completed" => Self::End,
            b"close_stream" => Self::Close,
            _ => Self::Other,
        }
    }
}

/// Takes the next value of `data` if it is an array.
fn list<'a>(data: &'a [u8], json: &mut Json<'a>) -> Option<&'a [u8]> {
    let is_list = json.is_array();
    let start = json.start();
    json.skip();
    data.get(start..json.end()).filter(|_| is_list)
}

const MSG: Word = Word::of(b"msg");
const EVENT_ID: Word = Word::of(b"event_id");
const SUCCESS: Word = Word::of(b"success");
const OUTPUT: Word = Word::of(b"output");
const DATA: Word = Word::of(b"data");
