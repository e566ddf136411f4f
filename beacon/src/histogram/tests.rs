//! Tests of bucket edges, merging, folding and the wire format.

use proptest::prelude::*;

use super::*;

const MIN_INDEX: i32 = Histogram::MIN_INDEX;
const MAX_INDEX: i32 = Histogram::MAX_INDEX;

fn of(values: &[f64]) -> Histogram {
    let mut histogram = Histogram::default();
    for &value in values {
        histogram.record(value);
    }
    histogram
}

/// All counts, and their layout in memory.
fn content(histogram: &Histogram) -> (u64, i32, &[u64]) {
    let (offset, counts) = histogram.dense();
    (histogram.zero(), offset, counts)
}

/// Sums of doubles depend on the order of addition.
fn near(sum: f64, exact: f64) -> bool {
    (sum - exact).abs() <= exact * 1e-9 + 1e-6
}

fn exact_quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = ((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
    sorted[rank - 1]
}

#[test]
fn an_edge_belongs_to_the_bucket_below_it() {
    let bucket = of(&[1024.0]).buckets().next().unwrap();
    assert_eq!(bucket.upper, 1024.0);
    let bucket = of(&[1024.0000000000002]).buckets().next().unwrap();
    assert_eq!(bucket.lower, 1024.0);
}

#[test]
fn every_edge_is_a_power_of_two_by_thirty_seconds() {
    for index in MIN_INDEX..=MAX_INDEX {
        let exact = (f64::from(index) / 32.0).exp2();
        assert!((Histogram::edge(index) - exact).abs() <= exact * 2.0 * f64::EPSILON, "{index}");
        assert_eq!(Histogram::index_of(Histogram::edge(index) * (1.0 + 1e-14)), index);
        assert_eq!(Histogram::index_of(Histogram::edge(index) * (1.0 - 1e-14)), (index - 1).max(MIN_INDEX));
    }
    assert_eq!((Histogram::edge(MIN_INDEX), Histogram::edge(MAX_INDEX + 1)), (1.0 / 1024.0, 1_073_741_824.0));
}

#[test]
fn an_empty_histogram_has_no_quantile() {
    assert_eq!(Histogram::default().quantile(0.5), None);
}

#[test]
fn a_value_that_is_no_number_is_not_counted() {
    assert!(of(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]).is_empty());
}

#[test]
fn extreme_values_land_in_the_outer_buckets() {
    let histogram = of(&[f64::MIN_POSITIVE, 5e-324, f64::MAX]);
    assert_eq!(histogram.count(), 3);
    assert_eq!(histogram.indexed().collect::<Vec<_>>(), [(MIN_INDEX, 2), (MAX_INDEX, 1)]);
}

#[test]
fn gaps_below_the_clock_step_count_as_zero() {
    let histogram = of(&[0.0, 0.0, 12.5]);
    assert_eq!((histogram.zero(), histogram.count()), (2, 3));
    assert_eq!(histogram.quantile(0.5), Some(0.0));
}

#[test]
fn a_histogram_with_one_value_is_not_empty() {
    for value in [0.0, 12.5] {
        assert!(!of(&[value]).is_empty());
    }
    assert!(Histogram::EMPTY.is_empty());
}

#[test]
fn a_retracted_value_was_never_recorded() {
    let mut histogram = of(&[0.0, 0.0, 1.0, 12.5, 900.0]);
    for value in [0.0, 900.0, 1.0] {
        histogram.unrecord(value);
    }
    assert_eq!(histogram, of(&[0.0, 12.5]));
    for value in [12.5, 0.0] {
        histogram.unrecord(value);
    }
    assert_eq!(histogram, Histogram::EMPTY);
}

#[test]
fn the_wire_accepts_exactly_the_range_of_buckets() {
    let all = (MAX_INDEX - MIN_INDEX + 1) as usize;
    let dense = |offset: i32, counts: usize| Histogram::from_dense(0, 0.0, offset, vec![1; counts]);
    assert_eq!(dense(MIN_INDEX, all).map(|histogram| histogram.count()), Ok(all as u64));
    for (offset, counts) in [(MIN_INDEX, all + 1), (MIN_INDEX - 1, 1), (MAX_INDEX, 2), (MAX_INDEX + 1, 1)] {
        assert_eq!(dense(offset, counts), Err(HistogramError::Range), "{offset} {counts}");
    }
    assert_eq!(dense(MAX_INDEX, 1).map(|histogram| histogram.count()), Ok(1));
    assert_eq!(dense(MIN_INDEX - 1, 0), Ok(Histogram::EMPTY), "where nothing is, no place is wrong");
}

