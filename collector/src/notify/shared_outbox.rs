//! The outbox of a cluster: a lease in ClickHouse. Each turn renews the lease and stores the receivers' states. The
//! collector that stored the last turn sends, until it releases the lease or stores no turn for [`LEASE_MS`].

use std::time::Duration;

use tracing::{error, warn};

use super::outbox::{Claim, Outbox, OutboxError, ReceiverStates, parsed, written};
use crate::store::clickhouse::notifier_table::{NotifierTable, Turn};
use crate::store::error::StoreError;
use crate::time;

/// The table of turns, each of which renews the lease. A second one with the same number is dropped.
pub(super) trait Turns: Send {
    fn last(&mut self) -> Result<Option<Turn>, StoreError>;
    fn append(&mut self, number: u64, holder: &str, states: &str) -> Result<(), StoreError>;
}

impl Turns for NotifierTable {
    fn last(&mut self) -> Result<Option<Turn>, StoreError> {
        self.last()
    }

    fn append(&mut self, number: u64, holder: &str, states: &str) -> Result<(), StoreError> {
        self.append(number, holder, states)
    }
}

/// The lease as one collector sees it.
pub(super) struct SharedOutbox<T> {
    turns: T,
    collector: String,
    clock: fn() -> Duration,
    /// The turn that this collector stored last, and when it began to. `None` if another collector sends.
    held: Option<(u64, Duration)>,
}

impl SharedOutbox<NotifierTable> {
    pub(super) fn new(table: NotifierTable) -> Self {
        let collector = table.collector().to_owned();
        Self { turns: table, collector, clock: time::steady, held: None }
    }
}

impl<T: Turns> SharedOutbox<T> {
    /// Stores a turn and reads it back, because another collector may have stored one with this number before.
    fn append(&mut self, number: u64, states: &ReceiverStates) -> Result<(), OutboxError> {
        let began = (self.clock)();
        self.turns.append(number, &self.collector, &written(states))?;
        let is_mine = |turn: &Turn| turn.number == number && turn.holder == self.collector;
        self.held = self.turns.last()?.filter(is_mine).map(|_| (number, began));
        if self.held.is_some() { Ok(()) } else { Err(OutboxError::Elsewhere) }
    }

    /// Returns the state of the lease and the number of the next turn.
    fn look(&mut self) -> Result<(Claim, u64), OutboxError> {
        let Some(last) = self.turns.last()? else { return Ok((Claim::Taken(ReceiverStates::new()), 0)) };
        let is_mine = last.holder == self.collector;
        let is_over = last.holder.is_empty() || last.age_ms >= LEASE_MS;
        let claim = match (is_mine, &self.held) {
            (true, Some(_)) => Claim::Held,
            (false, _) if !is_over => Claim::Elsewhere,
            _ => Claim::Taken(parsed(last.states.as_bytes()).unwrap_or_else(|error| {
                error!(%error, "Notifications: the stored states are damaged. Alerts that fire are sent again");
                ReceiverStates::new()
            })),
        };
        Ok((claim, last.number + 1))
    }
}

impl<T: Turns> Outbox for SharedOutbox<T> {
    fn claim(&mut self, states: &ReceiverStates) -> Result<Claim, OutboxError> {
        let (claim, next) = self.look()?;
        let stored = match &claim {
            Claim::Held => self.append(next, states),
            Claim::Taken(taken) => self.append(next, taken),
            Claim::Elsewhere => Err(OutboxError::Elsewhere),
        };
        match stored {
            Ok(()) => Ok(claim),
            Err(OutboxError::Elsewhere) => {
                self.held = None;
                Ok(Claim::Elsewhere)
            }
            Err(error) => Err(error),
        }
    }

    fn save(&mut self, states: &ReceiverStates) -> Result<(), OutboxError> {
        let (number, _) = self.held.ok_or(OutboxError::Elsewhere)?;
        self.append(number + 1, states)
    }

    fn may_send(&self) -> bool {
        self.held.is_some_and(|(_, began)| (self.clock)().saturating_sub(began) < SEND_WITHIN)
    }

    fn release(&mut self, states: &ReceiverStates) {
        let Some((number, _)) = self.held.take() else { return };
        if let Err(error) = self.turns.append(number + 1, "", &written(states)) {
            warn!(%error, "Notifications: another collector takes over in {} s", LEASE_MS / 1_000);
        }
    }
}

/// The lease ends this long after the last turn: three rounds.
const LEASE_MS: i64 = 90_000;

/// No message is sent later than this after a turn. The rest of the lease is for the delivery itself.
const SEND_WITHIN: Duration = Duration::from_secs(40);

#[cfg(test)]
mod tests;
