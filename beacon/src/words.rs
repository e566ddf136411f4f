//! Enums whose variants are words on the wire, in labels and in the journal.

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
            /// All variants, in the order of tables.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The words of all variants in the same order.
            pub const WORDS: &[&str] = &[$($word),+];

            /// The word on the wire and in Prometheus labels.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                Self::WORDS[self as usize]
            }

            /// The variant of a word. `None` if the word is unknown.
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
        /// Only chunks and their times are known: the page forbids WebAssembly.
        Chunks = "chunks",
        /// Like [`Self::Events`], but the body was cloned or teed. Times are those of the branch that was
        /// read first. Another script may have read it, before the app did.
        Arrival = "arrival",
        /// Only the growth of text in the page is known, and nothing of the network.
        Output = "output",
    }
}

words! {
    /// What a stream is to the user. Statistics never mix kinds.
    #[derive(Default)]
    pub enum StreamKind {
        /// An answer, seen on the network.
        #[default]
        Answer = "answer",
        /// It shows no text to the user: suggestions, events of buttons, the name of a chat.
        Background = "background",
        /// An answer that was seen only as it grew in the page.
        Output = "output",
    }
}

impl Observed {
    /// Whether the content was parsed, which is the normal case.
    #[must_use]
    pub const fn is_events(&self) -> bool {
        matches!(self, Self::Events)
    }
}

words! {
    /// The event from which a server measures its time to first token.
    pub enum ServerStart {
        /// Arrival of the request: the time includes queueing.
        Arrival = "arrival",
        /// The request left the queue.
        Scheduled = "scheduled",
        /// Prompt processing began.
        Prefill = "prefill",
    }
}

words! {
    /// How a layer's work on a stream ended.
    pub enum LayerEnd {
        /// The whole answer was sent.
        Complete = "complete",
        /// The client left before the end.
        ClientGone = "client_gone",
        /// The layer failed.
        Error = "error",
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
        /// Any other protocol.
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
