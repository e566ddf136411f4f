//! Where values land, and what merging, folding and the wire keep of them.

use proptest::prelude::*;

use super::*;

fn of(values: &[f64]) -> Histogram {
    let mut histogram = Histogram::default();
    for &value in values {
        histogram.record(value);
    }
    histogram
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
        assert!((edge(index) - exact).abs() <= exact * 2.0 * f64::EPSILON, "{index}");
        assert_eq!(index_of(edge(index) * (1.0 + 1e-14)), index);
        assert_eq!(index_of(edge(index) * (1.0 - 1e-14)), (index - 1).max(MIN_INDEX));
    }
}

#[test]
fn nothing_recorded_has_no_quantile() {
    assert_eq!(Histogram::default().quantile(0.5), None);
}

#[test]
fn what_is_not_a_number_is_not_counted() {
    assert!(of(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]).is_empty());
}

#[test]
fn the_smallest_and_the_largest_land_in_the_outer_buckets() {
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
fn hostile_histograms_are_refused() {
    for (json, why) in [
        (r#"{"scale":20,"offset":0,"counts":[1]}"#, HistogramError::Scale(20)),
        (r#"{"scale":5,"offset":-2000000000,"counts":[1]}"#, HistogramError::Range),
        (r#"{"scale":5,"offset":2147483647,"counts":[1,1]}"#, HistogramError::Range),
        (r#"{"scale":5,"offset":0,"counts":[18446744073709551615,1]}"#, HistogramError::Sum),
        (r#"{"scale":5,"offset":0,"counts":[1],"sum":-1}"#, HistogramError::Sum),
    ] {
        let error = serde_json::from_str::<Histogram>(json).unwrap_err().to_string();
        assert!(error.starts_with(&why.to_string()), "{json}: {error}");
    }
}

prop_compose! {
    fn values()(exponents in prop::collection::vec(-3.0..6.0f64, 1..200)) -> Vec<f64> {
        exponents.into_iter().map(|exponent| 10f64.powf(exponent)).collect()
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
        prop_assert_eq!(merged.indexed().collect::<Vec<_>>(), all.indexed().collect::<Vec<_>>());
    }

    #[test]
    fn subtracting_undoes_merging(a in values(), b in values()) {
        let mut merged = of(&a);
        merged.merge(&of(&b));
        merged.subtract(&of(&b));
        prop_assert_eq!(merged.indexed().collect::<Vec<_>>(), of(&a).indexed().collect::<Vec<_>>());
    }

    #[test]
    fn folding_loses_no_count_and_keeps_edges(values in values(), steps in 0..6u32) {
        let histogram = of(&values);
        for bucket in histogram.folded(steps) {
            let inside = values.iter().filter(|&&v| v > bucket.lower && v <= bucket.upper).count();
            prop_assert_eq!(inside as u64, bucket.count);
        }
        prop_assert_eq!(histogram.folded(steps).map(|b| b.count).sum::<u64>(), histogram.count());
    }

    #[test]
    fn its_buckets_make_it_again(values in values()) {
        let histogram = of(&values);
        let again = Histogram::from_indexed(histogram.zero(), histogram.sum(), histogram.indexed());
        prop_assert_eq!(again, Ok(histogram));
    }

    #[test]
    fn the_wire_gives_back_what_it_took(values in values()) {
        let histogram = of(&values);
        let json = serde_json::to_string(&histogram).unwrap();
        let back: Histogram = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(back.indexed().collect::<Vec<_>>(), histogram.indexed().collect::<Vec<_>>());
    }
}
