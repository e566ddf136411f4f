//! The range of a query in whole minutes, its steps, and the period that it is compared with.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::aggregate::metric::Metric;
use crate::api::request::params::{CompareTo, FromMs, LONGEST_MS, RangeLength, Since, Step, ToMs};
use crate::api::request::query_string::{FromQuery, Given, bad};
use crate::api::state::ApiState;
use crate::http::error::ApiError;
use crate::store::filter::Filter;
use crate::store::query::WindowsQuery;
use crate::store::rollups::key::ROLLUP_MINUTES;
use crate::time;
use crate::time::{DAY_MS, HOUR_MS, MINUTE_MS, minute_of};

/// A range as a request gives it.
#[derive(Clone, Copy)]
pub(crate) enum AskedRange {
    /// The newest minutes, including the current one.
    Newest {
        minutes: i64,
    },
    Between {
        from_ms: i64,
        to_ms: i64,
    },
}

/// A range of whole minutes; the end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Range {
    #[serde(rename = "from")]
    pub(crate) from_ms: i64,
    #[serde(rename = "to")]
    pub(crate) to_ms: i64,
    /// Present only if the query reads single streams, and if the answer lacks some of the range: streams that ended before
    /// this time are not all counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_since_ms: Option<i64>,
    /// Start of the first step, which may be before the start of the range.
    #[serde(skip)]
    steps_from_ms: i64,
    #[serde(skip)]
    now_ms: i64,
    /// Earlier times have hourly windows only.
    #[serde(skip)]
    minutes_from_ms: i64,
}

/// `None` without `range`, `from` and `to`.
impl FromQuery for Option<AskedRange> {
    fn openapi() -> Vec<Value> {
        [Option::<RangeLength>::openapi(), FromMs::openapi(), ToMs::openapi()].concat()
    }

    fn read(given: &mut Given) -> Result<Self, ApiError> {
        let length = Option::<RangeLength>::read(given)?;
        match (length, Option::<FromMs>::read(given)?, Option::<ToMs>::read(given)?) {
            (None, None, None) => Ok(None),
            (Some(RangeLength { minutes }), None, None) => Ok(Some(AskedRange::Newest { minutes })),
            (None, Some(FromMs(from_ms)), Some(ToMs(to_ms))) => {
                if from_ms >= to_ms || to_ms - from_ms > LONGEST_MS {
                    return Err(bad(
                        "`from` must be earlier than `to`, both in milliseconds since 1970 and at most 400 days \
                         apart",
                    ));
                }
                Ok(Some(AskedRange::Between { from_ms, to_ms }))
            }
            _ => Err(bad("give either `range`, or both `from` and `to`")),
        }
    }
}

impl FromQuery for AskedRange {
    fn openapi() -> Vec<Value> {
        [RangeLength::openapi(), FromMs::openapi(), ToMs::openapi()].concat()
    }

    fn read(given: &mut Given) -> Result<Self, ApiError> {
        match Option::<Self>::read(given)? {
            Some(range) => Ok(range),
            // The parameter is absent, so this is its default.
            None => RangeLength::read(given).map(|RangeLength { minutes }| Self::Newest { minutes }),
        }
    }
}

impl AskedRange {
    /// The range in whole minutes that the store has.
    pub(crate) fn at_present(self, state: &ApiState) -> Range {
        let now_ms = time::now_ms();
        self.at(now_ms, state.minutes_from_ms(now_ms))
    }

    fn at(self, now_ms: i64, minutes_from_ms: i64) -> Range {
        let end_of = |ms: i64| (minute_of(ms) + 1) * MINUTE_MS;
        let (from_ms, to_ms) = match self {
            Self::Newest { minutes } => (end_of(now_ms) - minutes * MINUTE_MS, end_of(now_ms)),
            Self::Between { from_ms, to_ms } => (minute_of(from_ms) * MINUTE_MS, end_of(to_ms - 1)),
        };
        let range =
            Range { from_ms, to_ms, kept_since_ms: None, steps_from_ms: from_ms, now_ms, minutes_from_ms };
        range.in_known_windows()
    }
}

impl Range {
    /// The comparison period, of the same length.
    pub(crate) const fn earlier(self, compare_to: CompareTo) -> Self {
        let known = self.moved(compare_to).in_known_windows();
        match compare_to {
            // Extended to whole hours, it may overlap this range.
            CompareTo::Previous if known.to_ms > self.from_ms => Self { to_ms: self.from_ms, ..known },
            _ => known,
        }
    }

