//! One event of a stream as text, and the moments that its text may name.

use std::fmt;
use std::time::Duration;

use crate::answer::tokens_in;
use crate::json::{Json, obj};

/// One event of a stream: an SSE event with its blank line, an SSE comment, or an NDJSON line.
pub(crate) struct Event {
    content: Content,
    /// Tokens of generated text in it; 0 for all that is not text.
    pub tokens: u32,
}

enum Content {
    Fixed(String),
    /// Says when it was made, so it is spelled then.
    Timed(Box<dyn Fn(&Moments) -> String + Send + Sync>),
}

/// What the server's clocks say when an event is made. Times are milliseconds since the request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moments {
    /// Since 1970, for the APIs that print a date.
    pub wall: Duration,
    /// Now.
    pub now_ms: f64,
    /// When the request left the queue. `None` where nobody can say.
    pub scheduled_ms: Option<f64>,
    /// First generated text; `None` until then.
    pub first_token_ms: Option<f64>,
    /// Latest generated text.
    pub last_token_ms: f64,
}

impl Event {
    pub(crate) fn fixed(text: impl Into<String>) -> Self {
        Self { content: Content::Fixed(text.into()), tokens: 0 }
    }

    pub(crate) fn timed(spell: impl Fn(&Moments) -> String + Send + Sync + 'static) -> Self {
        Self { content: Content::Timed(Box::new(spell)), tokens: 0 }
    }

    /// `data:` alone, as OpenAI's chat API has it.
    pub(crate) fn data(data: &Json) -> Self {
        Self::fixed(format!("data: {data}\n\n"))
    }

    /// An event with a name.
    pub(crate) fn named(name: &str, data: &Json) -> Self {
        Self::fixed(format!("event: {name}\ndata: {data}\n\n"))
    }

    /// Says that the event carries this text.
    pub(crate) fn carrying(self, text: &str) -> Self {
        self.counting(tokens_in(text))
    }

    /// Says that the event carries generated text of so many tokens.
    pub(crate) fn counting(self, tokens: u32) -> Self {
        Self { tokens, ..self }
    }

    /// The same event torn: its JSON ends too early, and its text is lost.
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

    /// What is written for it at that moment.
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

/// The server's own time to first token, made right before that token.
pub(crate) fn first_token_comment() -> Event {
    Event::timed(|moments| match moments.scheduled_ms {
        Some(queue_ms) => comment(&obj!("ttft_ms": moments.now_ms, "queue_ms": queue_ms)),
        None => comment(&obj!("ttft_ms": moments.now_ms)),
    })
}

/// The server's own generation time, made after the last token.
pub(crate) fn generation_comment(output_tokens: Option<u64>) -> Event {
    Event::timed(move |moments| {
        let generation_ms = moments.last_token_ms - moments.first_token_ms.unwrap_or(moments.last_token_ms);
        match output_tokens {
            Some(tokens) => comment(&obj!("generation_ms": generation_ms, "output_tokens": tokens)),
            None => comment(&obj!("generation_ms": generation_ms)),
        }
    })
}

fn comment(fields: &Json) -> String {
    format!(": llm-rum {fields}\n\n")
}
