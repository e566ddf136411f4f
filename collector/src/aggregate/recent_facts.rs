//! Positions in the journal of the facts that still wait for their streams.

use std::collections::VecDeque;

/// The oldest facts that a start has to find.
pub(crate) struct RecentFacts {
    wait_ms: i64,
    /// Arrival and position of some facts, oldest first, about one of each second.
    positions: VecDeque<(i64, u64)>,
}

impl RecentFacts {
    pub(crate) fn new(wait_seconds: u32) -> Self {
        Self { wait_ms: i64::from(wait_seconds) * 1_000, positions: VecDeque::new() }
    }

    /// Adds facts.
    pub(crate) fn add(&mut self, received_ms: i64, position: u64) {
        if self.positions.back().is_none_or(|(newest_ms, _)| received_ms > newest_ms + SPACING_MS) {
            self.positions.push_back((received_ms, position));
        }
    }

    /// Forgets the facts that no longer wait.
    pub(crate) fn forget(&mut self, now_ms: i64) {
        let waits = |(received_ms, _): &(i64, u64)| *received_ms + SPACING_MS >= now_ms - self.wait_ms;
        while self.positions.front().is_some_and(|oldest| !waits(oldest)) {
            self.positions.pop_front();
        }
    }

    /// Position from which the journal is needed. `None` without facts.
    pub(crate) fn needs_from(&self) -> Option<u64> {
        self.positions.iter().map(|(_, position)| *position).min()
    }
}

const SPACING_MS: i64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_is_needed_from_the_oldest_waiting_fact() {
        let mut recent = RecentFacts::new(10);
        assert_eq!(recent.needs_from(), None);
        for (second, position) in [(0, 100), (0, 200), (5, 300), (9, 400)] {
            recent.add(second * 1_000, position);
        }
        assert_eq!(recent.needs_from(), Some(100));
        recent.forget(11_000);
        assert_eq!(recent.needs_from(), Some(100));
        recent.forget(12_000);
        assert_eq!(recent.needs_from(), Some(300));
        recent.forget(99_000);
        assert_eq!(recent.needs_from(), None);
    }
}
