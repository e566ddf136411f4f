//! Write-back cache for windows and cumulative statistics: loaded from the store on first change, written at the next
//! flush.
//!
//! Pages choose the values that are counted, and a histogram can take a thousand times as much memory as its report.
//! So entries are weighed, and clean ones can be evicted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// Values by key.
pub(crate) struct WriteBackCache<K, V> {
    values: HashMap<K, CacheEntry<V>>,
    bytes: usize,
}

/// A value whose memory grows with what is counted in it.
pub(crate) trait MemorySize {
    /// Its memory.
    fn bytes(&self) -> usize;
}

struct CacheEntry<V> {
    /// Boxed: there may be ten thousand values, and a hash table takes up to twice the size of its entries.
    value: Box<V>,
    /// The store does not have the latest value.
    is_dirty: bool,
}

impl<K: Copy + Eq + Hash + Ord, V: MemorySize> WriteBackCache<K, V> {
    /// Changes a value, which is loaded from the store if it is not cached. `change` returns whether it
    /// changed it.
    pub(crate) fn change<E>(
        &mut self,
        key: K,
        stored: impl FnOnce() -> Result<V, E>,
        change: impl FnOnce(&mut V) -> bool,
    ) -> Result<bool, E> {
        let held = match self.values.entry(key) {
            Entry::Occupied(held) => held.into_mut(),
            Entry::Vacant(free) => {
                let value = Box::new(stored()?);
                self.bytes += value.bytes();
                free.insert(CacheEntry { value, is_dirty: false })
            }
        };
        let before = held.value.bytes();
        let has_changed = change(&mut held.value);
        held.is_dirty |= has_changed;
        self.bytes = self.bytes + held.value.bytes() - before;
        Ok(has_changed)
    }

    /// Memory of all values.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Values that the store does not have yet, sorted by key.
    pub(crate) fn dirty(&mut self) -> Vec<(K, &mut V)> {
        let dirty = self.values.iter_mut().filter(|(_, held)| held.is_dirty);
        let mut values: Vec<_> = dirty.map(|(key, held)| (*key, &mut *held.value)).collect();
        values.sort_unstable_by_key(|(key, _)| *key);
        values
    }

    /// The store has all values now. Evicts the entries that `keep` does not select.
    pub(crate) fn mark_flushed(&mut self, keep: impl Fn(&K, &V) -> bool) {
        self.bytes = 0;
        self.values.retain(|key, held| {
            held.is_dirty = false;
            let keep = keep(key, &held.value);
            self.bytes += if keep { held.value.bytes() } else { 0 };
            keep
        });
    }
}

impl<K, V> Default for WriteBackCache<K, V> {
    fn default() -> Self {
        Self { values: HashMap::new(), bytes: 0 }
    }
}
