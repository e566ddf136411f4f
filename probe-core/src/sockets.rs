//! Tells the answers apart that come over the sockets of a page. Each open stream gets every message of its socket, and
//! this hands each event to the stream whose answer it belongs to. `docs/sockets.md` has the rules.

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

/// An event of an answer.
#[derive(Debug, Clone, Copy)]
pub struct OwnEvent<'a> {
    /// The stream that it belongs to.
    pub stream: u32,
    /// The lines of a server-sent event.
    pub bytes: &'a [u8],
    /// The chunk had another event of this stream before.
    pub goes_on: bool,
}

#[derive(Debug, Clone)]
struct Answers {
    /// The sockets with an open answer.
    connections: Vec<Connection>,
    /// The oldest first.
    open: Vec<Answer>,
    /// Ids of answers that were forgotten, with their sockets.
    past: VecDeque<(u32, u64)>,
}

#[derive(Debug, Clone)]
struct Connection {
    socket: u32,
    engine_io: bool,
    messages: Sse,
    /// The bytes of messages that were read. Each open answer hands over the same bytes.
    bytes: usize,
}

#[derive(Debug, Clone)]
struct Answer {
    stream: u32,
    socket: u32,
    /// The bytes of messages that this answer has handed over, or that came before it.
    bytes: usize,
    named: Vec<NamedId>,
    /// The ids of the answer that events had, at most [`MAX_OWN`].
    own: Vec<u64>,
    /// Events of this answer named another id than its own: the server's ids do not tell answers apart.
    has_more_ids: bool,
    /// The chunk that is read has an event of this answer.
    has_event: bool,
    ended: bool,
}

/// What the id of an event is to the answer that the event belongs to.
#[derive(Clone, Copy)]
enum Id {
    /// That answer's own.
    Own,
    /// One more, of an answer that has its own already.
    OneMore,
    /// The event has no id, or another answer has the same one.
    NoProof,
}

impl Sockets {
    /// No stream.
    pub const NONE: Self = Self([Answers::NONE; _]);

    /// The stream with this number is the answer to a question. The numbers of open streams differ.
    pub fn ask(&mut self, stream: u32, question: Question<'_>) {
        self.0.iter_mut().for_each(|answers| answers.ask(stream, question));
    }

    /// Hands `read` each event in a chunk of messages, which are the data of server-sent events. It returns whether the
    /// answer has ended. All open answers of a socket get the same chunks, and the first that hands one over reads it for
    /// all. `false` if the stream does not come over a socket: then the chunk is its own.
    pub fn read(&mut self, stream: u32, chunk: &[u8], mut read: impl FnMut(OwnEvent<'_>) -> bool) -> bool {
        ALL_DIALECTS && self.0.iter_mut().any(|answers| answers.read(stream, chunk, &mut read))
    }

    /// No more of this stream is read.
    pub fn forget(&mut self, stream: u32) {
        self.0.iter_mut().for_each(|answers| answers.forget(stream));
    }
}

impl Answers {
    const NONE: Self = Self { connections: Vec::new(), open: Vec::new(), past: VecDeque::new() };

    fn ask(&mut self, stream: u32, Question { socket, engine_io, text }: Question<'_>) {
        let known = self.connections.iter().find(|connection| connection.socket == socket);
        let bytes = known.map_or(0, |connection| connection.bytes);
        if known.is_none() {
            self.connections.push(Connection { socket, engine_io, messages: Sse::default(), bytes });
        }
        let (named, own) = (ids::named(text), Vec::new());
        let (has_more_ids, has_event, ended) = (false, false, false);
        self.open.push(Answer { stream, socket, bytes, named, own, has_more_ids, has_event, ended });
    }

