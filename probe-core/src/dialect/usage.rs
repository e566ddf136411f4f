//! Token counts: derives the counts of a report from those of the provider.

use super::schema::Tokens;
use crate::absent::{ABSENT, or};

/// The provider's latest token counts, by [`Tokens`].
#[derive(Debug, Clone)]
pub(crate) struct Usage(pub(super) [f64; Tokens::Cached as usize + 1]);

impl Usage {
    /// Before the first count.
    pub(crate) const NONE: Self = Self([ABSENT; _]);

    /// Sets the counts of input and output that are known.
    pub(crate) fn set(&mut self, [input, output]: [Option<f64>; 2]) {
        for (tokens, count) in [(Tokens::Input, input), (Tokens::Output, output)] {
            self.0[tokens as usize] = count.unwrap_or(self.get(tokens));
        }
    }

    pub(crate) fn input(&self) -> f64 {
        self.get(Tokens::Input)
    }

    /// From the total alone, if there is no other count.
    pub(crate) fn reasoning(&self) -> f64 {
        let unreported = self.output() - self.get(Tokens::Output);
        let reported = or(self.get(Tokens::Reasoning), self.get(Tokens::ReasoningBeside));
        or(reported, if unreported > 0.0 { unreported } else { ABSENT })
    }

    pub(crate) fn cached(&self) -> f64 {
        self.get(Tokens::Cached)
    }

    /// Whether the counts contradict each other: a total below its parts, more reasoning than output, or another output
    /// than the engine's own count `counted`.
    pub(crate) fn contradicts_itself(&self, counted: f64) -> bool {
        let output = self.get(Tokens::Output);
        let less = self.get(Tokens::Total) < self.input() + output;
        less || self.reasoning() > self.output() || counted < output || counted > output
    }

    /// Generated tokens, including reasoning. Some providers leave reasoning out of their output count, but never out
    /// of the total.
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
