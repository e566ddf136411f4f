//! Rate limits of sites, tokens and client networks, without locks: one number per site or token, and a table of fixed
//! size for the networks.
//!
//! A crate such as `governor` keeps one entry per key and grows until it is swept. Here strangers choose the keys.
//! The algorithm is the same, GCRA: a sender's state is the moment at which everything it sent is paid for.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::config::rate::Rate;
use crate::http::client_ip::ClientNetwork;
use crate::report::source::ReportSource;

/// A rate: the time that each item costs, and the burst, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    each: u64,
    burst: u64,
}

/// How long a sender has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetryAfter(pub(crate) Duration);

/// Rate limit for all beacons of one site, or for the markers of one token.
#[derive(Debug)]
pub(crate) struct RateLimit {
    allowance: Allowance,
    paid_at: AtomicU64,
}

/// Rate limit for the reports of each client network, in a table of fixed size.
///
/// A network uses one of four slots, which a keyed hash picks so that no client can choose to share another
/// network's slot. If all four are taken, the network that owes least loses its slot.
#[derive(Debug)]
pub(crate) struct NetworkRateLimits {
    allowance: Allowance,
    slots: Box<[[AtomicU64; WAYS]]>,
    hasher: RandomState,
}

impl RateLimit {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { allowance: Allowance::of(rate), paid_at: AtomicU64::new(0) }
    }

    /// Charges one item at `now`, the time since any fixed moment.
    pub(crate) fn take(&self, now: Duration) -> Result<(), RetryAfter> {
        let now = micros(now);
        let mut paid_at = self.paid_at.load(Ordering::Relaxed);
        loop {
            let next = self.allowance.take(paid_at, now)?;
            match self.paid_at.compare_exchange_weak(paid_at, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(changed) => paid_at = changed,
            }
        }
    }
}

impl NetworkRateLimits {
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            allowance: Allowance::of(rate),
            slots: (0..SETS).map(|_| Default::default()).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Charges the first report of a network's beacon at `now`, the time since any fixed moment.
    pub(crate) fn take(&self, network: ClientNetwork, now: Duration) -> Result<(), RetryAfter> {
        self.change(network, micros(now), Allowance::take)
    }

    /// Whether one more would pass at `now`. Charges nothing, and takes no network's slot.
    pub(crate) fn check(&self, network: ClientNetwork, now: Duration) -> Result<(), RetryAfter> {
        let (set, tag) = self.set_of(network);
        let mut held = set.iter().map(|slot| slot.load(Ordering::Relaxed));
        let paid_at = held.find(|slot| slot & !TIME == tag).map_or(micros(now), |slot| slot & TIME);
        self.allowance.take(paid_at, micros(now)).map(drop)
    }

    /// Charges the other reports of a beacon once their number or size is known. If they exceed the burst, this
    /// beacon still passes. Other beacons in progress are refused, and later ones until the excess is paid.
    pub(crate) fn take_more(
        &self,
        network: ClientNetwork,
        reports: usize,
        now: Duration,
    ) -> Result<(), RetryAfter> {
        let reports = reports.min(MOST_MORE) as u64;
        self.change(network, micros(now), |allowance, paid_at, now| {
            allowance.take_more(paid_at, now, reports)
        })
    }

    /// The network under its keyed hash.
    pub(crate) fn source(&self, network: ClientNetwork) -> ReportSource {
        ReportSource::Network(self.hasher.hash_one(network))
    }

    /// The slots that a network can use, and the bits that mark its own.
    fn set_of(&self, network: ClientNetwork) -> (&[AtomicU64; WAYS], u64) {
        let hash = self.hasher.hash_one(network);
        (&self.slots[hash as usize % SETS], hash & !TIME)
    }

    fn change(
        &self,
        network: ClientNetwork,
        now: u64,
        take: impl Fn(Allowance, u64, u64) -> Result<u64, RetryAfter>,
    ) -> Result<(), RetryAfter> {
        let (set, tag) = self.set_of(network);
        loop {
            let held = set.each_ref().map(|slot| slot.load(Ordering::Relaxed));
            let mine = held.iter().position(|slot| slot & !TIME == tag);
            let least = || (0..WAYS).min_by_key(|&way| self.allowance.owed(held[way] & TIME, now));
            let way = mine.or_else(least).unwrap_or(0);
            let paid_at = if mine.is_some() { held[way] & TIME } else { now };
            let next = tag | (take(self.allowance, paid_at, now)? & TIME);
            if set[way].compare_exchange_weak(held[way], next, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return Ok(());
            }
        }
    }
}

impl Allowance {
    fn of(rate: Rate) -> Self {
        let each = 1_000_000 / u64::from(rate.per_second.max(1));
        let burst = rate.burst.unwrap_or(rate.per_second.saturating_mul(DEFAULT_BURST_SECONDS));
        Self { each, burst: each * u64::from(burst) }
    }

    /// Time that is not paid for yet. A network can owe at most the burst and the rest of one beacon: a
    /// larger value comes from a moment before the clock's bits wrapped around.
    const fn owed(self, paid_at: u64, now: u64) -> u64 {
        let owed = paid_at.wrapping_sub(now) & TIME;
        if owed > self.burst + self.each * MOST_MORE as u64 { 0 } else { owed }
    }

