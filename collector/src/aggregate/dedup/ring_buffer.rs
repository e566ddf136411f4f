//! A queue in chunks: growing it moves no value, and chunks whose values are gone free their memory.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// Values in order of arrival.
pub(super) struct RingBuffer<T> {
    /// All but the last are full.
    pieces: VecDeque<Vec<T>>,
    /// Number of values at the front of the first chunk that were removed.
    gone: usize,
    len: usize,
}

impl<T: Copy> RingBuffer<T> {
    pub(super) const fn new() -> Self {
        Self { pieces: VecDeque::new(), gone: 0, len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        (index < self.len).then(|| &self[index])
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        (index < self.len).then(|| &mut self[index])
    }

    pub(super) fn push_back(&mut self, value: T) {
        match self.pieces.back_mut().filter(|last| last.len() < PIECE) {
            Some(last) => last.push(value),
            None => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(value);
                self.pieces.push_back(piece);
            }
        }
        self.len += 1;
    }

    pub(super) fn pop_front(&mut self) -> Option<T> {
        let first = *self.get(0)?;
        self.len -= 1;
        self.gone += 1;
        if self.gone == PIECE {
            self.pieces.pop_front();
            self.gone = 0;
        }
        Some(first)
    }

    /// The values from `index` on.
    pub(super) fn from(
        &self,
        index: usize,
    ) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator + Clone {
        (index.min(self.len)..self.len).map(|index| &self[index])
    }
}

impl<T> Index<usize> for RingBuffer<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        let at = self.gone + index;
        &self.pieces[at / PIECE][at % PIECE]
    }
}

impl<T> IndexMut<usize> for RingBuffer<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        let at = self.gone + index;
        &mut self.pieces[at / PIECE][at % PIECE]
    }
}

/// A chunk of streams takes 64 kB.
const PIECE: usize = 1_024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Rounds of some pushes and some pops.
        #[test]
        fn the_ring_buffer_behaves_like_a_standard_queue(
            turns in prop::collection::vec((0..3_000_usize, 0..3_000_usize), 1..12),
        ) {
            let (mut row, mut queue) = (RingBuffer::new(), VecDeque::new());
            for (come, go) in turns {
                for _ in 0..come {
                    let value = row.len() * 7 + come;
                    row.push_back(value);
                    queue.push_back(value);
                }
                for _ in 0..go {
                    prop_assert_eq!(row.pop_front(), queue.pop_front());
                }
                if let Some(last) = row.len().checked_sub(1) {
                    *row.get_mut(last).unwrap() += 1;
                    queue[last] += 1;
                }
                prop_assert_eq!((row.len(), row.get(row.len())), (queue.len(), None));
                prop_assert!(row.from(go).eq(queue.iter().skip(go)));
                prop_assert!(row.from(0).rev().eq(queue.iter().rev()));
                prop_assert!(row.pieces.len() <= row.len() / PIECE + 2, "memory goes with the values");
            }
        }
    }
}
