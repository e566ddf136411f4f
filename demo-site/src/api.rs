//! The APIs that the scripted server speaks: their names, paths and headers. Their wire formats are in
//! [`crate::dialect`].

use std::time::Duration;

/// An API of the scripted server.
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

impl Api {
    /// All APIs in the order of the page's list.
    pub(crate) const ALL: [Self; 4] =
        [Self::OpenaiChat, Self::OpenaiResponses, Self::Anthropic, Self::Ollama];

    /// The name of the dialect, which is also the value in the page's list.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai_chat",
            Self::OpenaiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Ollama => "ollama",
        }
    }

    /// The label in the page's list.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::OpenaiChat => "OpenAI Chat",
            Self::OpenaiResponses => "OpenAI Responses",
            Self::Anthropic => "Anthropic Messages",
            Self::Ollama => "Ollama",
        }
    }

    /// Path relative to the base URL.
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

    /// The response header with the request's id. `None` if the API has none.
    pub(crate) const fn request_id_header(self) -> Option<&'static str> {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses => Some("x-request-id"),
            Self::Anthropic => Some("request-id"),
            Self::Ollama => None,
        }
    }

    /// Whether a stream may contain SSE comments.
    pub(crate) const fn has_comments(self) -> bool {
        !matches!(self, Self::Ollama)
    }

    /// From the client's leaving until the engine stops generating. The gateway of chat completions checks only now
    /// and then whether its clients are still there.
    pub(crate) const fn stops_after(self) -> Duration {
        match self {
            Self::OpenaiChat => Duration::from_secs(2),
            _ => Duration::from_millis(20),
        }
    }

    /// Whether a request without a `stream` field is streamed.
    pub(crate) const fn streams_by_default(self) -> bool {
        matches!(self, Self::Ollama)
    }
}
