//! One key of visits for all collectors of a cluster. The first collector that needs a key proposes its own, and the
//! others take that one. Shortly before midnight they agree on the key of the next day.

use tracing::warn;

use super::{DayKey, Secret, VisitKey, random_secret};
use crate::time::{DAY_MS, MINUTE_MS, day_of};

/// Where the collectors of a cluster keep the key of a day until the day is over.
pub(crate) trait SharedKeys: Send {
    /// Stores the proposal, unless the day has a key. Returns the key of the day.
    fn agree(&mut self, day: i64, proposed: &Secret) -> Result<Secret, SharedKeyError>;
    /// Deletes the keys of all days before this one.
    fn forget_before(&mut self, day: i64) -> Result<(), SharedKeyError>;
}

/// Why the shared keys cannot be read or written.
pub(crate) type SharedKeyError = Box<dyn std::error::Error + Send + Sync>;

/// One collector's part in it.
pub(super) struct Agreement {
    shared: Box<dyn SharedKeys>,
    /// Whether this collector has ever agreed. Without visits it asks for nothing.
    is_used: bool,
    forgotten_before: i64,
    is_failing: bool,
}

impl Agreement {
    pub(super) fn new(shared: Box<dyn SharedKeys>) -> Self {
        Self { shared, is_used: false, forgotten_before: i64::MIN, is_failing: false }
    }

    /// Agrees on the key that is due, and forgets those of earlier days. What fails is tried again in the next turn.
    pub(super) fn renew(&mut self, key: &VisitKey, now_ms: i64) {
        match self.try_renew(key, now_ms) {
            Ok(()) => self.is_failing = false,
            Err(error) if !self.is_failing => {
                self.is_failing = true;
                warn!(%error, "Cannot share the key of visits: a tab can count as a visit for each collector");
            }
            Err(_) => {}
        }
    }

    fn try_renew(&mut self, key: &VisitKey, now_ms: i64) -> Result<(), SharedKeyError> {
        if let Some((day, proposed)) = key.proposal(now_ms) {
            key.adopt(day, self.shared.agree(day, &proposed)?);
            self.is_used = true;
        }
        let today = day_of(now_ms);
        if self.is_used && self.forgotten_before < today {
            self.shared.forget_before(today)?;
            self.forgotten_before = today;
        }
        Ok(())
    }
}

impl VisitKey {
    /// The day whose key the collectors have to agree on, and a key for it. `None` if there is no such day.
    fn proposal(&self, now_ms: i64) -> Option<(i64, Secret)> {
        let keys = self.lock();
        let current = keys.current.as_ref()?;
        if !current.is_agreed {
            return Some((current.day, current.secret));
        }
        let is_soon = DAY_MS - now_ms.rem_euclid(DAY_MS) <= AHEAD_MS;
        let is_due = is_soon && current.day == day_of(now_ms) && keys.next.is_none();
        is_due.then(|| (current.day + 1, random_secret()))
    }

    fn adopt(&self, day: i64, secret: Secret) {
        let agreed = DayKey { is_agreed: true, ..DayKey::new(day, secret) };
        let mut keys = self.lock();
        match &mut keys.current {
            Some(current) if current.day == day => {
                if current.secret != secret {
                    self.write_file(&agreed);
                }
                *current = agreed;
            }
            _ => keys.next = Some(agreed),
        }
    }
}

