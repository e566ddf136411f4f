//! Kaplan–Meier estimate over histograms of waits, some of which are censored. Assumptions and the effect of
//! buckets: `docs/statistics.md#censored-waits`.

use beacon::{Histogram, RELATIVE_ERROR};

use super::Z_97_5;

/// Waits for an event, some of which were censored before the event.
pub(crate) struct CensoredWaits<'a> {
    happened: &'a Histogram,
    all: Histogram,
}

/// A point of the curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CurvePoint {
    /// A wait in milliseconds.
    pub(crate) wait_ms: f64,
    /// Streams that waited longer.
    pub(crate) at_risk: u64,
    /// Estimated share with the event by then, if no wait had been censored.
    pub(crate) share: f64,
    /// 95 % confidence interval of the share: Greenwood's variance on the scale of ln(−ln(1 − share)), which
    /// keeps both ends within 0 to 1. `None` while the share is 0, and once it is 1.
    pub(crate) interval: Option<(f64, f64)>,
}

/// Waits that ended in one bucket.
struct Step {
    /// Index of the bucket; `None` for the bucket of zero.
    index: Option<i32>,
    /// Value of a percentile that falls into the bucket.
    middle_ms: f64,
    /// Streams that waited until this bucket.
    at_risk: u64,
    happened: u64,
    cut_short: u64,
}

impl<'a> CensoredWaits<'a> {
    /// Waits that ended with the event, and censored waits.
    pub(crate) fn new(happened: &'a Histogram, cut_short: [&Histogram; 2]) -> Self {
        let mut all = happened.clone();
        cut_short.into_iter().for_each(|waits| all.merge(waits));
        Self { happened, all }
    }

    /// The wait by which a share `q` would have had the event without censoring. `None` if too few streams
    /// waited that long. Without censored waits the result equals the percentile by nearest rank, to the last
    /// bit.
    pub(crate) fn quantile(&self, q: f64) -> Option<f64> {
        let mut stretch = Stretch { share: 0.0, at_risk: self.all.count(), happened: 0 };
        for step in self.steps() {
            stretch.happened += step.happened;
            if step.happened > 0 && stretch.has_reached(q) {
                return Some(step.middle_ms);
            }
            if step.cut_short > 0 {
                stretch = stretch.next(step.at_risk - step.happened - step.cut_short);
            }
        }
        None
    }

    /// The whole curve at the upper edges of merged buckets: `2^fold` buckets become one.
    pub(crate) fn curve(&self, fold: u32) -> Vec<CurvePoint> {
        let mut curve: Vec<(Option<i32>, CurvePoint)> = Vec::new();
        let (mut without, mut variance) = (1.0, 0.0);
        for step in self.steps() {
            let (at_risk, happened) = (step.at_risk as f64, step.happened as f64);
            without *= (at_risk - happened) / at_risk;
            variance += happened / (at_risk * (at_risk - happened));
            let reached = CurvePoint {
                wait_ms: step.middle_ms,
                at_risk: step.at_risk - step.happened - step.cut_short,
                share: 1.0 - without,
                interval: interval(without, variance),
            };
            let bucket = step.index.map(|index| index >> fold);
            match curve.last_mut() {
                Some((last, at_end)) if *last == bucket => *at_end = reached,
                _ => curve.push((bucket, reached)),
            }
        }
        let zero = (self.all.zero() > 0).then_some(0.0);
        let edges = zero.into_iter().chain(self.all.folded(fold).map(|bucket| bucket.upper));
        curve
            .into_iter()
            .zip(edges)
            .map(|((_, reached), wait_ms)| CurvePoint { wait_ms, ..reached })
            .collect()
    }

    /// Buckets in which waits ended, shortest first.
    fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let zero = (self.all.zero() > 0).then_some((None, 0.0, self.all.zero()));
        let buckets = self.all.indexed().zip(self.all.buckets());
        let buckets = buckets
            .map(|((index, count), bucket)| (Some(index), bucket.lower * (1.0 + RELATIVE_ERROR), count));
        let mut at_risk = self.all.count();
        let mut happened = self.happened.indexed().peekable();
        zero.into_iter().chain(buckets).map(move |(index, middle_ms, count)| {
            let happened = match index {
                None => self.happened.zero(),
                Some(index) => happened.next_if(|(at, _)| *at == index).map_or(0, |(_, count)| count),
            };
            let step = Step { index, middle_ms, at_risk, happened, cut_short: count - happened };
            at_risk -= count;
            step
        })
    }
}

/// The steps from one censored wait to the next. Within a stretch the product of the estimate is one division
/// of integers. Without censored waits the whole estimate is one stretch.
struct Stretch {
    /// Share of events before the stretch.
    share: f64,
    /// Streams that waited at its beginning.
    at_risk: u64,
    /// Events among them so far.
    happened: u64,
}

impl Stretch {
    fn has_reached(&self, q: f64) -> bool {
        // Tolerates the rounding of earlier stretches, so that a share that is exactly `q` counts as reached.
        let missing = q - self.share * (1.0 + ROUNDING);
        self.happened as f64 >= missing * self.at_risk as f64 / (1.0 - self.share)
    }

    fn next(self, at_risk: u64) -> Self {
        let happened = (1.0 - self.share) * self.happened as f64 / self.at_risk as f64;
        Self { share: self.share + happened, at_risk, happened: 0 }
    }
}

fn interval(without: f64, variance: f64) -> Option<(f64, f64)> {
    if without <= 0.0 || without >= 1.0 {
        return None;
    }
    let factor = (Z_97_5 * variance.sqrt() / without.ln().abs()).exp();
    Some((1.0 - without.powf(1.0 / factor), 1.0 - without.powf(factor)))
}

const ROUNDING: f64 = 1e-12;

#[cfg(test)]
mod tests;
