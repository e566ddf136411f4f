//! The thread that destroys keys of visits in time, and agrees on them with the other collectors of a cluster.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::VisitKey;
use super::shared::{Agreement, SharedKeys};
use crate::background_thread::Background;
use crate::time::{self, DAY_MS};

impl VisitKey {
    /// Destroys each key at the end of its day. In a cluster, agrees on each key with the other collectors.
    pub(crate) fn watch(self: &Arc<Self>, shared: Option<Box<dyn SharedKeys>>) -> io::Result<Background> {
        let key = self.clone();
        let longest_wait = if shared.is_some() { LONGEST_WAIT_IN_CLUSTER } else { LONGEST_WAIT };
        let mut agreement = shared.map(Agreement::new);
        Background::start("visit key", move |stopped| {
            while waits(stopped, longest_wait, time::now_ms()) {
                key.expire(time::now_ms());
                if let Some(agreement) = &mut agreement {
                    agreement.renew(&key, time::now_ms());
                }
            }
        })
    }
}

/// Waits for the end of the day, and at most `longest`: clocks change. `false` if the collector stops.
fn waits(stopped: &Receiver<()>, longest: Duration, now_ms: i64) -> bool {
    let left = Duration::from_millis((DAY_MS - now_ms.rem_euclid(DAY_MS)).unsigned_abs());
    stopped.recv_timeout(left.min(longest)) == Err(RecvTimeoutError::Timeout)
}

const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Until it has asked the others, a collector hashes with a key of its own.
const LONGEST_WAIT_IN_CLUSTER: Duration = Duration::from_secs(5);
