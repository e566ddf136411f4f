//! Tokens: the counts of a provider come in, those of a report go out.

use super::schema::Tokens;
use crate::absent::{ABSENT, or};

/// Tokens as the provider counted them, latest count, by [`Tokens`].
#[derive(Debug, Clone)]
pub(crate) struct Usage(pub(super) [f64; Tokens::Cached as usize + 1]);

impl Usage {
    /// Before any was told.
    pub(crate) const NONE: Self = Self([ABSENT; _]);

    pub(crate) fn input(&self) -> f64 {
        self.get(Tokens::Input)
    }

    /// By the total alone, where nothing else tells it.
    pub(crate) fn reasoning(&self) -> f64 {
        let unsaid = self.output() - self.get(Tokens::Output);
        let told = or(self.get(Tokens::Reasoning), self.get(Tokens::ReasoningBeside));
        or(told, if unsaid > 0.0 { unsaid } else { ABSENT })
    }

    pub(crate) fn cached(&self) -> f64 {
        self.get(Tokens::Cached)
    }

    /// Whether the counts cannot all be true: a total below its parts, more reasoning than output, or
    /// another output than the engine itself `counted`.
    pub(crate) fn contradicts_itself(&self, counted: f64) -> bool {
        let output = self.get(Tokens::Output);
        let less = self.get(Tokens::Total) < self.input() + output;
        less || self.reasoning() > self.output() || counted < output || counted > output
    }

    /// Generated tokens, reasoning included. Some providers leave reasoning out of their own
    /// figure, but never out of the total.
    pub(crate) fn output(&self) -> f64 {
        let (output, beside) = (self.get(Tokens::Output), self.get(Tokens::ReasoningBeside));
        let sum = or(output + beside, or(output, beside));
        let rest = self.get(Tokens::Total) - self.input();
        if rest > sum { rest } else { sum }
    }

    fn get(&self, tokens: Tokens) -> f64 {
        self.0[tokens as usize]
    }
}
