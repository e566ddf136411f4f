//! One event of a stream as text, and the times that its text may contain.

use std::fmt;
use std::time::Duration;

use crate::answer::tokens_in;
use crate::json::{Json, obj};

/// One event of a stream: an SSE event with its blank line, an SSE comment, or an NDJSON line.
pub(crate) struct Event {
    content: Content,
    /// Tokens of generated text; 0 in events without text.
    pub tokens: u32,
}

enum Content {
    Fixed(String),
    /// Contains the time, so its text is created when it is sent.
    Timed(Box<dyn Fn(&Moments) -> String + Send + Sync>),
}

/// Times that an event's text may contain. Unless noted, they are in milliseconds since the request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moments {
    /// Time since 1970, for APIs that send a date.
    pub wall: Duration,
    /// Current time.
    pub now_ms: f64,
    /// Time when the app called its model. `None` if it is not known, as below.
    pub called_ms: Option<f64>,
    /// Time when the call reached the gateway.
    pub gateway_ms: Option<f64>,
    /// Time when the request reached the engine.
    pub engine_ms: Option<f64>,
    /// Time when the request left the engine's queue.
    pub scheduled_ms: Option<f64>,
    /// Time of the first generated text. `None` before it.
    pub first_token_ms: Option<f64>,
    /// Time of the latest generated text.
    pub last_token_ms: f64,
    /// Tokens generated so far.
    pub output_tokens: u64,
}

/// A place that a request passes on its way to its first token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Station {
    /// The app calls its model.
    ModelCall,
    /// The call reaches the gateway.
    Gateway,
    /// The request reaches the engine, and waits in its queue.
    Engine,
    /// The request leaves the queue.
    Scheduled,
}

impl Moments {
    /// The request is at `station` now.
    pub(crate) const fn pass(&mut self, station: Station, now_ms: f64) {
        let moment = match station {
            Station::ModelCall => &mut self.called_ms,
            Station::Gateway => &mut self.gateway_ms,
            Station::Engine => &mut self.engine_ms,
            Station::Scheduled => &mut self.scheduled_ms,
        };
        *moment = Some(now_ms);
    }

    /// Time in the engine's queue.
    pub(crate) fn queue_ms(&self) -> Option<f64> {
        Some(self.scheduled_ms? - self.engine_ms.unwrap_or_default())
    }

    /// Updates the times for an event with `tokens` that is created now.
    pub(crate) fn create(&mut self, now_ms: f64, wall: Duration, tokens: u32) {
        self.now_ms = now_ms;
        self.wall = wall;
        if tokens > 0 {
            self.first_token_ms.get_or_insert(now_ms);
            self.last_token_ms = now_ms;
            self.output_tokens += u64::from(tokens);
        }
    }
}

impl Event {
    pub(crate) fn fixed(text: impl Into<String>) -> Self {
        Self { content: Content::Fixed(text.into()), tokens: 0 }
    }

    pub(crate) fn timed(spell: impl Fn(&Moments) -> String + Send + Sync + 'static) -> Self {
        Self { content: Content::Timed(Box::new(spell)), tokens: 0 }
    }

    /// An event with `data:` only, as in OpenAI's chat API.
    pub(crate) fn data(data: &Json) -> Self {
        Self::fixed(format!("data: {data}\n\n"))
    }

    /// An event with a name.
    pub(crate) fn named(name: &str, data: &Json) -> Self {
        Self::fixed(format!("event: {name}\ndata: {data}\n\n"))
    }

    /// Sets the token count to that of this text.
    pub(crate) fn carrying(self, text: &str) -> Self {
        self.counting(tokens_in(text))
    }

    /// Sets the token count.
    pub(crate) fn counting(self, tokens: u32) -> Self {
        Self { tokens, ..self }
    }

    /// The same event with truncated JSON, so that its text is lost.
    pub(crate) fn torn(self) -> Self {
        let spell = move |moments: &Moments| {
            let whole = self.text(moments);
            let content = whole.trim_end_matches('\n');
            let mut keep = content.len() * 2 / 3;
            while !content.is_char_boundary(keep) {
                keep -= 1;
            }
            format!("{}{}", &content[..keep], &whole[content.len()..])
        };
        Self::timed(spell)
    }

    /// The text of the event at these times.
    pub(crate) fn text(&self, moments: &Moments) -> String {
        match &self.content {
            Content::Fixed(text) => text.clone(),
            Content::Timed(spell) => spell(moments),
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("text", &self.text(&Moments::default()))
            .field("tokens", &self.tokens)
            .finish()
    }
}

/// Comment with the server's own time to first token, to be sent right before that token.
pub(crate) fn first_token_comment() -> Event {
    Event::timed(|moments| match moments.queue_ms() {
        Some(queue_ms) => comment(&obj!("ttft_ms": moments.now_ms, "queue_ms": queue_ms)),
        None => comment(&obj!("ttft_ms": moments.now_ms)),
    })
}

/// Comment with the server's own generation time, to be sent after the last token.
pub(crate) fn generation_comment(output_tokens: u64) -> Event {
    Event::timed(move |moments| {
        let generation_ms = moments.last_token_ms - moments.first_token_ms.unwrap_or(moments.last_token_ms);
        comment(&obj!("generation_ms": generation_ms, "output_tokens": output_tokens))
    })
}

fn comment(fields: &Json) -> String {
    format!(": llm-rum {fields}\n\n")
}