    fn read(&mut self, stream: u32, chunk: &[u8], read: &mut impl FnMut(OwnEvent<'_>) -> bool) -> bool {
        let Some(answer) = self.open.iter_mut().find(|answer| answer.stream == stream) else { return false };
        answer.bytes += chunk.len();
        let Answer { socket, bytes, .. } = *answer;
        let connection = self.connections.iter_mut().find(|connection| connection.socket == socket);
        let Some(connection) = connection.filter(|connection| connection.bytes < bytes) else { return true };
        let mut input = &chunk[chunk.len().saturating_sub(bytes - connection.bytes)..];
        connection.bytes = bytes;
        self.open.iter_mut().for_each(|answer| answer.has_event = false);
        let engine_io = connection.engine_io;
        let mut messages = std::mem::take(&mut connection.messages);
        while let Some(frame) = messages.next(&mut input) {
            let Frame::Event(message) = frame else { continue };
            if engine_io {
                packet::events(message.data).for_each(|event| self.read_event(socket, &event, read));
            } else {
                self.read_event(socket, &message, read);
            }
        }
        if let Some(connection) = self.connections.iter_mut().find(|connection| connection.socket == socket) {
            connection.messages = messages;
        }
        true
    }

    fn read_event(&mut self, socket: u32, event: &Event<'_>, read: &mut impl FnMut(OwnEvent<'_>) -> bool) {
        let ids = EventIds::of(event.data);
        let (owner, id) = self.owner(socket, ids);
        let Some(owner) = owner.and_then(|at| self.open.get_mut(at)) else { return };
        if !owner.is_of_chat(ids) {
            return;
        }
        if let Some(value) = ids.answer {
            owner.note(value, id);
        }
        let mut bytes = Vec::new();
        write_event(event, &mut bytes);
        let goes_on = std::mem::replace(&mut owner.has_event, true);
        owner.ended = read(OwnEvent { stream: owner.stream, bytes: &bytes, goes_on });
    }

    /// The answer that an event belongs to, and what its id is.
    fn owner(&self, socket: u32, ids: EventIds) -> (Option<usize>, Id) {
        let oldest = self.oldest(socket, ids);
        let Some(id) = ids.answer else { return (oldest, Id::NoProof) };
        let is_running = |&at: &usize| !self.open[at].ended;
        let has = |&at: &usize| self.open[at].socket == socket && self.open[at].has(id);
        let known = || (0..self.open.len()).filter(has);
        // Where several have the id, one answer follows the other.
        if let Some(known) = known().find(is_running).or_else(|| known().next()) {
            // Some servers have one `id` for all answers.
            let next = oldest.filter(is_running).filter(|&next| self.open[next].own.is_empty());
            if ids.is_vague && self.open[known].ended && next.is_some() {
                return (next, Id::NoProof);
            }
            return (Some(known), Id::Own);
        }
        if self.past.contains(&(socket, id)) {
            return (oldest.filter(|_| ids.is_vague), Id::NoProof);
        }
        if oldest.filter(is_running).is_some_and(|oldest| self.open[oldest].has_more_ids) {
            return (oldest, Id::OneMore);
        }
        let waits = |&at: &usize| self.open[at].own.is_empty() && !self.open[at].ended;
        match self.candidates(socket, ids).find(waits) {
            Some(waiting) => (Some(waiting), Id::Own),
            None => (oldest, Id::OneMore),
        }
    }

    /// The oldest answer that has not ended, or else the oldest.
    fn oldest(&self, socket: u32, ids: EventIds) -> Option<usize> {
        let running = self.candidates(socket, ids).find(|&at| !self.open[at].ended);
        running.or_else(|| self.candidates(socket, ids).next())
    }

    /// Answers of the socket and, if their question named a chat by the event's key, of the event's chat.
    fn candidates(&self, socket: u32, ids: EventIds) -> impl Iterator<Item = usize> {
        let fits = move |answer: &Answer| answer.socket == socket && answer.is_of_chat(ids);
        (0..self.open.len()).filter(move |&at| fits(&self.open[at]))
    }

    fn forget(&mut self, stream: u32) {
        let Some(at) = self.open.iter().position(|answer| answer.stream == stream) else { return };
        let Answer { socket, own, .. } = self.open.remove(at);
        if !self.open.iter().any(|answer| answer.socket == socket) {
            self.connections.retain(|connection| connection.socket != socket);
        }
        for id in own {
            self.past.push_back((socket, id));
            if self.past.len() > MAX_PAST {
                self.past.pop_front();
            }
        }
    }
}

impl Answer {
    fn has(&self, id: u64) -> bool {
        self.own.contains(&id) || self.named.iter().any(|&(_, value)| value == id)
    }

    /// Whether the event is of the question's chat, as far as both name one.
    fn is_of_chat(&self, ids: EventIds) -> bool {
        ids.chat.is_none_or(|chat| !self.named.iter().any(|id| id.0 == chat.0) || self.named.contains(&chat))
    }

    fn note(&mut self, value: u64, id: Id) {
        match id {
            Id::Own if !self.own.contains(&value) && self.own.len() < MAX_OWN => self.own.push(value),
            Id::OneMore => self.has_more_ids = true,
            Id::Own | Id::NoProof => {}
        }
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

/// Ids of one answer that are remembered.
const MAX_OWN: usize = 4;
/// Ids of past answers that are remembered.
const MAX_PAST: usize = 64;
