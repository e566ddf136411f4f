//! Storage of the receivers' states: the alerts that each one knows of and the messages that it has yet to get. They are
//! stored before a message is sent.

use std::collections::BTreeMap;
use std::io;

use super::state::ReceiverState;
use crate::store::error::StoreError;

/// States by the receivers' ids.
pub(super) type ReceiverStates = BTreeMap<String, ReceiverState>;

/// Where the states are stored.
pub(super) trait Outbox: Send {
    /// Begins a round, or says that another collector sends. `states` are those of the round before.
    fn claim(&mut self, states: &ReceiverStates) -> Result<Claim, OutboxError>;

    /// Stores states.
    ///
    /// # Errors
    /// Also if another collector has begun to send.
    fn save(&mut self, states: &ReceiverStates) -> Result<(), OutboxError>;

    /// Whether the claim still holds long enough to send a message.
    fn may_send(&self) -> bool {
        true
    }

    /// Lets another collector send. The states are those of the last round.
    fn release(&mut self, _states: &ReceiverStates) {}
}

/// Whether this collector sends.
#[derive(Debug, PartialEq)]
pub(super) enum Claim {
    /// As before, with the states that it has.
    Held,
    /// From now on, with these states.
    Taken(ReceiverStates),
    /// Another collector does.
    Elsewhere,
}

/// Why states cannot be read or stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutboxError {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("another collector of the cluster sends now")]
    Elsewhere,
}

/// Reads stored states. An error means that they are damaged.
pub(super) fn parsed(text: &[u8]) -> Result<ReceiverStates, serde_json::Error> {
    serde_json::from_slice(text)
}

pub(super) fn written(states: &ReceiverStates) -> String {
    serde_json::to_string(states).expect("states are maps with text keys")
}
