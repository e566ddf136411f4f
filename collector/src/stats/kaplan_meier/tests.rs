use proptest::prelude::*;

use super::*;

fn histogram(values: &[f64]) -> Histogram {
    let mut histogram = Histogram::default();
    values.iter().for_each(|value| histogram.record(*value));
    histogram
}

fn quantile(happened: &[f64], cut_short: &[f64], q: f64) -> Option<f64> {
    CensoredWaits::new(&histogram(happened), [&histogram(cut_short), &Histogram::default()]).quantile(q)
}

/// Weeks until relapse under 6-MP, and weeks until the other patients left the study: the standard example in
/// texts on survival analysis.
const RELAPSES: [f64; 9] = [6.0, 6.0, 6.0, 7.0, 10.0, 13.0, 16.0, 22.0, 23.0];
const UNTIL_THEN: [f64; 12] = [6.0, 9.0, 10.0, 11.0, 17.0, 19.0, 20.0, 25.0, 32.0, 32.0, 34.0, 35.0];

/// Freireich et al. 1963, as listed in Stata's manual of survival analysis: week, survivors, confidence
/// interval.
const PUBLISHED: [(f64, f64, f64, f64); 7] = [
    (6.0, 0.8571, 0.6197, 0.9516),
    (7.0, 0.8067, 0.5631, 0.9228),
    (10.0, 0.7529, 0.5032, 0.8894),
    (13.0, 0.6902, 0.4316, 0.8491),
    (16.0, 0.6275, 0.3675, 0.8049),
    (22.0, 0.5378, 0.2678, 0.7468),
    (23.0, 0.4482, 0.1881, 0.6801),
];

#[test]
fn the_curve_of_a_published_example_is_the_published_one() {
    let (happened, cut_short) = (histogram(&RELAPSES), histogram(&UNTIL_THEN));
    let curve = CensoredWaits::new(&happened, [&cut_short, &Histogram::default()]).curve(0);
    let near = |found: f64, published: f64| (found - published).abs() < 0.000_06;
    for (week, survivors, lower, upper) in PUBLISHED {
        let reached = curve.iter().find(|reached| reached.wait_ms >= week).unwrap();
        let (least, most) = reached.interval.unwrap();
        assert!(near(1.0 - reached.share, survivors), "{week}: {reached:?}");
        assert!(near(1.0 - most, lower) && near(1.0 - least, upper), "{week}: {reached:?}");
    }
    let last = curve.last().unwrap();
    assert_eq!((last.at_risk, last.wait_ms >= 35.0), (0, true));
    let median = quantile(&RELAPSES, &UNTIL_THEN, 0.5).unwrap();
    assert!((median - 23.0).abs() <= 23.0 * RELATIVE_ERROR, "{median}");
    assert_eq!(quantile(&RELAPSES, &UNTIL_THEN, 0.6), None, "no more than 55 % had a relapse");
}

#[test]
fn no_percentile_is_reached_if_all_users_leave() {
    assert_eq!(quantile(&[], &[100.0, 200.0], 0.5), None);
    assert_eq!(quantile(&[], &[], 0.5), None);
    assert_eq!(quantile(&[100.0], &[200.0; 9], 0.5), None, "a tenth is not half");
}

#[test]
fn a_censored_wait_in_the_bucket_of_a_token_ends_after_it() {
    assert_eq!(quantile(&[100.0, 300.0], &[100.0], 0.3), quantile(&[100.0], &[], 1.0));
    assert_eq!(quantile(&[0.0, 300.0], &[0.0, 300.0], 0.25), Some(0.0));
}

#[test]
fn waits_that_end_before_the_first_token_change_no_percentile() {
    let tokens: Vec<_> = (1..=200).map(|at| f64::from(at) * 10.0).collect();
    for q in [0.5, 0.95, 0.99] {
        assert_eq!(quantile(&tokens, &[1.0; 500], q), histogram(&tokens).quantile(q), "refused at once, {q}");
    }
}

#[test]
fn a_folded_curve_has_the_same_shares_at_fewer_waits() {
    let waits: Vec<_> = (100..4_000).map(f64::from).collect();
    let (left, shown) = (histogram(&waits[..3_000]), histogram(&waits));
    let of = CensoredWaits::new(&left, [&shown, &Histogram::default()]);
    let (fine, coarse) = (of.curve(0), of.curve(3));
    assert!(coarse.len() * 4 < fine.len(), "{} of {}", coarse.len(), fine.len());
    for reached in &coarse[..coarse.len() - 1] {
        assert!(fine.contains(reached), "{reached:?}");
    }
}

/// By definition, one wait after the other in integers: the surviving share as a fraction.
fn survivors(mut waits: Vec<(f64, bool)>, until: f64) -> (u128, u128) {
    waits.sort_by(|(a, a_cut), (b, b_cut)| a.total_cmp(b).then(a_cut.cmp(b_cut)));
    let (mut over, mut under) = (1, 1);
    for (at, (wait, cut_short)) in waits.iter().enumerate() {
        let at_risk = (waits.len() - at) as u128;
        if *wait <= until && !cut_short {
            (over, under) = (over * (at_risk - 1), under * at_risk);
        }
    }
    (over, under)
}

