//! What a percentile from merged histograms is worth: exact values of hard distributions come in, and the
//! answer lies within the error that every answer of the collector states, however the values were split.

use beacon::{Histogram, RELATIVE_ERROR};
use proptest::prelude::*;

const VALUES: usize = 200_000;
const QUANTILES: [f64; 8] = [0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    /// Evenly between 0 and 1, neither included.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + f64::EPSILON / 4.0
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

/// Times to first token in milliseconds: median 600 ms, as of one model under load.
fn lognormal(numbers: &mut Numbers) -> f64 {
    600.0 * (0.9 * numbers.normal()).exp()
}

/// Nine in ten from a cache at about 120 ms, the rest at about 4 s: p90 lies in the gap between.
fn bimodal(numbers: &mut Numbers) -> f64 {
    let middle = if numbers.uniform() < 0.9 { 120.0 } else { 4_000.0 };
    middle * (0.15 * numbers.normal()).exp()
}

/// Pareto with exponent 1.1: the mean of the tail hardly exists, p99.9 is 500 times the smallest.
fn heavy_tailed(numbers: &mut Numbers) -> f64 {
    (50.0 * numbers.uniform().powf(-1.0 / 1.1)).min(86_400_000.0)
}

fn draw(from: fn(&mut Numbers) -> f64) -> Vec<f64> {
    let mut numbers = Numbers(20_261_121);
    (0..VALUES).map(|_| from(&mut numbers)).collect()
}

fn of<'a>(values: impl IntoIterator<Item = &'a f64>) -> Histogram {
    let mut histogram = Histogram::default();
    for value in values {
        histogram.record(*value);
    }
    histogram
}

/// Everything but the sum, which is of floats and rounds as it is added.
fn counts(histogram: &Histogram) -> (u64, Vec<(i32, u64)>) {
    (histogram.zero(), histogram.indexed().collect())
}

fn check(name: &str, from: fn(&mut Numbers) -> f64) {
    let values = draw(from);
    let histogram = of(&values);
    let mut sorted = values;
    sorted.sort_by(f64::total_cmp);
    for q in QUANTILES {
        let exact = sorted[(q * VALUES as f64).ceil() as usize - 1];
        let answer = histogram.quantile(q).expect("values were recorded");
        let error = (answer / exact - 1.0).abs();
        assert!(error <= RELATIVE_ERROR + 1e-12, "{name} q {q}: {answer} for {exact}, off by {error}");
    }
}

#[test]
fn percentiles_are_within_their_error_whatever_the_distribution() {
    check("lognormal", lognormal);
    check("bimodal", bimodal);
    check("heavy-tailed", heavy_tailed);
}

#[test]
fn the_stated_error_is_below_one_point_one_per_cent() {
    const { assert!(RELATIVE_ERROR < 0.011) };
}

#[test]
fn a_hundred_collectors_merged_are_one() {
    for from in [lognormal, bimodal, heavy_tailed] {
        let values = draw(from);
        let one = of(&values);
        let mut merged = Histogram::default();
        for collector in 0..100 {
            merged.merge(&of(values.iter().skip(collector).step_by(100)));
        }
        assert_eq!(counts(&merged), counts(&one));
        assert!((merged.sum() / one.sum() - 1.0).abs() < 1e-9);
        for q in QUANTILES {
            assert_eq!(merged.quantile(q), one.quantile(q), "{q}");
        }
    }
}

prop_compose! {
    fn histogram()(exponents in prop::collection::vec(-4.0..9.0f64, 0..60), zeros in 0..5usize) -> Histogram {
        let values: Vec<_> = exponents.into_iter().map(|exponent| 10f64.powf(exponent)).collect();
        of(values.iter().chain(std::iter::repeat_n(&0.0, zeros)))
    }
}

fn merged(mut a: Histogram, b: &Histogram) -> Histogram {
    a.merge(b);
    a
}

proptest! {
    #[test]
    fn merging_is_commutative(a in histogram(), b in histogram()) {
        prop_assert_eq!(counts(&merged(a.clone(), &b)), counts(&merged(b, &a)));
    }

    #[test]
    fn merging_is_associative(a in histogram(), b in histogram(), c in histogram()) {
        let left = merged(merged(a.clone(), &b), &c);
        let right = merged(a, &merged(b, &c));
        prop_assert_eq!(counts(&left), counts(&right));
    }
}
