//! Whether beacons can be stored, judging by the last writes.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::{error, info};

/// Whether beacons can be stored, judging by the last attempts.
#[derive(Default)]
pub(crate) struct Health {
    journal_failed: AtomicBool,
    store_failed: AtomicBool,
    draining: AtomicBool,
}

impl Health {
    /// Whether the journal or the store has failed: beacons are accepted only while both work.
    pub(crate) fn storage_failed(&self) -> bool {
        self.journal_failed.load(Ordering::Relaxed) || self.store_failed.load(Ordering::Relaxed)
    }

    pub(super) fn journal_failed(&self) -> bool {
        self.journal_failed.load(Ordering::Relaxed)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn store_answered<T, E: std::fmt::Display>(&self, result: &Result<T, E>) {
        answered(&self.store_failed, result, "store");
    }

    /// Marks the journal as failed until the next write is complete.
    pub(crate) fn journal_is_too_slow(&self) {
        answered(&self.journal_failed, &Err::<(), _>("a write takes too long"), "journal");
    }

    pub(super) fn journal_answered<T>(&self, result: &io::Result<T>) {
        answered(&self.journal_failed, result, "journal");
    }
}

fn answered<T, E: std::fmt::Display>(failed: &AtomicBool, result: &Result<T, E>, what: &str) {
    if failed.load(Ordering::Relaxed) == result.is_err() {
        return;
    }
    let before = failed.swap(result.is_err(), Ordering::Relaxed);
    match result {
        Err(error) if !before => {
            error!(%error, "Cannot write the {what}; the collector is not ready until it can");
        }
        Ok(_) if before => info!("The {what} is writable again"),
        _ => {}
    }
}
