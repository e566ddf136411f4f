//! Mean number of streams in flight in each step: time in flight divided by the time of the step. Definition:
//! `docs/statistics.md#streams-in-flight`.

use crate::aggregate::in_flight::{InFlight, MINUTES};
use crate::api::request::range::Range;
use crate::store::query::WindowsQuery;
use crate::store::rollups::key::ROLLUP_MINUTES;
use crate::time::MINUTE_MS;

/// Milliseconds in flight in each step of a range.
pub(crate) struct InFlightSteps {
    range: Range,
    step_ms: i64,
    ms: Vec<f64>,
}

impl InFlightSteps {
    pub(crate) fn new(range: Range, step_ms: i64) -> Self {
        Self { range, step_ms, ms: vec![0.0; range.steps(step_ms)] }
    }

    /// Whether the windows of such steps are single minutes. Of longer ones, the minutes in which their streams were
    /// in flight are unknown, and hardly matter.
    const fn has_minutes(step_ms: i64) -> bool {
        step_ms < ROLLUP_MINUTES[0] * MINUTE_MS
    }

    /// The query, with the minutes after the range in which its streams may have ended.
    pub(crate) fn with_later_ends(step_ms: i64, mut asked: WindowsQuery<'_>) -> WindowsQuery<'_> {
        if Self::has_minutes(step_ms) {
            asked.minutes.1 += MINUTES as i64 - 1;
        }
        asked
    }

    /// Adds the streams that ended in a window.
    pub(crate) fn add(&mut self, minute: i64, ended: &InFlight) {
        if !Self::has_minutes(self.step_ms) {
            return self.add_ms(minute * MINUTE_MS, ended.total_ms() as f64);
        }
        for (before, ms) in ended.by_minutes_before() {
            self.add_ms((minute - before as i64) * MINUTE_MS, ms as f64);
        }
    }

    /// Adds a stream that has not ended.
    pub(crate) fn add_open(&mut self, since_ms: i64) {
        let starts = self.range.step_starts(self.step_ms);
        for (start_ms, ms) in starts.zip(&mut self.ms) {
            let (from_ms, to_ms) = self.range.elapsed_of(start_ms, self.step_ms);
            *ms += (to_ms - from_ms.max(since_ms)).max(0) as f64;
        }
    }

    /// The mean of each step.
    pub(crate) fn means(&self) -> impl Iterator<Item = f64> + '_ {
        let starts = self.range.step_starts(self.step_ms);
        let mean = |(start_ms, ms): (i64, &f64)| {
            let seconds = self.range.elapsed_seconds_of(start_ms, self.step_ms);
            (ms / seconds).round() / 1e3
        };
        starts.zip(&self.ms).map(mean)
    }

    fn add_ms(&mut self, at_ms: i64, ms: f64) {
        if (self.range.from_ms..self.range.to_ms).contains(&at_ms) {
            self.ms[self.range.step_at(at_ms, self.step_ms)] += ms;
        }
    }
}

#[cfg(test)]
mod tests {
    use beacon::StreamReport;

    use super::*;

    const HOUR_MS: i64 = 60 * MINUTE_MS;

    fn ended(length_ms: f64, received_ms: i64) -> (i64, InFlight) {
        let report = StreamReport { close_ms: Some(length_ms), ..StreamReport::new("0") };
        (received_ms / MINUTE_MS, InFlight::of(&report, received_ms))
    }

    fn means(range: Range, step_ms: i64, ends: &[(i64, InFlight)], open_since_ms: &[i64]) -> Vec<f64> {
        let mut steps = InFlightSteps::new(range, step_ms);
        ends.iter().for_each(|(minute, ended)| steps.add(*minute, ended));
        open_since_ms.iter().for_each(|since_ms| steps.add_open(*since_ms));
        steps.means().collect()
    }

    #[test]
    fn a_step_has_the_mean_of_its_time() {
        let range = Range::of_test(0, 4 * MINUTE_MS, HOUR_MS);
        let ends = [ended(30_000.0, 90_000), ended(120_000.0, 200_000)];
        assert_eq!(means(range, MINUTE_MS, &ends, &[]), [0.0, 0.5 + 0.667, 1.0, 0.333]);
    }

    #[test]
    fn a_stream_that_ended_after_the_range_counts_within_it() {
        let range = Range::of_test(0, 2 * MINUTE_MS, HOUR_MS);
        assert_eq!(means(range, MINUTE_MS, &[ended(90_000.0, 150_000)], &[]), [0.0, 1.0]);
    }

    #[test]
    fn long_steps_count_streams_where_they_ended() {
        let range = Range::of_test(0, 10 * MINUTE_MS, HOUR_MS);
        assert_eq!(means(range, 5 * MINUTE_MS, &[ended(150_000.0, 330_000)], &[]), [0.0, 0.5]);
    }

    #[test]
    fn an_open_stream_counts_until_now() {
        let range = Range::of_test(0, 3 * MINUTE_MS, 150_000);
        assert_eq!(means(range, MINUTE_MS, &[], &[30_000]), [0.5, 1.0, 1.0]);
    }
}
