//! How a stream ended: exactly one word per stream. Definitions: `docs/outcomes.md#outcomes`.

use crate::words::words;

words! {
    /// How a stream ended, from the point of view of the user's browser.
    #[derive(Hash, PartialOrd, Ord, Default)]
    pub enum Outcome {
        /// The end marker of its dialect came, and no error.
        Complete = "complete",
        /// Closed cleanly without the end marker.
        Truncated = "truncated",
        /// The provider sent an error inside the stream, even if an end marker followed.
        ProviderError = "provider_error",
        /// Status 400 or above.
        HttpError = "http_error",
        /// The read failed without an abort by the app.
        NetworkError = "network_error",
        /// Aborted by a timeout signal.
        Timeout = "timeout",
        /// Status below 400 and no event.
        Empty = "empty",
        /// The app cancelled before the end marker.
        Aborted = "aborted",
        /// The page went away before the end. An open stream has this outcome until it ends.
        #[default]
        Abandoned = "abandoned",
        /// The probe never saw the content being read, so the end is not known.
        Unobserved = "unobserved",
    }
}

impl Outcome {
    /// Whether the stream counts toward integrity, availability and goodput. A stream that the user ended, or
    /// whose end the probe did not see, says nothing about the service.
    #[must_use]
    pub const fn is_eligible(self) -> bool {
        !matches!(self, Self::Aborted | Self::Abandoned | Self::Unobserved)
    }

    /// Whether the service failed the user: an eligible stream that is not complete.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.is_eligible() && !matches!(self, Self::Complete)
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
    fn a_stream_that_the_user_ended_is_no_error() {
        let errors: Vec<_> = Outcome::ALL.into_iter().filter(|o| o.is_error()).map(Outcome::as_str).collect();
        assert_eq!(
            errors,
            ["truncated", "provider_error", "http_error", "network_error", "timeout", "empty"]
        );
    }
}