fn exact_quantile(waits: &[(f64, bool)], per_cent: u128) -> Option<f64> {
    let mut tokens: Vec<_> =
        waits.iter().filter(|(_, cut_short)| !cut_short).map(|(wait, _)| *wait).collect();
    tokens.sort_by(f64::total_cmp);
    tokens.into_iter().find(|token| {
        let (over, under) = survivors(waits.to_vec(), *token);
        (under - over) * 100 >= under * per_cent
    })
}

fn waits(most: usize) -> impl Strategy<Value = Vec<(f64, bool)>> {
    prop::collection::vec(((0.1..9.0_f64).prop_map(f64::exp), any::<bool>()), 1..most)
}

fn split(waits: &[(f64, bool)]) -> (Vec<f64>, Vec<f64>) {
    let of = |kind: bool| waits.iter().filter(|(_, cut)| *cut == kind).map(|(wait, _)| *wait).collect();
    (of(false), of(true))
}

proptest! {
    /// The waits are limited to 26, since the product of 26 factors up to 26 is below 2^128.
    #[test]
    fn the_quantile_is_the_exact_estimate_on_buckets(raw in waits(27)) {
        // Replaces waits by bucket numbers: within a bucket the convention decides the order.
        let on_buckets: Vec<_> =
            raw.iter().map(|(wait, cut_short)| (f64::from(Histogram::index_of(*wait)), *cut_short)).collect();
        let (happened, cut_short) = split(&raw);
        for per_cent in [10, 50, 95, 99] {
            let found = quantile(&happened, &cut_short, per_cent as f64 / 100.0);
            let exact = exact_quantile(&on_buckets, per_cent);
            prop_assert_eq!(found.map(|ms| f64::from(Histogram::index_of(ms))), exact, "{} %", per_cent);
        }
    }

    #[test]
    fn the_exact_share_lies_between_both_orders_within_a_bucket(raw in waits(27)) {
        let (happened, cut_short) = split(&raw);
        let (happened, cut_short) = (histogram(&happened), histogram(&cut_short));
        let nobody = Histogram::default();
        for reached in CensoredWaits::new(&happened, [&cut_short, &nobody]).curve(0) {
            let (over, under) = survivors(raw.clone(), reached.wait_ms);
            let exact = 1.0 - over as f64 / under as f64;
            // Counts each censored wait as if it had ended before the tokens of its bucket.
            let other: Vec<_> = raw
                .iter()
                .map(|(wait, cut)| (f64::from(Histogram::index_of(*wait)) * 2.0 + f64::from(u8::from(!cut)), *cut))
                .collect();
            let until = f64::from(Histogram::index_of(reached.wait_ms)) * 2.0 + 1.0;
            let (over, under) = survivors(other, until);
            let most = 1.0 - over as f64 / under as f64;
            prop_assert!(reached.share <= exact + 1e-12, "{reached:?} {exact}");
            prop_assert!(exact <= most + 1e-12, "{reached:?} {exact} {most}");
        }
    }

    #[test]
    fn a_censored_wait_lowers_no_percentile(raw in waits(400)) {
        let (happened, cut_short) = split(&raw);
        let all = histogram(&happened);
        for q in [0.05, 0.5, 0.95, 0.99] {
            let (adjusted, plain) = (quantile(&happened, &cut_short, q), all.quantile(q));
            prop_assert!(adjusted.is_none_or(|adjusted| Some(adjusted) >= plain), "{adjusted:?} {plain:?}");
            prop_assert_eq!(quantile(&happened, &[], q), plain);
        }
    }

    #[test]
    fn shares_rise_within_their_intervals(raw in waits(400)) {
        let (happened, cut_short) = split(&raw);
        let (happened, cut_short) = (histogram(&happened), histogram(&cut_short));
        let curve = CensoredWaits::new(&happened, [&cut_short, &Histogram::default()]).curve(3);
        prop_assert!(curve.is_sorted_by(|a, b| a.wait_ms < b.wait_ms && a.share <= b.share && a.at_risk > b.at_risk));
        for CurvePoint { share, interval, .. } in curve {
            let (lower, upper) = interval.unwrap_or((share, share));
            prop_assert!(0.0 <= lower && lower <= share && share <= upper && upper <= 1.0);
        }
    }
}

/// Simulates 20,000 users with random patience and random server times.
#[test]
fn the_estimate_shows_a_slow_tail_that_abandonment_hides() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let (mut tokens, mut left, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..20_000 {
        let token = 400.0 * (uniform() * 3.0).exp();
        let patience = -12_000.0 * (1.0 - uniform()).ln();
        all.push(token);
        if token <= patience { tokens.push(token) } else { left.push(patience) }
    }
    for (q, within) in [(0.5, 0.02), (0.95, 0.03), (0.99, 0.04)] {
        let truth = histogram(&all).quantile(q).unwrap();
        let (plain, adjusted) =
            (histogram(&tokens).quantile(q).unwrap(), quantile(&tokens, &left, q).unwrap());
        assert!(plain < truth * 0.95 || q == 0.99, "{q}: {plain} of {truth}");
        assert!(
            (adjusted / truth - 1.0).abs() < within,
            "{q}: {adjusted} for {truth}, without leavers {plain}"
        );
    }
}
