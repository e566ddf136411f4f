//! The clock that windows go by: what is sent to both sides of the comparison goes in, and reaches both in the same
//! minute.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};

/// What arrives in the last moment of a minute here may arrive in the next one there, and be counted in it: what
/// both sides are sent is sent early in a minute.
pub(super) async fn within_a_minute(send: impl Future<Output = Result<()>>) -> Result<()> {
    let into_it_ms = now_ms() % MINUTE_MS;
    if into_it_ms > LATE_MS {
        tokio::time::sleep(Duration::from_millis((MINUTE_MS - into_it_ms) as u64)).await;
    }
    let minute = now_ms() / MINUTE_MS;
    send.await?;
    ensure!(now_ms() / MINUTE_MS == minute, "to send one load took {} s", (MINUTE_MS - LATE_MS) / 1_000);
    Ok(())
}

pub(super) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

pub(super) const DAY_MS: i64 = 86_400_000;
const MINUTE_MS: i64 = 60_000;
/// So far into a minute the rest of it is too short for a load on a slow machine.
const LATE_MS: i64 = 30_000;