    /// The comparison period with the same number of steps.
    pub(crate) fn earlier_in_steps(self, compare_to: CompareTo, step_ms: i64) -> Result<Self, ApiError> {
        let moved = self.moved(compare_to);
        moved.check_step(step_ms)?;
        // Steps are whole hours here, so the period grows only within its first and its last step.
        Ok(Self { steps_from_ms: moved.steps_from_ms, ..self.earlier(compare_to) })
    }

    const fn moved(self, compare_to: CompareTo) -> Self {
        let length_ms = self.to_ms - self.from_ms;
        let ms = match compare_to {
            CompareTo::Earlier { ms } => ms,
            // Hourly windows require a shift by whole hours; otherwise the steps of the two periods would not
            // correspond.
            CompareTo::Previous if self.from_ms - length_ms < self.minutes_from_ms => {
                -(-length_ms).div_euclid(HOUR_MS) * HOUR_MS
            }
            CompareTo::Previous => length_ms,
        };
        Self {
            from_ms: self.from_ms - ms,
            to_ms: self.to_ms - ms,
            steps_from_ms: self.steps_from_ms - ms,
            ..self
        }
    }

    /// Extends the range to whole hours where no minutes are available.
    const fn in_known_windows(self) -> Self {
        let Self { mut from_ms, mut to_ms, minutes_from_ms, .. } = self;
        if from_ms < minutes_from_ms {
            from_ms = from_ms.div_euclid(HOUR_MS) * HOUR_MS;
        }
        if to_ms < minutes_from_ms {
            to_ms = -(-to_ms).div_euclid(HOUR_MS) * HOUR_MS;
        }
        Self { from_ms, to_ms, steps_from_ms: from_ms, ..self }
    }

    fn check_step(self, step_ms: i64) -> Result<(), ApiError> {
        if self.from_ms < self.minutes_from_ms && step_ms % HOUR_MS != 0 {
            return Err(bad(format!(
                "`step` must be a multiple of 3600 for times more than {} hours ago",
                (self.now_ms - self.minutes_from_ms) / HOUR_MS
            )));
        }
        Ok(())
    }

