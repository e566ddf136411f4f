//! How long streams were in flight in the minutes before their end. Definition: `docs/statistics.md#streams-in-flight`.

use beacon::StreamReport;

use crate::time::MINUTE_MS;

/// Milliseconds in flight of the streams that ended in one minute: in that minute, in the minute before, and so on.
///
/// Kept with the minute of the end, because a stream then changes one window, however long it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct InFlight([u64; MINUTES]);

impl InFlight {
    /// Of one stream, whose last report arrived at this time. Of a long stream, only the last quarter of an hour counts.
    pub(crate) fn of(report: &StreamReport, received_ms: i64) -> Self {
        let mut left_ms = length_ms(report).round() as u64;
        // A shorter part of the minute in which it ended, then whole minutes.
        let mut room_ms = received_ms.rem_euclid(MINUTE_MS) as u64;
        let mut of = Self::default();
        for ms in &mut of.0 {
            *ms = left_ms.min(room_ms);
            left_ms -= *ms;
            room_ms = MINUTE_MS as u64;
        }
        of
    }

    /// Time in flight in each minute, with its distance to the minute of the end. Without minutes that have none.
    pub(crate) fn by_minutes_before(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.0.iter().copied().enumerate().filter(|(_, ms)| *ms > 0)
    }

    /// The opposite of [`by_minutes_before`](Self::by_minutes_before). `None` if a minute is too long ago.
    pub(crate) fn from_minutes_before(times: impl IntoIterator<Item = (usize, u64)>) -> Option<Self> {
        let mut of = Self::default();
        for (before, ms) in times {
            *of.0.get_mut(before)? += ms;
        }
        Some(of)
    }

    /// Time in flight in all minutes.
    pub(crate) fn total_ms(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, other)| *mine += other);
    }

    /// `other` must be [contained](Self::contains).
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, other)| *mine -= other);
    }

    pub(crate) fn contains(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(mine, other)| *mine >= other)
    }
}

/// From the request to the end, or to the last moment that is known.
fn length_ms(report: &StreamReport) -> f64 {
    let StreamReport {
        headers_ms, first_byte_ms, first_event_ms, ttft_ms, ttfv_ms, e2e_ms, close_ms, ..
    } = report;
    let moments = [close_ms, e2e_ms, ttfv_ms, ttft_ms, first_event_ms, first_byte_ms, headers_ms];
    moments.into_iter().flatten().fold(0.0, |last, moment| last.max(*moment))
}

/// Minutes that are told apart. Clients time out after ten minutes at the latest.
pub(crate) const MINUTES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(close_ms: f64, received_ms: i64) -> Vec<(usize, u64)> {
        let report = StreamReport { close_ms: Some(close_ms), ..StreamReport::new("0") };
        InFlight::of(&report, received_ms).by_minutes_before().collect()
    }

    #[test]
    fn time_counts_in_the_minute_in_which_it_passed() {
        assert_eq!(minutes(20_000.0, 90_000), [(0, 20_000)]);
        assert_eq!(minutes(40_000.0, 90_000), [(0, 30_000), (1, 10_000)]);
        assert_eq!(minutes(130_000.0, 190_000), [(0, 10_000), (1, 60_000), (2, 60_000)]);
        assert_eq!(minutes(5_000.0, 120_000), [(1, 5_000)]);
    }

    #[test]
    fn only_the_last_quarter_of_an_hour_counts() {
        let day = minutes(86_400_000.0, 30_000);
        assert_eq!((day.len(), day[0], day[15]), (16, (0, 30_000), (15, 60_000)));
    }

    #[test]
    fn a_stream_without_an_end_counts_up_to_its_last_moment() {
        let report = StreamReport { headers_ms: Some(50.0), ttft_ms: Some(700.0), ..StreamReport::new("0") };
        assert_eq!(InFlight::of(&report, 30_000).total_ms(), 700);
    }
}
