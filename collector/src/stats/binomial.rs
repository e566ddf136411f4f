//! Confidence bounds from the binomial distribution.

use super::{Z_95, Z_97_5};

/// Lower bound with 95 % confidence of the true share, given `count` of `all` observed. The Clopper–Pearson
/// bound is exact: among few streams, one failure may be chance.
pub(crate) fn lower_bound(count: u64, all: u64) -> f64 {
    if count > MAX_EXACT {
        return wilson_bound(count, all);
    }
    let (mut low, mut high) = (0.0, count as f64 / all as f64);
    for _ in 0..HALVINGS {
        let share = f64::midpoint(low, high);
        let fewer: f64 = probabilities(all, share).take(count as usize).sum();
        if 1.0 - fewer < CHANCE { low = share } else { high = share }
    }
    low
}

/// The ranks, counted from 1, between which the quantile lies with 95 % confidence, for any distribution. The
/// number of the `n` values below the quantile is binomial. `None` if no value is far enough out.
pub(crate) fn quantile_ranks(n: u64, q: f64) -> (Option<u64>, Option<u64>) {
    if n > MAX_EXACT_RANKS {
        // One rank more than the normal distribution has.
        let (middle, spread) = (n as f64 * q, Z_97_5 * (n as f64 * q * (1.0 - q)).sqrt());
        let rank = |at: f64| (1.0..=n as f64).contains(&at).then_some(at as u64);
        return (rank((middle - spread).floor()), rank((middle + spread).ceil() + 1.0));
    }
    let (mut below, mut lower, mut upper) = (0.0, None, None);
    for (k, probability) in (0..n).zip(probabilities(n, q)) {
        below += probability;
        if below <= TAIL {
            lower = Some(k + 1);
        }
        if below >= 1.0 - TAIL {
            upper = Some(k + 1);
            break;
        }
    }
    (lower, upper)
}

/// Probabilities of exactly 0, 1, 2, … successes in `n` trials of probability `p`.
fn probabilities(n: u64, p: f64) -> impl Iterator<Item = f64> {
    let odds = (p / (1.0 - p)).ln();
    // As logarithms, because the first terms can be smaller than any double.
    let mut log = n as f64 * (-p).ln_1p();
    (0..=n).map(move |k| {
        let probability = log.exp();
        log += ((n - k) as f64 / (k + 1) as f64).ln() + odds;
        probability
    })
}

/// Interval with 95 % confidence of a share (Wilson's score interval): `count` of `all`, which is not 0.
pub(crate) fn interval(count: u64, all: u64) -> (f64, f64) {
    (wilson(count, all, Z_97_5), 1.0 - wilson(all - count, all, Z_97_5))
}

/// Interval with 95 % confidence of the difference between two shares, the first minus the second (Newcombe's hybrid
/// score interval). Each share is a count and the number that it is a part of.
pub(crate) fn difference(one: (u64, u64), other: (u64, u64)) -> (f64, f64) {
    let share = |(count, all): (u64, u64)| count as f64 / all as f64;
    let ((one_share, other_share), (one, other)) =
        ((share(one), share(other)), (interval(one.0, one.1), interval(other.0, other.1)));
    let difference = one_share - other_share;
    (
        difference - (one_share - one.0).hypot(other.1 - other_share),
        difference + (one.1 - one_share).hypot(other_share - other.0),
    )
}

/// Wilson's lower bound. For large counts it differs from the exact one by less than a thousandth.
pub(crate) fn wilson_bound(count: u64, all: u64) -> f64 {
    wilson(count, all, Z_95)
}

/// Lower end of Wilson's score interval for this quantile of the normal distribution.
fn wilson(count: u64, all: u64, z: f64) -> f64 {
    let (all, share) = (all as f64, count as f64 / all as f64);
    let spread = (share * (1.0 - share) / all + z * z / (4.0 * all * all)).sqrt();
    let lower = (share + z * z / (2.0 * all) - z * spread) / (1.0 + z * z / all);
    // Rounding may leave a trace above a share of 0.
    lower.clamp(0.0, share)
}

