//! Finds the time from which bad streams were more frequent than in the rest of a range.

use super::binomial::{lower_bound, wilson_bound};

/// Streams of one step of a range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepCount {
    /// Start of the step.
    pub(crate) at: i64,
    pub(crate) bad: u64,
    pub(crate) total: u64,
}

/// When bad streams were more frequent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Onset {
    /// Start of the first step.
    pub(crate) from: i64,
    /// Start of the step after the last. `None` if it lasts until the end of the range.
    pub(crate) to: Option<i64>,
}

/// The interval with the largest excess of bad streams over their overall share (the maximum of the cumulative sum,
/// as in CUSUM). `None` if its share is not above that of the other steps with 95 % confidence, or hardly above it.
///
/// `steps` are in order; steps without streams may be missing.
pub(crate) fn onset(steps: &[StepCount]) -> Option<Onset> {
    let sum = |steps: &[StepCount]| {
        steps.iter().fold((0, 0), |(bad, total), step| (bad + step.bad, total + step.total))
    };
    let (bad, total) = sum(steps);
    let expected = bad as f64 / total.max(1) as f64;
    let (first, last) = largest_sum(steps.iter().map(|step| step.bad as f64 - expected * step.total as f64))?;
    let (inside, outside) = (sum(&steps[first..=last]), (sum(&steps[..first]), sum(&steps[last + 1..])));
    let outside = (outside.0.0 + outside.1.0, outside.0.1 + outside.1.1);
    if outside.1 < FEWEST_OUTSIDE {
        return None;
    }
    let upper_outside = 1.0 - lower(outside.1 - outside.0, outside.1);
    let is_clear = lower(inside.0, inside.1) > upper_outside;
    let is_large = inside.0 as f64 / inside.1 as f64 > LEAST_RATIO * (outside.0 as f64 / outside.1 as f64);
    let to = steps.get(last + 1).map(|step| step.at);
    (is_clear && is_large).then_some(Onset { from: steps[first].at, to })
}

/// Whether streams appeared only after the `earlier` first ones of `all`: chance puts them all behind those with less than
/// `chance`.
pub(crate) fn appeared_late(streams: u64, earlier: u64, all: u64, chance: f64) -> bool {
    streams as f64 * (-(earlier as f64) / all.max(1) as f64).ln_1p() < chance.ln()
}

/// The bounds of the contiguous values with the largest sum. `None` if no value is positive.
fn largest_sum(values: impl Iterator<Item = f64>) -> Option<(usize, usize)> {
    let (mut best, mut best_at) = (0.0, None);
    let (mut sum, mut first) = (0.0, 0);
    for (at, value) in values.enumerate() {
        if sum <= 0.0 {
            (sum, first) = (0.0, at);
        }
        sum += value;
        if sum > best {
            (best, best_at) = (sum, Some((first, at)));
        }
    }
    best_at
}

/// The interval is the best of many, so chance must be smaller than for one share: both bounds must hold at once.
fn lower(count: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { lower_bound(count, all).min(wilson_bound(count, all)) }
}

/// With fewer streams outside, nothing says that it was ever better.
const FEWEST_OUTSIDE: u64 = 20;
/// Smallest ratio of the shares inside and outside. A smaller rise is no incident.
const LEAST_RATIO: f64 = 2.0;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steps(counts: &[(u64, u64)]) -> Vec<StepCount> {
        let step =
            |(at, (bad, total)): (usize, &(u64, u64))| StepCount { at: at as i64, bad: *bad, total: *total };
        counts.iter().enumerate().map(step).collect()
    }

    #[test]
    fn an_incident_begins_in_its_first_bad_minute() {
        let mut counts = [(0, 10); 40];
        counts[7] = (1, 10);
        counts[25..].fill((6, 10));
        assert_eq!(onset(&steps(&counts)), Some(Onset { from: 25, to: None }));
    }

    #[test]
    fn an_incident_that_is_over_has_an_end() {
        let mut counts = [(0, 10); 40];
        counts[12..20].fill((9, 10));
        assert_eq!(onset(&steps(&counts)), Some(Onset { from: 12, to: Some(20) }));
    }

    #[test]
    fn a_steady_share_has_no_onset() {
        for counts in [&[(10, 10); 30][..], &[(0, 10); 30], &[(1, 20), (2, 20), (1, 20), (0, 20), (2, 20)]] {
            assert_eq!(onset(&steps(counts)), None);
        }
    }

    #[test]
    fn a_few_streams_have_no_onset() {
        assert_eq!(onset(&steps(&[(0, 1), (0, 1), (1, 1), (1, 1)])), None);
        assert_eq!(onset(&[]), None);
    }

    proptest! {
        #[test]
        fn a_planted_incident_is_found_within_two_minutes(
            start in 10..50_usize,
            seed in prop::collection::vec((0..100_u32, 5..15_u64), 60),
        ) {
            let counts: Vec<_> = seed.iter().enumerate().map(|(at, (chance, total))| {
                let bad = if at >= start { total * 6 / 10 + 1 } else { u64::from(*chance < 5) };
                (bad, *total)
            }).collect();
            let found = onset(&steps(&counts)).expect("an incident of more than half of the streams is clear");
            prop_assert!(found.from.abs_diff(start as i64) <= 2, "{start}: {found:?}");
            prop_assert_eq!(found.to, None);
        }
    }
}
