//! Defects: faults of a stream beside its outcome. Definitions: `docs/outcomes.md#defects`.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! defects {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// A fault that a stream can show, whatever its outcome.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Defect { $($(#[$doc])* $name,)* }

        impl Defect {
            /// All defects, in the order of tables.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The word on the wire and in Prometheus labels.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }

        impl Defects {
            /// The words of all defects in the same order. A single text makes the Wasm module smaller than a
            /// list does.
            pub const WORDS: &str = concat!($($word, " ",)*);
        }
    };
}

defects! {
    /// Finish reason without an end marker, in a dialect that has one.
    NoSentinel = "no_sentinel",
    /// End marker without a finish reason, in a dialect that has one.
    SentinelOnly = "sentinel_only",
    /// An event that is neither JSON nor a known end marker.
    Malformed = "malformed",
    /// An event with bytes that are not UTF-8.
    InvalidUtf8 = "invalid_utf8",
    /// A gap in the numbers of events.
    SequenceGap = "sequence_gap",
    /// An event whose number was received before.
    Duplicate = "duplicate",
    /// A numbered event after a later one.
    Reordered = "reordered",
    /// A second message began before the first one ended.
    Spliced = "spliced",
    /// The body is an HTML page or contains one.
    HtmlInStream = "html_in_stream",
    /// An event over the probe's size limit; parsing continued at the next event.
    Oversize = "oversize",
    /// Bytes after the last blank line when the stream ended.
    PendingAtEof = "pending_at_eof",
    /// The stream stayed open over 1 s after its end marker.
    LateClose = "late_close",
    /// The response began again with text that had already come.
    Replay = "replay",
    /// The provider's usage contradicts itself.
    UsageMismatch = "usage_mismatch",
    /// An inter-chunk gap over max(2 s, 8 × the stream's median gap).
    Stall = "stall",
    /// Over 15 s without any byte.
    DeadAir = "dead_air",
    /// A proxy or server buffered the stream and released it at once.
    Buffered = "buffered",
    /// The provider puts many tokens into one event, at regular gaps.
    Coarse = "coarse",
    /// Reasoning tokens were billed, but none were streamed.
    HiddenReasoning = "hidden_reasoning",
}

impl Defect {
    const COUNT: usize = Self::ALL.len();

    /// Whether content was lost or damaged in transit: such a stream is not intact, even if it is complete.
    #[must_use]
    pub const fn is_loss(self) -> bool {
        matches!(
            self,
            Self::Malformed
                | Self::InvalidUtf8
                | Self::SequenceGap
                | Self::Spliced
                | Self::HtmlInStream
                | Self::Oversize
        )
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|defect| defect.as_str() == word)
    }
}

/// Number of times that each [`Defect`] occurred in a stream. On the wire it is a map of those that occurred.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Defects([u32; Defect::COUNT]);

impl Defects {
    /// No defect occurred.
    pub const NONE: Self = Self([0; _]);

    /// Increments a count, which saturates.
    pub fn add(&mut self, defect: Defect) {
        self.set(defect, self.get(defect).saturating_add(1));
    }

    /// Sets the count of `defect`.
    pub fn set(&mut self, defect: Defect, count: u32) {
        self.0[defect as usize] = count;
    }

    /// The count of `defect`.
    #[must_use]
    pub fn get(&self, defect: Defect) -> u32 {
        self.0[defect as usize]
    }

    /// Defects that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Defect, u32)> + '_ {
        Defect::ALL.iter().map(|&defect| (defect, self.get(defect))).filter(|&(_, count)| count > 0)
    }

    /// The counts in the order of [`Self::WORDS`].
    #[must_use]
    pub const fn counts(&self) -> &[u32] {
        &self.0
    }

    /// Whether no defect occurred.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&count| count == 0)
    }

    /// Whether content was lost or damaged in transit.
    #[must_use]
    pub fn any_loss(&self) -> bool {
        self.iter().any(|(defect, _)| defect.is_loss())
    }
}

impl fmt::Debug for Defects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Defects {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.iter().count()))?;
        for (defect, count) in self.iter() {
            map.serialize_entry(defect.as_str(), &count)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Defects {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;

        impl<'de> Visitor<'de> for Words {
            type Value = Defects;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from defect to count")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Defects, A::Error> {
                let mut defects = Defects::default();
                while let Some(word) = map.next_key::<String>()? {
                    match Defect::from_word(&word) {
                        Some(defect) => defects.set(defect, map.next_value()?),
                        // A newer probe may send defects that this version does not know.
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(defects)
            }
        }

        deserializer.deserialize_map(Words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_observed_defects_are_on_the_wire() {
        let mut defects = Defects::default();
        defects.add(Defect::Malformed);
        defects.add(Defect::Malformed);
        defects.add(Defect::Stall);
        let json = serde_json::to_string(&defects).unwrap();
        assert_eq!(json, r#"{"malformed":2,"stall":1}"#);
        assert_eq!(serde_json::from_str::<Defects>(&json).unwrap(), defects);
    }

    #[test]
    fn each_defect_has_its_word() {
        assert!(Defects::WORDS.split_whitespace().eq(Defect::ALL.iter().map(|defect| defect.as_str())));
    }

    #[test]
    fn only_lost_or_damaged_content_breaks_a_stream() {
        let breaks = |defect: Defect| {
            let mut defects = Defects::default();
            defects.add(Defect::Stall);
            defects.add(defect);
            defects.any_loss()
        };
        let breaking: Vec<_> =
            Defect::ALL.iter().filter(|defect| breaks(**defect)).map(|defect| defect.as_str()).collect();
        let expected = "malformed invalid_utf8 sequence_gap spliced html_in_stream oversize";
        let is_expected = |word: &&str| expected.split(' ').any(|other| other == *word);
        assert!(breaking.iter().all(is_expected) && breaking.len() == 6, "{breaking:?}");
    }

    #[test]
    fn a_defect_of_a_newer_probe_is_skipped() {
        let defects: Defects = serde_json::from_str(r#"{"unheard_of":{"a":1},"stall":3}"#).unwrap();
        assert_eq!(defects.iter().collect::<Vec<_>>(), [(Defect::Stall, 3)]);
    }
}
