//! Understands a stream of events that no dialect knows, by its structure: which value is the text, whether it comes
//! in pieces or whole each time, which event is the end, and which is an error. `docs/inferred-formats.md` has the rules.
//!
//! What is learnt are hashes of paths of keys, numbers and times. No text is kept.

mod candidate;
mod event_shape;
pub(crate) mod tool_protocol;
mod words;

use crate::build_variant::ALL_DIALECTS;
use crate::framing::Event;
use crate::sockets::EventIds;
use crate::text_kinds::TextKinds;

use candidate::Candidate;
use event_shape::EventShape;
use tool_protocol::ToolProtocol;

/// The name in reports of a format whose text was found by its structure.
pub(crate) const NAME: &str = "inferred";

/// What the events of one stream without a dialect have shown so far.
#[derive(Debug, Clone)]
pub(crate) struct Inference {
    candidates: Vec<Candidate>,
    /// Values of candidates that are not known to be text yet, in the order in which they came.
    pending: Vec<PendingValue>,
    events: u32,
    /// A candidate was found to be text.
    pub(crate) found: bool,
    /// The place of the first one.
    format: Option<u64>,
    /// The number of the first event with text.
    first_text: u32,
    /// The number of events before the server's comment on its first token.
    before_comment: Option<u32>,
    /// Values that came earlier, and were text as is known since the latest event.
    earlier: Vec<(f64, TextKinds)>,
    /// The latest event: its outline, and whether it had text.
    latest: Option<(u64, bool)>,
    last_ms: Option<f64>,
    /// Outlines of events without text that came before more text: they are no end.
    between: Vec<u64>,
    /// An event since the last text says that the answer is over.
    ended: bool,
    /// Outlines of events that say so.
    end_outlines: Vec<u64>,
    /// The latest event says so, and no earlier one of its kind and keys did: the steps of a job end one by one.
    pub(crate) ends_last: bool,
    /// An event since the last text says that the answer was stopped.
    pub(crate) stopped: bool,
    /// An event since the last text says that the answer has failed.
    pub(crate) failed: bool,
    /// Tokens as the server counted them: input and output.
    pub(crate) tokens: [Option<f64>; 2],
    tool_protocol: ToolProtocol,
}

/// A string that may turn out to be text.
#[derive(Debug, Clone, Copy)]
struct PendingValue {
    at_ms: f64,
    event: u32,
    candidate: u64,
    /// Its key says that it is text.
    is_named: bool,
    /// The id that its event names.
    id: Option<u64>,
}

/// One inference in a build with all dialects, none in the build that a page loads first.
pub(crate) type OptionalInference = [Inference; ALL_DIALECTS as usize];

impl Inference {
    /// For a stream without events.
    pub(crate) const NONE: Self = Self {
        candidates: Vec::new(),
        pending: Vec::new(),
        events: 0,
        found: false,
        format: None,
        first_text: 0,
        before_comment: None,
        earlier: Vec::new(),
        latest: None,
        last_ms: None,
        between: Vec::new(),
        ended: false,
        end_outlines: Vec::new(),
        ends_last: false,
        stopped: false,
        failed: false,
        tokens: [None; 2],
        tool_protocol: ToolProtocol::Possible,
    };

    /// Reads an event that came at `now_ms`. Returns the text that it brought, as far as that is known.
    pub(crate) fn read(&mut self, event: &Event<'_>, now_ms: f64) -> TextKinds {
        if self.tool_protocol.read(event) {
            return TextKinds::NONE;
        }
        let Some(shape) = EventShape::of(event) else {
            return TextKinds::NONE;
        };
        self.events = self.events.saturating_add(1);
        self.last_ms = Some(now_ms);
        let mut text = TextKinds::NONE;
        for value in shape.values() {
            let Some(at) = self.candidate(value.place) else {
                continue;
            };
            let candidate = &mut self.candidates[at];
            if !candidate.observe(value.text, value.is_named) {
                continue;
            }
            let (kinds, place) = (value.kinds, value.place);
            candidate.kinds = kinds;
            candidate.is_users |= shape.is_users;
            if candidate.is_text() {
                text = text.and(kinds);
            } else if self.pending.len() < MAX_PENDING {
                self.pending.push(PendingValue {
                    at_ms: now_ms,
                    event: self.events,
                    candidate: place,
                    is_named: value.is_named,
                    id: EventIds::of(event.data).answer,
                });
            }
            if self.candidates[at].has_become_text() {
                text = text.and(self.take_pending(at));
            } else if self.candidates[at].is_no_text() {
                self.pending.retain(|pending| pending.candidate != place);
            }
        }
        if text.any() {
            // The event counts already.
            let event = self.events;
            self.pending.retain(|pending| pending.event != event);
        }
        self.note_end(&shape, text.any());
        for (known, new) in self.tokens.iter_mut().zip(shape.tokens) {
            *known = new.or(*known);
        }
        text
    }

    /// Reads an event that does not count: only what it says about end and failure.
    pub(crate) fn read_end(&mut self, event: &Event<'_>) {
        if let Some(shape) = EventShape::of(event) {
            self.note_end(&shape, false);
        }
    }

    /// Values of earlier events that are text, as is known since the latest event: when they came, in order.
    pub(crate) fn take_earlier(&mut self) -> Vec<(f64, TextKinds)> {
        std::mem::take(&mut self.earlier)
    }