/// One-sided error probability of the lower bound.
const CHANCE: f64 = 0.05;
/// Largest number of values for exact ranks: they take time in proportion.
const MAX_EXACT_RANKS: u64 = 10_000;
/// Largest count for the exact bound. Each term costs a logarithm and a power per halving: about a
/// millisecond in all.
const MAX_EXACT: u64 = 1_000;
/// Enough for a millionth of the share.
const HALVINGS: u32 = 40;
/// Probability beyond each end of an interval.
const TAIL: f64 = 0.025;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_contains_its_share() {
        for all in 1..=400 {
            for count in [0, all / 3, all] {
                let bound = wilson_bound(count, all);
                assert!((0.0..=count as f64 / all as f64).contains(&bound), "{count} of {all}: {bound}");
            }
        }
    }

    /// Computed by halving, with sums of the binomial distribution in 80 digits.
    const EXACT: [(u64, u64, f64); 8] = [
        (1, 51, 0.001_005_245_27),
        (1, 81, 0.000_633_050_087),
        (1, 248, 0.000_206_806_413),
        (3, 248, 0.003_305_039_77),
        (81, 263, 0.261_055_746),
        (40, 40, 0.927_842_475),
        (37, 1_900, 0.014_555_820_7),
        (200, 100_000, 0.001_773_397_19),
    ];

    #[test]
    fn the_lower_bound_is_that_of_clopper_and_pearson() {
        for (count, all, bound) in EXACT {
            let found = lower_bound(count, all);
            assert!((found / bound - 1.0).abs() < 1e-6, "{count} of {all}: {found}");
        }
        assert_eq!(lower_bound(0, 50), 0.0);
    }

    #[test]
    fn ranks_of_many_values_are_close_to_the_exact_ones() {
        for q in [0.5, 0.95, 0.99] {
            let (lower, upper) = quantile_ranks(MAX_EXACT_RANKS, q);
            let (many_lower, many_upper) = quantile_ranks(MAX_EXACT_RANKS + 1, q);
            for (exact, found) in [(lower, many_lower), (upper, many_upper)] {
                assert!(exact.unwrap().abs_diff(found.unwrap()) <= 3, "{exact:?} {found:?}");
            }
        }
        assert_eq!(quantile_ranks(20_000, 0.0), (None, Some(1)));
    }

    #[test]
    fn the_bound_of_large_counts_is_close_to_the_exact_one() {
        for all in [1_001, 2_000, 100_000, 10_000_000] {
            let (exact, near) = (lower_bound(1_000, all), wilson_bound(1_000, all));
            assert!(near >= exact && near < exact * 1.001, "{all}: {near}, {exact}");
        }
    }

    /// Compares with the examples of Newcombe (1998), method 10.
    #[test]
    fn a_difference_has_the_published_interval() {
        for (one, other, expected) in [
            ((56, 70), (48, 80), (0.0524, 0.3339)),
            ((9, 10), (3, 10), (0.1705, 0.8090)),
            ((10, 10), (0, 10), (0.6075, 1.0)),
        ] {
            let (lower, upper) = difference(one, other);
            let is_near = |bound: f64, expected: f64| (bound - expected).abs() < 6e-5;
            assert!(is_near(lower, expected.0) && is_near(upper, expected.1), "{lower} to {upper}");
        }
    }

    /// Compares with published tables of distribution-free confidence intervals for the median.
    #[test]
    fn the_median_lies_between_the_ranks_that_tables_give() {
        for (n, ranks_of_table) in [(6, (1, 6)), (10, (2, 9)), (20, (6, 15)), (50, (18, 33)), (100, (40, 61))]
        {
            let (lower, upper) = quantile_ranks(n, 0.5);
            assert_eq!((lower.unwrap(), upper.unwrap()), ranks_of_table, "{n}");
        }
    }

    #[test]
    fn few_values_do_not_bound_a_tail() {
        assert_eq!(quantile_ranks(5, 0.5), (None, None));
        assert_eq!(
            quantile_ranks(100, 0.99).1,
            None,
            "the largest of 100 is below the p99 in 37 of 100 cases"
        );
        assert!(quantile_ranks(499, 0.99).1.is_some());
    }
}