/// Longer than the clocks of collectors differ, and than a short failure of ClickHouse lasts.
const AHEAD_MS: i64 = 10 * MINUTE_MS;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use tempfile::TempDir;

    use super::*;

    /// The keys of all days. `None` while they cannot be reached.
    type Table = Arc<Mutex<Option<BTreeMap<i64, Secret>>>>;

    struct FakeKeys(Table);

    impl SharedKeys for FakeKeys {
        fn agree(&mut self, day: i64, proposed: &Secret) -> Result<Secret, SharedKeyError> {
            let mut table = self.0.lock().unwrap();
            Ok(*table.as_mut().ok_or("away")?.entry(day).or_insert(*proposed))
        }

        fn forget_before(&mut self, day: i64) -> Result<(), SharedKeyError> {
            let mut table = self.0.lock().unwrap();
            table.as_mut().ok_or("away")?.retain(|known, _| *known >= day);
            Ok(())
        }
    }

    /// A collector of a cluster.
    struct Member {
        key: VisitKey,
        agreement: Agreement,
        folder: TempDir,
    }

    impl Member {
        fn of(table: &Table) -> Self {
            let folder = TempDir::new().unwrap();
            let key = VisitKey::open(folder.path(), 0);
            Self { key, agreement: Agreement::new(Box::new(FakeKeys(table.clone()))), folder }
        }

        fn hash(&self, now_ms: i64) -> u64 {
            self.key.hash("shop", 7, now_ms)
        }

        fn turn(&mut self, now_ms: i64) {
            self.key.expire(now_ms);
            self.agreement.renew(&self.key, now_ms);
        }
    }

    fn cluster() -> (Table, Member, Member) {
        let table = Table::new(Mutex::new(Some(BTreeMap::new())));
        let (one, other) = (Member::of(&table), Member::of(&table));
        (table, one, other)
    }

    fn days(table: &Table) -> Vec<i64> {
        table.lock().unwrap().iter().flatten().map(|(day, _)| *day).collect()
    }

    #[test]
    fn collectors_agree_on_the_key_that_was_proposed_first() {
        let (_, mut one, mut other) = cluster();
        let hash = one.hash(0);
        assert_ne!(other.hash(0), hash);
        one.turn(1);
        other.turn(1);
        assert_eq!((one.hash(2), other.hash(2)), (hash, hash));
        let restarted = VisitKey::open(other.folder.path(), 3);
        assert_eq!(restarted.hash("shop", 7, 3), hash, "the file has the agreed key");
    }

    #[test]
    fn the_key_of_the_next_day_is_agreed_before_midnight() {
        let (table, mut one, mut other) = cluster();
        for member in [&mut one, &mut other] {
            member.hash(0);
            member.turn(DAY_MS - AHEAD_MS - 1);
            member.turn(DAY_MS - AHEAD_MS);
        }
        assert_eq!(days(&table), [0, 1]);
        let before = one.hash(DAY_MS - 1);
        assert_eq!(other.hash(DAY_MS - 1), before);
        // The first number of the day comes before the first turn.
        assert_ne!(one.hash(DAY_MS), before);
        assert_eq!(other.hash(DAY_MS), one.hash(DAY_MS));
    }

    #[test]
    fn shared_keys_of_earlier_days_are_forgotten() {
        let (table, mut one, _) = cluster();
        one.hash(0);
        one.turn(DAY_MS - 1);
        one.turn(DAY_MS - 1);
        assert_eq!(days(&table), [0, 1]);
        let lost = table.lock().unwrap().take();
        one.turn(DAY_MS);
        *table.lock().unwrap() = lost;
        assert_eq!(days(&table), [0, 1], "ClickHouse was away");
        one.turn(DAY_MS + 1);
        assert_eq!(days(&table), [1]);
        one.turn(2 * DAY_MS);
        assert!(days(&table).is_empty(), "no tab has sent a number for a day");
        assert!(one.key.lock().next.is_none());
    }

    #[test]
    fn without_the_others_a_collector_uses_a_key_of_its_own() {
        let (table, mut one, mut other) = cluster();
        let lost = table.lock().unwrap().take();
        let own = one.hash(0);
        one.turn(1);
        assert_eq!(one.hash(1), own);
        *table.lock().unwrap() = lost;
        one.turn(2);
        other.hash(2);
        other.turn(2);
        assert_eq!((one.hash(3), other.hash(3)), (own, own));
    }

    #[test]
    fn a_cluster_without_visits_has_no_key() {
        let (table, mut one, _) = cluster();
        one.turn(0);
        one.turn(DAY_MS - 1);
        assert!(days(&table).is_empty());
    }
}
