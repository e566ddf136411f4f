//! The kinds of generated text: answer, reasoning, refusal, tool call.

/// The kinds of text that an event brought, a bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TextKinds(u8);

impl TextKinds {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ANSWER: Self = Self(1);
    pub(crate) const REASONING: Self = Self(2);
    pub(crate) const REFUSAL: Self = Self(4);
    pub(crate) const TOOL: Self = Self(8);
    /// Only in tables: the kind follows from the type of the event.
    pub(crate) const BY_TYPE: Self = Self(16);

    pub(crate) fn any(self) -> bool {
        self != Self::NONE
    }

    pub(crate) fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }

    /// Whether the user reads it: an answer, or a refusal in its place.
    pub(crate) fn is_visible(self) -> bool {
        self.0 & (Self::ANSWER.0 | Self::REFUSAL.0) != 0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }
}
