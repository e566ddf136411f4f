//! The APIs that the scripted server speaks: an answer comes in, events in each one's own wire format go
//! out. One file per API; what they share is here.

mod anthropic;
mod ollama;
mod openai_chat;
mod openai_responses;

use std::fmt;
use std::time::Duration;

use crate::answer::{Answer, tokens_in};
use crate::json::{Json, obj};

/// One API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    /// `POST /v1/chat/completions`.
    OpenaiChat,
    /// `POST /v1/responses`.
    OpenaiResponses,
    /// `POST /v1/messages`.
    Anthropic,
    /// `POST /api/chat`.
    Ollama,
}

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

/// How an API spells an answer.
pub(crate) trait Spelling: Sync {
    /// What precedes the first text.
    fn opening(&self, answer: &Answer) -> Vec<Event>;
    /// The text of delta `at`.
    fn delta(&self, answer: &Answer, at: usize) -> Event;
    /// What follows the last text, up to the terminal event.
    fn closing(&self, answer: &Answer) -> Vec<Event>;
    /// A failure of the provider after `at` deltas.
    fn failure(&self, answer: &Answer, at: usize) -> Vec<Event>;
    /// The body of an answer with an error status.
    fn refusal(&self, status: u16, message: &str) -> String;
    /// The id as the answer carries it. `None` where the API has none.
    fn id(&self, answer: &Answer) -> Option<String>;
}

impl Api {
    /// Every API, in the order of the page's list.
    pub(crate) const ALL: [Self; 4] =
        [Self::OpenaiChat, Self::OpenaiResponses, Self::Anthropic, Self::Ollama];

    /// The dialect's name, and the value in the page's list.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai_chat",
            Self::OpenaiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Ollama => "ollama",
        }
    }

    /// What the page's list shows.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::OpenaiChat => "OpenAI Chat",
            Self::OpenaiResponses => "OpenAI Responses",
            Self::Anthropic => "Anthropic Messages",
            Self::Ollama => "Ollama",
        }
    }

    /// The path below the base URL.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::OpenaiChat => "/v1/chat/completions",
            Self::OpenaiResponses => "/v1/responses",
            Self::Anthropic => "/v1/messages",
            Self::Ollama => "/api/chat",
        }
    }

    /// Content type of a stream.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            _ => "text/event-stream; charset=utf-8",
        }
    }

    /// The response header that names the request, where the API has one.
    pub(crate) const fn request_id_header(self) -> Option<&'static str> {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses => Some("x-request-id"),
            Self::Anthropic => Some("request-id"),
            Self::Ollama => None,
        }
    }

    /// Whether a stream may carry SSE comments.
    pub(crate) const fn has_comments(self) -> bool {
        !matches!(self, Self::Ollama)
    }

    /// Whether a request that does not say wants a stream.
    pub(crate) const fn streams_by_default(self) -> bool {
        matches!(self, Self::Ollama)
    }

    /// The body of an answer with an error status.
    pub(crate) fn refusal(self, status: u16, message: &str) -> String {
        self.spelling().refusal(status, message)
    }

    pub(crate) fn spelling(self) -> &'static dyn Spelling {
        match self {
            Self::OpenaiChat => &openai_chat::OpenaiChat,
            Self::OpenaiResponses => &openai_responses::OpenaiResponses,
            Self::Anthropic => &anthropic::Anthropic,
            Self::Ollama => &ollama::Ollama,
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
