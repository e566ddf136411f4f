//! How a stream ended: exactly one word per stream. Definitions: `docs/metrics.md#outcomes`.

use serde::{Deserialize, Serialize};

/// How a stream ended, as far as the user's browser could see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The terminal marker of its dialect was seen, and no error.
    Complete,
    /// Closed cleanly without the terminal marker.
    Truncated,
    /// The provider sent an error inside the stream, even when an end marker follows.
    ProviderError,
    /// Status 400 or above.
    HttpError,
    /// The read failed, and nobody had aborted it.
    NetworkError,
    /// Aborted by a timeout signal.
    Timeout,
    /// Status below 400, and not one event.
    Empty,
    /// The app cancelled before the terminal marker.
    Aborted,
    /// The page went away first.
    Abandoned,
    /// The content was never read where the probe could see it: its end cannot be judged.
    Unobserved,
}

impl Outcome {
    /// Every outcome, in the order in which tables show them.
    pub const ALL: [Self; 10] = [
        Self::Complete,
        Self::Truncated,
        Self::ProviderError,
        Self::HttpError,
        Self::NetworkError,
        Self::Timeout,
        Self::Empty,
        Self::Aborted,
        Self::Abandoned,
        Self::Unobserved,
    ];

    /// The word on the wire and in Prometheus labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Truncated => "truncated",
            Self::ProviderError => "provider_error",
            Self::HttpError => "http_error",
            Self::NetworkError => "network_error",
            Self::Timeout => "timeout",
            Self::Empty => "empty",
            Self::Aborted => "aborted",
            Self::Abandoned => "abandoned",
            Self::Unobserved => "unobserved",
        }
    }

    /// Whether the stream counts towards integrity, availability and goodput. Those that the user
    /// ended, or that nobody could see to the end, say nothing about the service.
    #[must_use]
    pub const fn is_judged(self) -> bool {
        !matches!(self, Self::Aborted | Self::Abandoned | Self::Unobserved)
    }

    /// Whether the service failed the user: every judged outcome but `complete`.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.is_judged() && !matches!(self, Self::Complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_on_the_wire_is_the_word_in_labels() {
        for outcome in Outcome::ALL {
            let json = serde_json::to_string(&outcome).unwrap();
            assert_eq!(json, format!("\"{}\"", outcome.as_str()));
        }
    }

    #[test]
    fn what_the_user_ended_is_no_error() {
        let errors: Vec<_> = Outcome::ALL.into_iter().filter(|o| o.is_error()).map(Outcome::as_str).collect();
        assert_eq!(
            errors,
            ["truncated", "provider_error", "http_error", "network_error", "timeout", "empty"]
        );
    }
}