    /// The moment at which one more item will be paid for.
    const fn take(self, paid_at: u64, now: u64) -> Result<u64, RetryAfter> {
        let owes = self.owed(paid_at, now) + self.each;
        if owes > self.burst {
            return Err(RetryAfter(Duration::from_micros(owes - self.burst)));
        }
        Ok(now + owes)
    }

    /// The same for `more` items. It is refused only if more than the burst is owed already.
    const fn take_more(self, paid_at: u64, now: u64, more: u64) -> Result<u64, RetryAfter> {
        let owes = self.owed(paid_at, now);
        if owes > self.burst {
            return Err(RetryAfter(Duration::from_micros(owes - self.burst)));
        }
        Ok(now + owes + self.each * more)
    }
}

const fn micros(now: Duration) -> u64 {
    now.as_micros() as u64 & TIME
}

/// The lower bits of a slot are a moment in microseconds, which wraps around after 203 days. The upper bits
/// distinguish the networks of a set.
const TIME: u64 = (1 << 44) - 1;
const WAYS: usize = 4;
/// 512 KiB in all.
const SETS: usize = 1 << 14;
const DEFAULT_BURST_SECONDS: u32 = 10;
/// Most reports that a beacon is charged for, not counting its first.
const MOST_MORE: usize = 1_000;

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const RATE: Rate = Rate { per_second: 10, burst: Some(3) };

    fn network(number: u32) -> ClientNetwork {
        ClientNetwork::of(IpAddr::V4(Ipv4Addr::from_bits(number << 8)))
    }

    #[test]
    fn a_burst_passes_and_then_one_per_interval() {
        let site = RateLimit::new(RATE);
        let at = Duration::from_millis;
        for _ in 0..3 {
            assert_eq!(site.take(at(5)), Ok(()));
        }
        assert_eq!(site.take(at(5)), Err(RetryAfter(at(100))));
        assert_eq!(site.take(at(104)), Err(RetryAfter(at(1))));
        assert_eq!(site.take(at(105)), Ok(()));
        assert!(site.take(at(105)).is_err());
        assert_eq!((0..9).filter(|_| site.take(at(60_000)).is_ok()).count(), 3, "silence saves up one burst");
    }

    #[test]
    fn a_check_charges_nothing() {
        let paces = NetworkRateLimits::new(RATE);
        let now = Duration::from_secs(1);
        for _ in 0..3 {
            assert_eq!((0..9).filter(|_| paces.check(network(1), now).is_ok()).count(), 9);
            assert_eq!(paces.take(network(1), now), Ok(()));
        }
        assert_eq!(paces.check(network(1), now), Err(RetryAfter(Duration::from_millis(100))));
        assert_eq!(paces.check(network(2), now), Ok(()));
    }

    #[test]
    fn a_network_does_not_use_up_the_share_of_another() {
        let paces = NetworkRateLimits::new(RATE);
        let now = Duration::from_secs(1);
        assert_eq!((0..100).filter(|_| paces.take(network(1), now).is_ok()).count(), 3);
        assert_eq!((0..100).filter(|_| paces.take(network(2), now).is_ok()).count(), 3);
    }

    #[test]
    fn reports_beyond_the_burst_delay_the_next_beacon() {
        let paces = NetworkRateLimits::new(RATE);
        let at = |ms| Duration::from_secs(1) + Duration::from_millis(ms);
        assert_eq!(paces.take(network(1), at(0)), Ok(()));
        assert_eq!(paces.take(network(1), at(0)), Ok(()), "two beacons under way at once");
        assert_eq!(paces.take_more(network(1), 99, at(0)), Ok(()));
        let in_debt = RetryAfter(Duration::from_millis(9_800));
        assert_eq!(paces.take_more(network(1), 99, at(0)), Err(in_debt), "only one goes beyond");
        assert_eq!(paces.take(network(1), at(9_899)), Err(RetryAfter(Duration::from_millis(1))));
        assert_eq!(paces.take(network(1), at(9_900)), Ok(()));
        assert_eq!(paces.take(network(2), at(0)), Ok(()));
    }

    #[test]
    fn a_million_networks_use_fixed_memory_and_block_no_new_one() {
        let paces = NetworkRateLimits::new(RATE);
        let now = Duration::from_secs(1);
        for number in 0..1_000_000 {
            assert_eq!(paces.take(network(number), now), Ok(()), "{number}");
        }
        assert_eq!(size_of_val(&*paces.slots), 512 * 1024);
    }

    #[test]
    fn the_rate_limit_survives_a_wrap_of_its_clock() {
        let paces = NetworkRateLimits::new(RATE);
        let last = Duration::from_micros(TIME);
        assert_eq!((0..9).filter(|_| paces.take(network(1), last).is_ok()).count(), 3);
        let after = last + Duration::from_millis(100);
        assert_eq!((0..9).filter(|_| paces.take(network(1), after).is_ok()).count(), 1);
    }

    #[test]
    fn many_threads_share_one_rate_limit() {
        let paces = NetworkRateLimits::new(Rate { per_second: 1, burst: Some(1_000) });
        let passed = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        let ok = paces.take(network(1), Duration::from_secs(9)).is_ok();
                        passed.fetch_add(usize::from(ok), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(passed.into_inner(), 1_000);
    }
}
