//! Enums that are one word on the wire, in labels and in the journal.

/// Defines an enum whose variants are words.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $enum:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $enum { $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)+ }

        impl $enum {
            /// Every variant, in the order in which tables show them.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Their words, in the same order.
            pub const WORDS: &[&str] = &[$($word),+];

            /// The word on the wire and in Prometheus labels.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                Self::WORDS[self as usize]
            }

            /// The variant with this word.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.as_str() == word)
            }
        }
    };
}
pub(crate) use words;

words! {
    /// How much of a stream the probe could see.
    #[derive(Default)]
    pub enum Observed {
        /// Content was parsed: events, tokens and the end are known.
        #[default]
        Events = "events",
        /// Only chunks and their times: the page forbids WebAssembly.
        Chunks = "chunks",
        /// As [`Self::Events`], but the body was cloned or teed: times are those of whichever branch was read
        /// first, perhaps by another script, ahead of the app.
        Arrival = "arrival",
    }
}

impl Observed {
    /// Whether the content was parsed, as it usually is.
    #[must_use]
    pub const fn is_events(&self) -> bool {
        matches!(self, Self::Events)
    }
}

words! {
    /// The moment from which a server counts its time to first token.
    pub enum ServerStart {
        /// The request arrived: queueing is in it.
        Arrival = "arrival",
        /// The request left the queue.
        Scheduled = "scheduled",
        /// Prompt processing began.
        Prefill = "prefill",
    }
}

words! {
    /// Protocol of a connection, by its ALPN name.
    pub enum Protocol {
        /// HTTP/1.1.
        Http1 = "http/1.1",
        /// HTTP/2.
        Http2 = "h2",
        /// HTTP/3.
        Http3 = "h3",
        /// Another one.
        #[serde(other)]
        Other = "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_has_one_word_and_unknown_words_mean_other() {
        for protocol in [Protocol::Http1, Protocol::Http2, Protocol::Http3, Protocol::Other] {
            let word = serde_json::to_value(protocol).unwrap();
            assert_eq!(word, protocol.as_str());
            assert_eq!(serde_json::from_value::<Protocol>(word).unwrap(), protocol);
        }
        assert_eq!(serde_json::from_str::<Protocol>("\"h4\"").unwrap(), Protocol::Other);
    }
}
