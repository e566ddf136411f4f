//! Limits each client network to a fair share of what a site can expect, while it gets far more, and tells when a few
//! networks send an abnormal share.
//!
//! Time passes in windows of ten seconds. While a window has more reports than the site's limit allows, a network is
//! refused once it has used up its quota: the same for all, and as large as the limit allows if small networks use
//! less. So a flood from some networks does not refuse the reports of all others.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::http::rate_limit::RetryAfter;
use crate::report::source::ReportSource;
use crate::time::{DAY_MS, HOUR_MS, MINUTE_MS, day_of};

/// The shares of one site's networks. Networks are known by keyed hashes that last as long as the process, for the ten
/// seconds of a window.
#[derive(Debug, Default)]
pub(crate) struct FairShare(Mutex<State>);

/// The shares of each site without a `rate`, by its name.
pub(crate) type FairShares = BTreeMap<String, Arc<FairShare>>;

#[derive(Debug, Default)]
struct State {
    /// Reports that a window may have. `None` until the site's past is known: then nothing is refused.
    allowed: Option<u64>,
    window: Window,
    /// Reports that one network may bring in the current window. `None` while the limit is not reached.
    quota: Option<u64>,
    /// Accepted reports at which the quota is computed again.
    next_check: u64,
    usual: Usual,
    attack: Option<Attack>,
}

/// The reports of ten seconds.
#[derive(Debug, Default)]
struct Window {
    /// Time since 1970 in windows.
    at: i64,
    offered: u64,
    accepted: u64,
    has_refusals: bool,
    /// The networks with the most reports: if the table is full, the one with the fewest loses its place.
    networks: HashMap<u64, Network>,
}

/// The reports of one network in a window.
#[derive(Debug, Clone, Copy, Default)]
struct Network {
    offered: u64,
    accepted: u64,
}

/// The most reports that one network brought in a window, of today and of the last day before. A number about no
/// network.
#[derive(Debug, Default)]
struct Usual {
    since_ms: Option<i64>,
    day: i64,
    today: u64,
    before: u64,
}

/// Few networks that send an abnormal share of a site's reports.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attack {
    /// Beginning of the first window.
    pub(crate) since_ms: i64,
    /// End of the last window.
    pub(crate) until_ms: i64,
    /// Reports that were refused. 0 if the share is abnormal but the site's limit is not reached.
    pub(crate) refused: u64,
    /// Reports per second that each network may bring. `None` if none was refused.
    pub(crate) quota_per_second: Option<u64>,
    /// The networks in the window in which they sent the most.
    pub(crate) networks: usize,
    /// Their share of the window's reports.
    pub(crate) share: f64,
    /// Their reports in that window.
    pub(crate) most: u64,
}

impl FairShare {
    /// Sets how many reports the site may get per second before shares are enforced.
    pub(crate) fn set_limit(&self, per_second: u64) {
        self.lock().allowed = Some(per_second * WINDOW_SECONDS);
    }

    /// Refuses a beacon of a network that has used up its quota, before its body is read.
    pub(crate) fn check(&self, source: ReportSource, now_ms: i64) -> Result<(), RetryAfter> {
        let Some(network) = source.network() else { return Ok(()) };
        let mut state = self.lock();
        state.proceed(now_ms);
        if state.is_used_up(network) { Err(state.refuse(network, 1, now_ms)) } else { Ok(()) }
    }

    /// Charges a valid beacon. It is accepted whole if something of the quota is left.
    pub(crate) fn take(&self, source: ReportSource, reports: u64, now_ms: i64) -> Result<(), RetryAfter> {
        let Some(network) = source.network() else { return Ok(()) };
        let mut state = self.lock();
        state.proceed(now_ms);
        if state.is_used_up(network) {
            return Err(state.refuse(network, reports, now_ms));
        }
        state.window.network(network).accepted += reports;
        state.window.offer(network, reports);
        state.window.accepted += reports;
        state.check_quota();
        Ok(())
    }