#[test]
fn an_invalid_stored_histogram_is_refused() {
    let of = |zero, sum, buckets: &[(i32, u64)]| Histogram::from_indexed(zero, sum, buckets.iter().copied());
    for sum in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(of(0, sum, &[(0, 1)]), Err(HistogramError::Sum), "{sum}");
    }
    for index in [MIN_INDEX - 1, MAX_INDEX + 1] {
        assert_eq!(of(0, 1.0, &[(index, 1)]), Err(HistogramError::Range), "{index}");
    }
    assert_eq!(of(0, 1.0, &[(0, u64::MAX), (0, 1)]), Err(HistogramError::Sum));
    assert_eq!(of(3, 0.0, &[]), Ok(self::of(&[0.0; 3])));
}

#[test]
fn hostile_histograms_are_refused() {
    let range = "histogram bucket outside the known range";
    let sum = "histogram sum is not a finite number of zero or more";
    for (json, why) in [
        (r#"{"scale":20,"offset":0,"counts":[1]}"#, "histogram scale 20 where 5 is known"),
        (r#"{"scale":5,"offset":-2000000000,"counts":[1]}"#, range),
        (r#"{"scale":5,"offset":2147483647,"counts":[1,1]}"#, range),
        (r#"{"scale":5,"offset":0,"counts":[18446744073709551615,1]}"#, sum),
        (r#"{"scale":5,"offset":0,"counts":[1],"sum":-1}"#, sum),
    ] {
        let error = serde_json::from_str::<Histogram>(json).unwrap_err().to_string();
        assert!(error.starts_with(why), "{json}: {error}");
    }
}

prop_compose! {
    fn values()(
        values in prop::collection::vec(
            prop_oneof![9 => (-3.0..6.0f64).prop_map(|exponent| 10f64.powf(exponent)), 1 => Just(0.0)],
            1..200,
        ),
    ) -> Vec<f64> {
        values
    }
}

proptest! {
    #[test]
    fn a_quantile_is_within_its_error(values in values(), q in 0.0..=1.0f64) {
        let exact = exact_quantile(&values, q);
        let answer = of(&values).quantile(q).unwrap();
        prop_assert!((answer - exact).abs() <= exact * (RELATIVE_ERROR + 1e-12), "{answer} for {exact}");
    }

    #[test]
    fn merging_is_recording_all(a in values(), b in values()) {
        let mut merged = of(&a);
        merged.merge(&of(&b));
        let all = of(&[a, b].concat());
        prop_assert_eq!(content(&merged), content(&all));
        prop_assert!(near(merged.sum(), all.sum()), "{} for {}", merged.sum(), all.sum());
    }

    #[test]
    fn subtracting_undoes_merging(a in values(), b in values()) {
        let mut merged = of(&a);
        merged.merge(&of(&b));
        merged.subtract(&of(&b));
        let alone = of(&a);
        prop_assert_eq!(content(&merged), content(&alone));
        prop_assert!(near(merged.sum(), alone.sum()), "{} for {}", merged.sum(), alone.sum());
    }

    #[test]
    fn folding_loses_no_count_and_keeps_edges(values in values(), steps in 0..6u32) {
        let histogram = of(&values);
        for bucket in histogram.folded(steps) {
            let inside = values.iter().filter(|&&v| v > bucket.lower && v <= bucket.upper).count();
            prop_assert_eq!(inside as u64, bucket.count);
        }
        let folded: u64 = histogram.folded(steps).map(|bucket| bucket.count).sum();
        prop_assert_eq!(folded + histogram.zero(), histogram.count());
    }

    #[test]
    fn a_histogram_is_rebuilt_from_its_buckets(values in values()) {
        let histogram = of(&values);
        let again = Histogram::from_indexed(histogram.zero(), histogram.sum(), histogram.indexed());
        prop_assert_eq!(again, Ok(histogram.clone()));
        let (offset, counts) = histogram.dense();
        let again = Histogram::from_dense(histogram.zero(), histogram.sum(), offset, counts.to_vec());
        prop_assert_eq!(again, Ok(histogram));
    }

    #[test]
    fn a_histogram_is_the_same_after_the_wire(values in values()) {
        let histogram = of(&values);
        let json = serde_json::to_string(&histogram).unwrap();
        let back: Histogram = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(content(&back), content(&histogram));
        prop_assert!(near(back.sum(), histogram.sum()), "{} for {}", back.sum(), histogram.sum());
    }
}