    /// Query for the windows of the range with these metrics. Rollups are as long as possible, but with
    /// `step_ms` none crosses the end of a step.
    pub(crate) fn windows<'a>(
        self,
        filter: &'a Filter,
        step_ms: Option<i64>,
        metrics: &'a [Metric],
    ) -> WindowsQuery<'a> {
        let fits = |minutes: i64| {
            let ms = minutes * MINUTE_MS;
            step_ms.is_none_or(|step_ms| step_ms % ms == 0 && self.steps_from_ms % ms == 0)
        };
        let longest = ROLLUP_MINUTES.into_iter().rfind(|minutes| fits(*minutes)).unwrap_or(1);
        WindowsQuery { filter, minutes: self.minutes(), longest, metrics }
    }

    /// First minute, and the minute after the last.
    pub(crate) const fn minutes(self) -> (i64, i64) {
        (self.from_ms / MINUTE_MS, self.to_ms / MINUTE_MS)
    }

    /// The same range, with the time since which an answer that needs single streams has all of them: reports are not kept
    /// for ever. Asked after the answer was read, because that time moves on.
    pub(crate) async fn with_kept_since(
        self,
        state: &ApiState,
        needs_streams: bool,
    ) -> Result<Self, ApiError> {
        if !needs_streams {
            return Ok(self);
        }
        let since_ms = state.reader.run(move |store| store.kept_since_ms(self.minutes())).await?;
        Ok(self.kept_since(since_ms))
    }

    /// The same range, of which all reports are kept since this time, or all of them.
    pub(crate) fn kept_since(self, since_ms: Option<i64>) -> Self {
        Self { kept_since_ms: since_ms.filter(|since_ms| *since_ms > self.from_ms), ..self }
    }

    /// Whether the range reaches into the present.
    pub(crate) const fn includes_now(self) -> bool {
        self.from_ms <= self.now_ms && self.now_ms < self.to_ms
    }

    /// Length of the steps in which an incident is looked for: the shortest rollup that makes few enough steps.
    pub(crate) fn onset_step_ms(self) -> i64 {
        let lengths = [1].into_iter().chain(ROLLUP_MINUTES).map(|minutes| minutes * MINUTE_MS);
        let mut lengths =
            lengths.filter(|step_ms| self.from_ms >= self.minutes_from_ms || step_ms % HOUR_MS == 0);
        lengths.find(|step_ms| (self.to_ms - self.from_ms) / step_ms <= ONSET_STEPS).unwrap_or(DAY_MS)
    }

    /// Index of the step that contains `since`: the last one if it is later, the first one without it.
    pub(crate) fn first_step(self, since: Option<Since>, step_ms: i64) -> usize {
        since.map_or(0, |Since(ms)| self.step_at(ms.clamp(self.from_ms, self.to_ms - 1), step_ms))
    }

    /// The range without its first steps.
    pub(crate) fn without_steps(self, steps: usize, step_ms: i64) -> Self {
        let steps_from_ms = self.steps_from_ms + steps as i64 * step_ms;
        Self { from_ms: self.from_ms.max(steps_from_ms), steps_from_ms, ..self }
    }

    /// Seconds of the range that have passed and whose streams the answer has.
    pub(crate) fn elapsed_seconds(self) -> f64 {
        let from_ms = self.kept_since_ms.unwrap_or(self.from_ms);
        (self.to_ms.min(self.now_ms) - from_ms).max(1) as f64 / 1e3
    }

    /// Whether an answer about this period has all its streams. Nothing is compared with a part of a period.
    pub(crate) const fn is_complete(self) -> bool {
        self.kept_since_ms.is_none()
    }

    /// Whether the answer has all streams of a step. Figures of a part of them would look like those of a quiet time.
    pub(crate) fn has_step(self, start_ms: i64) -> bool {
        self.kept_since_ms.is_none_or(|since_ms| start_ms.max(self.from_ms) >= since_ms)
    }

    /// Seconds of a step's part of the range that have passed, at least one: a step that has only just begun would have
    /// a rate of thousands a second.
    pub(crate) fn elapsed_seconds_of(self, start_ms: i64, step_ms: i64) -> f64 {
        let (from_ms, to_ms) = self.elapsed_of(start_ms, step_ms);
        (to_ms - from_ms).max(1_000) as f64 / 1e3
    }

    /// The part of a step that is in the range and has passed. It ends before it begins if none has.
    pub(crate) fn elapsed_of(self, start_ms: i64, step_ms: i64) -> (i64, i64) {
        (start_ms.max(self.from_ms), (start_ms + step_ms).min(self.to_ms).min(self.now_ms))
    }

    /// Number of steps; the first and the last may be partial.
    pub(crate) const fn steps(self, step_ms: i64) -> usize {
        ((self.to_ms - self.steps_from_ms + step_ms - 1) / step_ms) as usize
    }

    /// Start of each step, without an end.
    pub(crate) fn step_starts(self, step_ms: i64) -> impl Iterator<Item = i64> {
        (self.steps_from_ms..).step_by(step_ms as usize)
    }

    /// Index of the step that contains a time of the range.
    pub(crate) const fn step_at(self, ms: i64, step_ms: i64) -> usize {
        ((ms - self.steps_from_ms) / step_ms) as usize
    }

    /// Aligns the range to multiples of the step. Returns it with the step: the requested one, or one that
    /// makes at most 120 points.
    pub(crate) fn in_steps(
        self,
        step: Option<Step>,
        compare_to: Option<CompareTo>,
    ) -> Result<(Self, i64), ApiError> {
        let length_ms = self.to_ms - self.from_ms;
        // The comparison period uses the same step.
        let first_ms = compare_to.map_or(self.from_ms, |compare_to| self.earlier(compare_to).from_ms);
        let step_ms = match step {
            Some(Step { ms }) => ms,
            None => STEPS
                .into_iter()
                .map(|minutes| minutes * MINUTE_MS)
                .find(|step_ms| {
                    let known = first_ms >= self.minutes_from_ms || step_ms % HOUR_MS == 0;
                    let by_hours = step_ms % HOUR_MS == 0 && self.from_ms % HOUR_MS == 0;
                    // The range may have grown by up to an hour, to make its first hour whole.
                    let grown_ms = if by_hours { HOUR_MS - MINUTE_MS } else { 0 };
                    known && length_ms - grown_ms <= step_ms * USUAL_POINTS
                })
                .unwrap_or(7 * DAY_MS),
        };
        if length_ms / step_ms > MOST_POINTS {
            return Err(bad(format!(
                "`step` gives more than {MOST_POINTS} points in this range: use a longer step"
            )));
        }
        let range = Self { steps_from_ms: self.from_ms.div_euclid(step_ms) * step_ms, ..self };
        range.check_step(step_ms)?;
        Ok((range, step_ms))
    }
}

/// In minutes: steps that align with whole hours and days.
const STEPS: [i64; 12] = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440];

const USUAL_POINTS: i64 = 120;
const MOST_POINTS: i64 = 3_000;

/// Six hours of minutes, and a month of hours.
const ONSET_STEPS: i64 = 744;

#[cfg(test)]
impl Range {
    pub(crate) const fn of_test(from_ms: i64, to_ms: i64, now_ms: i64) -> Self {
        Self { from_ms, to_ms, kept_since_ms: None, steps_from_ms: from_ms, now_ms, minutes_from_ms: 0 }
    }
}

#[cfg(test)]
mod tests;
