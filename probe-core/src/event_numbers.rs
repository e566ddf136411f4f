//! The numbers that one event states, apart from token counts.

use std::mem;

use crate::absent::ABSENT;
use crate::json::whole;

/// What a number means.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    /// Index of a choice among several.
    Index,
    /// Sequence number of the event.
    Sequence,
    /// When the server made the event.
    Stamp,
    /// Durations and counts of the server, in its own unit.
    Load,
    Queue,
    Prompt,
    Generation,
    Generated,
}

/// The numbers of one event, by [`Number`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventNumbers([f64; Number::Generated as usize + 1]);

/// How many numbers a server's claim about its timing is made of.
pub(crate) const CLAIM_NUMBERS: usize = 4;

impl EventNumbers {
    pub(crate) const NONE: Self = Self([ABSENT; _]);

    pub(crate) fn any(&self) -> bool {
        self.0.iter().any(|number| !number.is_nan())
    }

    pub(crate) fn get(&self, number: Number) -> f64 {
        self.0[number as usize]
    }

    pub(crate) fn set(&mut self, number: usize, value: f64) {
        if let Some(slot) = self.0.get_mut(number) {
            *slot = value;
        }
    }

    /// Removes the number, so that the next object starts without it.
    pub(crate) fn take(&mut self, number: Number) -> f64 {
        mem::replace(&mut self.0[number as usize], ABSENT)
    }

    /// Removes the number as a count: absent where it is not whole.
    pub(crate) fn take_count(&mut self, number: Number) -> f64 {
        whole(self.take(number))
    }

    /// Removes the numbers that a server's claim is made of: the last in the row.
    pub(crate) fn take_claim(&mut self) -> [f64; CLAIM_NUMBERS] {
        let [.., queue, prompt, generation, generated] = &mut self.0;
        let claim = [*queue, *prompt, *generation, whole(*generated)];
        [*queue, *prompt, *generation, *generated] = [ABSENT; _];
        claim
    }
}
