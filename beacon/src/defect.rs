//! What was wrong with a stream beside its outcome. Definitions: `docs/metrics.md#defects`.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! defects {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// One kind of fault that a stream can show, whatever its outcome.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Defect { $($(#[$doc])* $name,)* }

        impl Defect {
            /// Every defect, in the order in which tables show them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The word on the wire and in Prometheus labels.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }

        impl Defects {
            /// The words of all, in the same order: as one text they are less to load than as many.
            pub const WORDS: &str = concat!($($word, " ",)*);
        }
    };
}

defects! {
    /// Finish reason, but no end marker where the dialect has one.
    NoSentinel = "no_sentinel",
    /// End marker, but no finish reason where the dialect has one.
    SentinelOnly = "sentinel_only",
    /// An event that is neither JSON nor a known sentinel.
    Malformed = "malformed",
    /// An event with bytes that are not UTF-8.
    InvalidUtf8 = "invalid_utf8",
    /// Numbered events with a hole.
    SequenceGap = "sequence_gap",
    /// A numbered event seen before.
    Duplicate = "duplicate",
    /// A numbered event after a later one.
    Reordered = "reordered",
    /// A second message began while one was open.
    Spliced = "spliced",
    /// The body is an HTML page, or one stands in its middle.
    HtmlInStream = "html_in_stream",
    /// An event longer than the probe's cap; parsing went on at the next.
    Oversize = "oversize",
    /// Bytes after the last blank line when the stream ended.
    PendingAtEof = "pending_at_eof",
    /// The stream stayed open over 1 s after its end marker.
    LateClose = "late_close",
    /// An answer began again whose text had already come.
    Replay = "replay",
    /// The provider's usage contradicts itself.
    UsageMismatch = "usage_mismatch",
    /// A gap over max(2 s, 8 × the stream's median gap).
    Stall = "stall",
    /// Over 15 s without any byte.
    DeadAir = "dead_air",
    /// Something on the way held the stream back and let it go at once.
    Buffered = "buffered",
    /// The provider bundles many tokens into one event, at regular gaps.
    Coarse = "coarse",
    /// Reasoning tokens were billed and none streamed.
    HiddenReasoning = "hidden_reasoning",
}

impl Defect {
    const COUNT: usize = Self::ALL.len();

    /// Whether text was lost or damaged on the way: such a stream is not whole, even when complete.
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

/// How often each [`Defect`] was seen in one stream. On the wire a map of those that were.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Defects([u32; Defect::COUNT]);

impl Defects {
    /// Of a stream that has shown none.
    pub const NONE: Self = Self([0; _]);

    /// Counts one more, and stays at the top rather than wrapping.
    #[inline(never)]
    pub fn add(&mut self, defect: Defect) {
        self.set(defect, self.get(defect).saturating_add(1));
    }

    /// Sets how often `defect` was seen.
    pub fn set(&mut self, defect: Defect, count: u32) {
        self.0[defect as usize] = count;
    }

    /// How often `defect` was seen.
    #[must_use]
    pub fn get(&self, defect: Defect) -> u32 {
        self.0[defect as usize]
    }

    /// Those that were seen, with how often.
    pub fn iter(&self) -> impl Iterator<Item = (Defect, u32)> + '_ {
        Defect::ALL.iter().map(|&defect| (defect, self.get(defect))).filter(|&(_, count)| count > 0)
    }

    /// How often each was seen, in the order of [`Self::WORDS`].
    #[must_use]
    pub const fn counts(&self) -> &[u32] {
        &self.0
    }

    /// Whether none was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&count| count == 0)
    }

    /// Whether text was lost or damaged on the way.
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
                        // A newer probe may know defects that this reader does not.
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