    /// The attack that goes on, or the last one of the last day.
    pub(crate) fn attack(&self, now_ms: i64) -> Option<Attack> {
        let mut state = self.lock();
        state.proceed(now_ms);
        state.observe();
        state.attack.clone().filter(|attack| now_ms - attack.until_ms < DAY_MS)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends the current window if its time is over.
    fn proceed(&mut self, now_ms: i64) {
        let at = now_ms.div_euclid(WINDOW_MS);
        if at == self.window.at {
            return;
        }
        if !self.observe() {
            self.usual.learn(&self.window);
        }
        let follows = at == self.window.at + 1;
        // A flood that goes on is limited from the beginning of the next window.
        self.quota = self.allowed.filter(|_| follows).and_then(|allowed| self.window.quota(allowed));
        self.next_check = self.allowed.unwrap_or(u64::MAX);
        self.window = Window { at, ..Window::default() };
    }

    fn is_used_up(&self, network: u64) -> bool {
        let accepted = self.window.networks.get(&network).map_or(0, |network| network.accepted);
        self.quota.is_some_and(|quota| accepted >= quota)
    }

    /// Lowers the quota if the accepted reports exceed the limit all the same.
    fn check_quota(&mut self) {
        let Some(allowed) = self.allowed.filter(|_| self.window.accepted >= self.next_check) else { return };
        self.next_check = self.window.accepted + allowed.div_ceil(CHECKS);
        if let Some(quota) = self.window.quota(allowed) {
            self.quota = Some(self.quota.map_or(quota, |before| before.min(quota)));
        }
    }

    fn refuse(&mut self, network: u64, reports: u64, now_ms: i64) -> RetryAfter {
        self.window.offer(network, reports);
        self.window.has_refusals = true;
        let attack = self.attack_in_window();
        attack.refused += reports;
        let left_ms = WINDOW_MS - now_ms.rem_euclid(WINDOW_MS);
        RetryAfter(Duration::from_millis(left_ms.cast_unsigned()))
    }

    /// Looks for networks with an abnormal share of the window, and notes them.
    fn observe(&mut self) -> bool {
        let quota = self.quota.filter(|_| self.window.has_refusals);
        let Some(most) = quota.or_else(|| self.usual.abnormal(self.window.start_ms())) else { return false };
        let heavy = self.window.networks.values().map(|network| network.offered);
        let (mut networks, mut reports) = (0, 0);
        for offered in heavy.filter(|offered| *offered > most) {
            networks += 1;
            reports += offered;
        }
        if quota.is_none() && reports * 2 <= self.window.offered {
            return false;
        }
        let share = reports as f64 / self.window.offered.max(1) as f64;
        let attack = self.attack_in_window();
        attack.quota_per_second = quota.map(|quota| quota / WINDOW_SECONDS).or(attack.quota_per_second);
        if reports > attack.most {
            (attack.networks, attack.share, attack.most) = (networks, share, reports);
        }
        true
    }

    /// The attack that the current window belongs to.
    fn attack_in_window(&mut self) -> &mut Attack {
        let (since_ms, until_ms) = (self.window.start_ms(), self.window.start_ms() + WINDOW_MS);
        self.attack.take_if(|attack| since_ms - attack.until_ms > PAUSE_MS);
        let new = Attack {
            since_ms,
            until_ms,
            refused: 0,
            quota_per_second: None,
            networks: 0,
            share: 0.0,
            most: 0,
        };
        let attack = self.attack.get_or_insert(new);
        attack.until_ms = until_ms;
        attack
    }
}

impl Window {
    const fn start_ms(&self) -> i64 {
        self.at * WINDOW_MS
    }

    fn offer(&mut self, network: u64, reports: u64) {
        self.offered += reports;
        self.network(network).offered += reports;
    }

    fn network(&mut self, network: u64) -> &mut Network {
        if self.networks.len() >= MOST_NETWORKS && !self.networks.contains_key(&network) {
            let least = self.networks.iter().min_by_key(|(_, network)| network.offered);
            // The newcomer does not inherit the count, as it would in a space-saving table: its quota would be used up.
            if let Some(least) = least.map(|(least, _)| *least) {
                self.networks.remove(&least);
            }
        }
        self.networks.entry(network).or_default()
    }

    /// Reports that each network may bring so that all together bring `allowed`. `None` if they do not bring more.
    fn quota(&self, allowed: u64) -> Option<u64> {
        if self.offered < allowed {
            return None;
        }
        let mut all: Vec<_> = self.networks.values().map(|network| network.offered).collect();
        all.sort_unstable();
        // Networks without a place in the table are small.
        let in_table: u64 = all.iter().sum();
        let mut left = allowed.saturating_sub(self.offered - in_table);
        for (at, offered) in all.iter().enumerate() {
            let share = left / (all.len() - at) as u64;
            if *offered > share {
                return Some(share.max(LEAST_QUOTA));
            }
            left -= offered;
        }
        None
    }
}

impl Usual {
    fn learn(&mut self, window: &Window) {
        let Some(most) = window.networks.values().map(|network| network.offered).max() else { return };
        let day = day_of(window.start_ms());
        if day != self.day {
            (self.day, self.before, self.today) = (day, self.today, 0);
        }
        self.since_ms.get_or_insert(window.start_ms());
        self.today = self.today.max(most);
    }

    /// Reports beyond which a network is abnormal. `None` while the past is too short.
    fn abnormal(&self, now_ms: i64) -> Option<u64> {
        let is_known = self.since_ms.is_some_and(|since_ms| now_ms - since_ms >= HOUR_MS);
        is_known.then(|| (self.today.max(self.before) * ABNORMAL_FACTOR).max(LEAST_ABNORMAL))
    }
}

impl Attack {
    /// Whether it goes on.
    pub(crate) const fn goes_on(&self, now_ms: i64) -> bool {
        now_ms - self.until_ms < MINUTE_MS
    }
}

const WINDOW_SECONDS: u64 = 10;
const WINDOW_MS: i64 = WINDOW_SECONDS.cast_signed() * 1_000;

/// Networks that a window counts by name. Any with more than a thousandth of the reports is among them.
const MOST_NETWORKS: usize = 1_024;

/// A network with less than one report per second is never refused: growth and a launch bring many such networks.
const LEAST_QUOTA: u64 = WINDOW_SECONDS;

/// The quota is computed again after each eighth of the limit.
const CHECKS: u64 = 8;

/// Two attacks with a shorter pause are one.
const PAUSE_MS: i64 = 10 * MINUTE_MS;

/// A network is abnormal if it sends ten times what the busiest sent before, and more than ten reports per second.
const ABNORMAL_FACTOR: u64 = 10;
const LEAST_ABNORMAL: u64 = 10 * WINDOW_SECONDS;

#[cfg(test)]
mod tests;
