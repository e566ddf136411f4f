//! Derives the default limit of each site from its stored past, once an hour.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tracing::warn;

use crate::aggregate::dimension::Dimension;
use crate::background_thread::Background;
use crate::config::token::AllowedSites;
use crate::http::fair_share::FairShares;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::WindowsQuery;
use crate::store::reader_pool::ReaderPool;
use crate::time::{self, DAY_MINUTES, HOUR_MINUTES, minute_of};

/// Starts the thread.
pub(super) fn start(reader: Arc<ReaderPool>, shares: Arc<FairShares>) -> Result<Background, StoreError> {
    let run = move |stop: &Receiver<()>| loop {
        let wait = match set_limits(&reader, &shares, minute_of(time::now_ms())) {
            Ok(()) => EVERY,
            Err(error) => {
                warn!(%error, "Cannot read the past of the sites for their default limits; trying again");
                AFTER_ERROR
            }
        };
        if stop.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    };
    Background::start("site history", run).map_err(StoreError::Thread)
}

fn set_limits(reader: &ReaderPool, shares: &FairShares, now_minute: i64) -> Result<(), StoreError> {
    // In a cluster each collector has its own share of a site's traffic, and of the past.
    reader.run_own_here(|store| {
        for (site, share) in shares {
            share.set_limit(limit(&busiest_hours(store, site, now_minute)?));
        }
        Ok(())
    })
}

/// Streams in the busiest hour of each of the last days with streams. Today's do not count: an attack of today is no
/// past.
fn busiest_hours(store: &Backend<'_>, site: &str, now_minute: i64) -> Result<Vec<u64>, StoreError> {
    let today = now_minute.div_euclid(DAY_MINUTES);
    let filter = Filter::of_sites(AllowedSites::All).with(Dimension::Site, site);
    let minutes = ((today - DAYS) * DAY_MINUTES, today * DAY_MINUTES);
    let query = WindowsQuery { filter: &filter, minutes, longest: HOUR_MINUTES, metrics: &[] };
    let mut hours = BTreeMap::<i64, u64>::new();
    store.windows(&query, |minute, stats| {
        *hours.entry(minute.div_euclid(HOUR_MINUTES)).or_default() += stats.streams();
    })?;
    let mut days = BTreeMap::<i64, u64>::new();
    for (hour, streams) in hours {
        let busiest = days.entry(hour * HOUR_MINUTES / DAY_MINUTES).or_default();
        *busiest = streams.max(*busiest);
    }
    Ok(days.into_values().collect())
}

/// Reports per second that a site may get before shares are enforced. The median day counts, so that fakes of one day
/// do not raise the limit of the next.
fn limit(busiest_hours: &[u64]) -> u64 {
    let mut sorted = busiest_hours.to_vec();
    sorted.sort_unstable();
    let median = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0);
    (median * FACTOR / SECONDS_OF_AN_HOUR).max(LEAST_PER_SECOND)
}

const DAYS: i64 = 7;

/// A stream has two or three reports, and the busiest seconds have several times the streams of the hour's mean.
const FACTOR: u64 = 20;
const SECONDS_OF_AN_HOUR: u64 = 3_600;

/// A site without a past may get this much, twice the default `ingest.network_rate`: a load test from one network
/// passes.
const LEAST_PER_SECOND: u64 = 1_000;

const EVERY: Duration = Duration::from_secs(3_600);
const AFTER_ERROR: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_follows_the_median_day() {
        let streams_per_second =
            |each: &[u64]| each.iter().map(|n| n * SECONDS_OF_AN_HOUR).collect::<Vec<_>>();
        for (days, expected) in [
            (&[][..], 1_000),
            (&[1], 1_000),
            (&[500], 10_000),
            (&[500, 600, 700], 12_000),
            (&[500, 600, 9_000], 12_000),
            (&[500, 9_000], 10_000),
            (&[1, 1, 1, 9_000], 1_000),
        ] {
            assert_eq!(limit(&streams_per_second(days)), expected, "{days:?}");
        }
    }
}
