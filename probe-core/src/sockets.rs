//! Tells the answers apart that come over the sockets of a page. Each open stream gets every message of its socket, and
//! this leaves the events of its own answer, as server-sent events. `docs/sockets.md` has the rules.

mod ids;
mod packet;

use std::collections::VecDeque;

use crate::build_variant::ALL_DIALECTS;
use crate::framing::{Event, Frame, Sse};

pub(crate) use ids::EventIds;
use ids::NamedId;

/// The open answers of all sockets. In a build without all dialects it holds none, and no stream is one of a socket.
#[derive(Debug, Clone)]
pub struct Sockets([Answers; ALL_DIALECTS as usize]);

/// The question of a stream, and the socket that its answer comes over.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The number of the socket. Sockets of one page have different numbers.
    pub socket: u32,
    /// Its messages are packets of Engine.IO.
    pub engine_io: bool,
    /// What the app sent. It may be cut. Only hashes of the ids in it are kept.
    pub text: &'a [u8],
}

#[derive(Debug, Clone)]
struct Answers {
    /// The oldest first.
    open: Vec<Answer>,
    /// Ids of answers that were forgotten, with their sockets.
    past: VecDeque<(u32, u64)>,
}

#[derive(Debug, Clone)]
struct Answer {
    stream: u32,
    socket: u32,
    engine_io: bool,
    messages: Sse,
    named: Vec<NamedId>,
    /// The id of the answer, once an event had it.
    own: Option<u64>,
    ended: bool,
}

impl Sockets {
    /// No stream.
    pub const NONE: Self = Self([Answers::NONE; _]);

    /// The stream with this number is the answer to a question. The numbers of open streams differ.
    pub fn ask(&mut self, stream: u32, question: Question<'_>) {
        for answers in &mut self.0 {
            let Question { socket, engine_io, text } = question;
            let (messages, named) = (Sse::default(), ids::named(text));
            answers.open.push(Answer { stream, socket, engine_io, messages, named, own: None, ended: false });
        }
    }

    /// The events of this stream's answer in a chunk of messages, each the data of a server-sent event. `None` if the
    /// stream does not come over a socket: then the chunk is its own.
    pub fn own_events(&mut self, stream: u32, chunk: &[u8]) -> Option<Vec<u8>> {
        self.0.iter_mut().find_map(|answers| answers.own_events(stream, chunk))
    }

    /// An event has ended the answer of this stream, or text has revoked that.
    pub fn set_ended(&mut self, stream: u32, ended: bool) {
        for answer in self.0.iter_mut().flat_map(|answers| &mut answers.open) {
            if answer.stream == stream {
                answer.ended = ended;
            }
        }
    }

    /// No more of this stream is read.
    pub fn forget(&mut self, stream: u32) {
        self.0.iter_mut().for_each(|answers| answers.forget(stream));
    }
}

impl Answers {
    const NONE: Self = Self { open: Vec::new(), past: VecDeque::new() };

    fn own_events(&mut self, stream: u32, chunk: &[u8]) -> Option<Vec<u8>> {
        let at = self.open.iter().position(|answer| answer.stream == stream)?;
        let engine_io = self.open[at].engine_io;
        let mut messages = std::mem::take(&mut self.open[at].messages);
        let (mut input, mut own) = (chunk, Vec::new());
        while let Some(frame) = messages.next(&mut input) {
            let Frame::Event(message) = frame else { continue };
            if engine_io {
                let events =
                    packet::events(message.data).filter(|event| self.belongs(at, event)).collect::<Vec<_>>();
                events.iter().for_each(|event| write_event(event, &mut own));
            } else if self.belongs(at, &message) {
                write_event(&message, &mut own);
            }
        }
        self.open[at].messages = messages;
        Some(own)
    }

    /// Whether an event belongs to the answer at this place.
    fn belongs(&mut self, at: usize, event: &Event<'_>) -> bool {
        let ids = EventIds::of(event.data);
        let Answer { socket, ref named, .. } = self.open[at];
        if let Some((key, value)) = ids.chat
            && named.iter().any(|id| id.0 == key)
            && !named.contains(&(key, value))
        {
            return false;
        }
        let Some(id) = ids.answer else {
            return at == self.oldest(socket, ids);
        };
        let with = |of: fn(&Answer, u64) -> bool| {
            self.open.iter().position(|answer| answer.socket == socket && of(answer, id))
        };
        let known = with(|answer, id| answer.own == Some(id)).or_else(|| with(Answer::names));
        if let Some(known) = known {
            self.open[known].own = Some(id);
            return known == at;
        }
        if self.past.contains(&(socket, id)) {
            // Some servers have one `id` for all answers.
            return ids.is_vague && at == self.oldest(socket, ids);
        }
        let waiting = self.candidates(socket, ids).find(|&other| self.open[other].own.is_none());
        match waiting {
            Some(waiting) => {
                self.open[waiting].own = Some(id);
                waiting == at
            }
            None => at == self.oldest(socket, ids),
        }
    }

    /// The oldest answer that has not ended, or else the oldest.
    fn oldest(&self, socket: u32, ids: EventIds) -> usize {
        let running = self.candidates(socket, ids).find(|&at| !self.open[at].ended);
        running.or_else(|| self.candidates(socket, ids).next()).unwrap_or(usize::MAX)
    }

    /// Answers of the socket and, if their question named a chat by the event's key, of the event's chat.
    fn candidates(&self, socket: u32, ids: EventIds) -> impl Iterator<Item = usize> {
        let fits = move |answer: &Answer| {
            let of_chat = ids.chat.is_none_or(|chat| {
                !answer.named.iter().any(|id| id.0 == chat.0) || answer.named.contains(&chat)
            });
            answer.socket == socket && of_chat
        };
        (0..self.open.len()).filter(move |&at| fits(&self.open[at]))
    }

    fn forget(&mut self, stream: u32) {
        let Some(at) = self.open.iter().position(|answer| answer.stream == stream) else { return };
        let Answer { socket, own, .. } = self.open.remove(at);
        if let Some(id) = own {
            self.past.push_back((socket, id));
            if self.past.len() > MAX_PAST {
                self.past.pop_front();
            }
        }
    }
}

impl Answer {
    fn names(&self, id: u64) -> bool {
        self.named.iter().any(|&(_, value)| value == id)
    }
}

/// Writes an event as a server-sent one. A name that no line can hold is left out.
fn write_event(event: &Event<'_>, to: &mut Vec<u8>) {
    let is_line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if !event.name.is_empty() && !event.name.iter().any(is_line_end) {
        to.extend_from_slice(b"event: ");
        to.extend_from_slice(event.name);
        to.push(b'\n');
    }
    for line in event.data.split(|byte| is_line_end(byte)) {
        to.extend_from_slice(b"data: ");
        to.extend_from_slice(line);
        to.push(b'\n');
    }
    to.push(b'\n');
}

/// Ids of past answers that are remembered.
const MAX_PAST: usize = 64;
