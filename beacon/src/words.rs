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
