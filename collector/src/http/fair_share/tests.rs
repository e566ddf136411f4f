use super::*;

/// Begins with a window.
const BEGIN_MS: i64 = 1_000_000 * WINDOW_MS;

fn source(network: u64) -> ReportSource {
    ReportSource::Network(network)
}

/// A site with a limit of 100 reports per second.
fn site() -> FairShare {
    let site = FairShare::default();
    site.set_limit(100);
    site
}

impl FairShare {
    /// Sends single reports of these networks in turn, evenly over some seconds, and returns how many of each were
    /// accepted.
    fn send(&self, from_ms: i64, seconds: i64, per_second: &[(u64, i64)]) -> HashMap<u64, i64> {
        let mut accepted = HashMap::new();
        for at_ms in 0..seconds * 1_000 {
            for (network, per_second) in per_second {
                let is_due = at_ms * per_second / 1_000 != (at_ms + 1) * per_second / 1_000;
                let now_ms = from_ms + at_ms;
                let sent = || {
                    self.check(source(*network), now_ms).and_then(|()| self.take(source(*network), 1, now_ms))
                };
                if is_due && sent().is_ok() {
                    *accepted.entry(*network).or_default() += 1;
                }
            }
        }
        accepted
    }
}

/// 40 networks that flood, and ten honest ones with two reports per second each.
fn flood() -> Vec<(u64, i64)> {
    (0..40).map(|network| (network, 50)).chain((100..110).map(|network| (network, 2))).collect()
}

#[test]
fn a_flood_does_not_refuse_small_networks() {
    let site = site();
    let accepted = site.send(BEGIN_MS, 60, &flood());
    for honest in 100..110 {
        assert_eq!(accepted[&honest], 120, "{honest}");
    }
    let fakes: i64 = (0..40).map(|network| accepted[&network]).sum();
    // The limit leaves 80 per second beside the honest reports.
    assert!((60 * 75..60 * 100).contains(&fakes), "{fakes}");
    let attack = site.attack(BEGIN_MS + 59_999).unwrap();
    assert_eq!((attack.networks, attack.since_ms, attack.goes_on(BEGIN_MS + 60_000)), (40, BEGIN_MS, true));
    assert_eq!(attack.refused as i64, 60 * 2_000 - fakes);
    assert!((attack.share - 2_000.0 / 2_020.0).abs() < 0.001, "{attack:?}");
}

#[test]
fn many_small_networks_are_never_refused() {
    let site = site();
    let launch: Vec<_> = (0..2_000).map(|network| (network, 1)).collect();
    let accepted = site.send(BEGIN_MS, 20, &launch);
    assert_eq!(accepted.values().sum::<i64>(), 40_000);
    assert_eq!(site.attack(BEGIN_MS + 20_000), None);
}

#[test]
fn nothing_is_refused_within_the_limit_or_before_it_is_known() {
    let one = [(7, 99)];
    assert_eq!(site().send(BEGIN_MS, 30, &one)[&7], 30 * 99);
    let unknown = FairShare::default();
    assert_eq!(unknown.send(BEGIN_MS, 30, &[(7, 900)])[&7], 30 * 900);
    let local = site();
    let sent = |_| local.take(ReportSource::Unnamed, 1, BEGIN_MS);
    assert!((0..9_000).map(sent).all(|sent| sent.is_ok()), "a client without a network");
}

#[test]
fn the_quota_ends_with_the_flood() {
    let site = site();
    site.send(BEGIN_MS, 30, &flood());
    let later = BEGIN_MS + 40_000;
    let alone: HashMap<_, _> = site.send(later, 30, &[(0, 90)]);
    assert_eq!(alone[&0], 30 * 90);
    let attack = site.attack(later + 60_000).unwrap();
    assert_eq!((attack.until_ms, attack.goes_on(later + 60_000)), (BEGIN_MS + 30_000, false));
    assert_eq!(site.attack(later + DAY_MS), None);
}

#[test]
fn a_refused_network_waits_for_the_next_window() {
    let site = site();
    let now_ms = BEGIN_MS + 4_000;
    while site.take(source(1), 100, now_ms).is_ok() {}
    assert_eq!(site.check(source(1), now_ms), Err(RetryAfter(Duration::from_secs(6))));
    assert_eq!(site.check(source(2), now_ms), Ok(()));
}

#[test]
fn a_few_networks_are_abnormal_compared_with_the_past() {
    let usual: Vec<_> = (100..110).map(|network| (network, 1)).collect();
    let flood: Vec<_> = usual.iter().copied().chain((0..3).map(|network| (network, 20))).collect();
    let after_an_hour = BEGIN_MS + HOUR_MS;
    for (past_ms, expected) in [(BEGIN_MS, Some(3)), (after_an_hour - 30_000, None)] {
        let site = site();
        site.send(past_ms, 20, &usual);
        site.send(after_an_hour, 20, &flood);
        let attack = site.attack(after_an_hour + 20_000);
        assert_eq!(
            attack.as_ref().map(|attack| (attack.networks, attack.refused)),
            expected.map(|networks| (networks, 0))
        );
    }
}

#[test]
fn the_table_of_networks_is_bounded() {
    let site = site();
    let now_ms = BEGIN_MS;
    for network in 0..10_000 {
        site.take(source(network), 1, now_ms).unwrap();
        // The largest network is refused from some time on.
        let _either = site.take(source(u64::MAX), 1, now_ms);
    }
    let state = site.lock();
    assert_eq!(state.window.networks.len(), MOST_NETWORKS);
    assert!(state.window.networks[&u64::MAX].accepted > 400, "the largest keeps its place");
}
