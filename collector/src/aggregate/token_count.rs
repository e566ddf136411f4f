//! Counts tokens, and the streams whose provider counted them. Without such a stream, the sum is unknown, not 0.

use serde::{Deserialize, Serialize};

/// Tokens of one direction over a set of streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenCount {
    /// Sum over the streams with a count.
    pub(crate) tokens: u64,
    /// Streams with a count.
    pub(crate) streams: u64,
}

impl TokenCount {
    /// The sum. `None` if no stream has a count.
    pub(crate) fn known(self) -> Option<u64> {
        (self.streams > 0).then_some(self.tokens)
    }

    /// Adds one stream with the count of its provider.
    pub(crate) fn add(&mut self, tokens: Option<u64>) {
        if let Some(tokens) = tokens {
            self.tokens += tokens;
            self.streams += 1;
        }
    }

    pub(crate) const fn merge(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.streams += other.streams;
    }

    /// What was added since `before`.
    pub(crate) const fn since(self, before: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(before.tokens),
            streams: self.streams.saturating_sub(before.streams),
        }
    }
}