    /// No more events come. A short answer is decided on fewer values.
    pub(crate) fn finish(&mut self) {
        if !self.found {
            self.take_best(Candidate::may_be_short_text);
        }
    }

    /// If an event says that the answer is over and no text was found, decides on fewer values, or on the only one.
    /// Returns the text that came at the time of the latest event.
    pub(crate) fn decide_at_end(&mut self) -> TextKinds {
        // The text of an error is no answer.
        if self.ended && !self.failed {
            self.finish();
            if !self.found {
                self.take_best(Candidate::may_be_only_text);
            }
        }
        let now = self.earlier.iter().filter(|(at_ms, _)| Some(*at_ms) == self.last_ms);
        now.fold(TextKinds::NONE, |all, &(_, kinds)| all.and(kinds))
    }

    /// Takes the longest of the candidates that may be text.
    fn take_best(&mut self, may_be_text: fn(&Candidate) -> bool) {
        let best = (0..self.candidates.len())
            .filter(|&at| may_be_text(&self.candidates[at]))
            .max_by_key(|&at| self.candidates[at].bytes());
        if let Some(at) = best {
            let now = self.take_pending(at);
            if let Some((last_ms, (_, has_text))) = self.last_ms.zip(self.latest.as_mut())
                && now.any()
            {
                *has_text = true;
                self.earlier.push((last_ms, now));
            }
        }
    }

    /// Whether all events were of the protocol by which an app asks for tools: they show no text to the user.
    pub(crate) fn is_tool_protocol(&self) -> bool {
        self.tool_protocol == ToolProtocol::Proven
    }

    /// Whether text was found, and an event since says that the answer is over.
    pub(crate) fn says_end(&self) -> bool {
        self.found && self.ended
    }

    /// The server's comment came. It stands before the event that the server takes for the first token.
    pub(crate) fn note_comment(&mut self) {
        self.before_comment.get_or_insert(self.events);
    }

    /// Whether the server took an earlier event for the first token. A middleware takes any event that it does not know
    /// for text.
    pub(crate) fn is_comment_early(&self) -> bool {
        self.found && self.before_comment.is_some_and(|before| before + 1 < self.first_text)
    }

    /// The place of the text that was found first: what distinguishes one format from others.
    pub(crate) fn format(&self) -> Option<u64> {
        self.format
    }

    /// Whether the latest event ended the answer: it says so, or it is of a kind that came only after all text.
    pub(crate) fn has_end(&self) -> bool {
        let is_new = self.latest.is_some_and(|(outline, text)| !text && !self.between.contains(&outline));
        self.found && (self.ended || is_new)
    }

    /// The index of the candidate for strings at this place. `None` if there is no room for another.
    fn candidate(&mut self, place: u64) -> Option<usize> {
        let known = self.candidates.iter().position(|candidate| candidate.place == place);
        known.or_else(|| {
            (self.candidates.len() < MAX_CANDIDATES).then(|| {
                self.candidates.push(Candidate::new(place));
                self.candidates.len() - 1
            })
        })
    }

    /// The values of a candidate so far were text. Returns what the latest event brought. An event counts once, with
    /// however many values.
    fn take_pending(&mut self, at: usize) -> TextKinds {
        let Candidate { place, kinds, .. } = self.candidates[at];
        self.candidates[at].set_text();
        self.found = true;
        let mut now = TextKinds::NONE;
        let mut own: Vec<_> = self.pending.iter().filter(|value| value.candidate == place).copied().collect();
        own.dedup_by_key(|value| value.event);
        let opening = own.first().and_then(|first| self.opening(first));
        let taken: Vec<_> = opening.into_iter().chain(own.iter().copied()).collect();
        for value in &taken {
            if value.event == self.events {
                now = kinds;
            } else {
                self.earlier.push((value.at_ms, kinds));
            }
        }
        if self.format.is_none() {
            self.format = Some(place);
            self.first_text = own.first().map_or(self.events, |value| value.event);
        }
        self.pending.retain(|value| !taken.iter().any(|taken| taken.event == value.event));
        now
    }

    /// The first piece of a text, if the event before those with the other pieces has it in a shape of its own: it names
    /// the same id, and has a string whose key says that it is text.
    fn opening(&self, first: &PendingValue) -> Option<PendingValue> {
        let precedes = |value: &&PendingValue| {
            value.event + 1 == first.event && value.is_named && value.id.is_some() && value.id == first.id
        };
        self.pending.iter().find(precedes).filter(|value| value.candidate != first.candidate).copied()
    }

    fn note_end(&mut self, shape: &EventShape<'_>, has_text: bool) {
        if has_text {
            (self.ended, self.stopped, self.failed) = (false, false, false);
            // A pending value may be text as well: then the event before was no end.
            if let Some((outline, false)) = self.latest
                && self.between.len() < MAX_CANDIDATES
                && !self.between.contains(&outline)
            {
                self.between.push(outline);
            }
        }
        let outline = shape.outline();
        self.ends_last = shape.ends && !self.end_outlines.contains(&outline);
        if self.ends_last && self.end_outlines.len() < MAX_CANDIDATES {
            self.end_outlines.push(outline);
        }
        self.ended |= shape.ends;
        self.stopped |= shape.stops;
        self.failed |= shape.failed;
        self.latest = Some((outline, has_text));
    }
}

/// Places where strings may be text. An event of a usual format has a dozen.
const MAX_CANDIDATES: usize = 64;
/// A candidate is known after some four values.
const MAX_PENDING: usize = 512;
