//! Parses and checks query parameters. An unknown name is rejected: if it were ignored, the response would
//! look right and be wrong.

use std::collections::BTreeMap;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;

use super::param_schema::{COMMON, LATEST_MS, Parameter};
use super::state::ApiState;
use crate::aggregate::metric::{self, Metric};
use crate::http::error::{ApiError, Reason};
use crate::store::query::{Filter, WindowsQuery};
use crate::store::rollups::key::ROLLUP_MINUTES;
use crate::time;
use crate::time::{DAY_MINUTES, DAY_MS, HOUR_MINUTES, HOUR_MS, MINUTE_MS, minute_of};

/// Query parameters by name.
pub(crate) struct Params(BTreeMap<String, String>);

/// A range of whole minutes; the end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Range {
    #[serde(rename = "from")]
    pub(super) from_ms: i64,
    #[serde(rename = "to")]
    pub(super) to_ms: i64,
    /// Start of the first step, which may be before the start of the range.
    #[serde(skip)]
    steps_from_ms: i64,
    #[serde(skip)]
    now_ms: i64,
    /// Earlier times have hourly windows only.
    #[serde(skip)]
    minutes_from_ms: i64,
}

/// The period that a range is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompareTo {
    /// The period directly before the range. If it has hourly windows only, it is moved back by whole hours.
    Previous,
    /// The period `ms` earlier, at the same time of day.
    Earlier { ms: i64 },
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Query(pairs) = Query::<Vec<(String, String)>>::from_request_parts(parts, state)
            .await
            .map_err(|_| bad("the query string cannot be parsed"))?;
        let mut params = BTreeMap::new();
        for (name, value) in pairs {
            if params.contains_key(&name) {
                return Err(bad(format!("parameter `{name}` is given twice")));
            }
            params.insert(name, value);
        }
        Ok(Self(params))
    }
}

impl Params {
    /// Rejects every name that is neither common to all queries nor among `own`.
    pub(super) fn only(&self, own: &[Parameter]) -> Result<(), ApiError> {
        let known = |name: &str| COMMON.iter().chain(own).any(|parameter| parameter.name == name);
        match self.0.keys().find(|name| !known(name)) {
            Some(name) => Err(bad(format!("unknown parameter `{}`", shorten(name)))),
            None => Ok(()),
        }
    }

    /// Rejects all parameters.
    pub(super) fn none(&self) -> Result<(), ApiError> {
        self.among(&[])
    }

    /// Rejects every name that is not among `known`.
    pub(super) fn among(&self, known: &[Parameter]) -> Result<(), ApiError> {
        match self.0.keys().find(|name| known.iter().all(|parameter| parameter.name != name.as_str())) {
            Some(name) => Err(bad(format!("unknown parameter `{}`", shorten(name)))),
            None => Ok(()),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<i64>, ApiError> {
        let parse = |text: &str| text.parse().map_err(|_| bad(format!("`{name}` must be a whole number")));
        self.get(name).map(parse).transpose()
    }

    pub(super) fn filter(&self) -> Filter {
        let of = |name: &str| self.get(name).map(str::to_owned);
        Filter {
            site: of("site"),
            use_case: of("use_case"),
            provider: of("provider"),
            model: of("model"),
            country: of("country"),
        }
    }

    /// The requested metric with its name; by default the time to first visible token.
    pub(super) fn metric(&self) -> Result<(&'static str, Metric), ApiError> {
        let asked = self.get("metric").unwrap_or("ttfv");
        let metric = Metric::of_id(asked)
            .ok_or_else(|| bad(format!("`metric` must be one of {}", metric::SELECTABLE.join(", "))))?;
        Ok((metric.id(), metric))
    }

    /// The requested number of results; 50 by default.
    pub(super) fn limit(&self) -> Result<usize, ApiError> {
        match self.number("limit")?.unwrap_or(USUAL_LIMIT) {
            limit @ 1..=MOST_LIMIT => Ok(limit as usize),
            _ => Err(bad(format!("`limit` must be from 1 to {MOST_LIMIT}"))),
        }
    }

    /// The comparison period. `None` if none is requested.
    pub(super) fn against(&self) -> Result<Option<CompareTo>, ApiError> {
        match self.get("against") {
            None => Ok(None),
            Some("previous") => Ok(Some(CompareTo::Previous)),
            Some("day") => Ok(Some(CompareTo::Earlier { ms: DAY_MS })),
            Some("week") => Ok(Some(CompareTo::Earlier { ms: 7 * DAY_MS })),
            Some(_) => Err(bad("`against` must be one of previous, day, week")),
        }
    }

    pub(super) fn has_range(&self) -> bool {
        ["range", "from", "to"].iter().any(|name| self.get(name).is_some())
    }

    /// The requested range, by default the last hour. Includes the current minute.
    pub(super) fn range(&self, state: &ApiState) -> Result<Range, ApiError> {
        let now_ms = time::now_ms();
        self.range_at(now_ms, state.minutes_from_ms(now_ms))
    }

    fn range_at(&self, now_ms: i64, minutes_from_ms: i64) -> Result<Range, ApiError> {
        let (from_ms, to_ms) = match (self.number("from")?, self.number("to")?) {
            (Some(from_ms), Some(to_ms)) if self.get("range").is_none() => (from_ms, to_ms),
            (None, None) => {
                let asked = self.get("range").unwrap_or("1h");
                let (_, minutes) = RANGES.into_iter().find(|(name, _)| *name == asked).ok_or_else(|| {
                    bad(format!("`range` must be one of {}", RANGES.map(|(name, _)| name).join(", ")))
                })?;
                (now_ms - minutes * MINUTE_MS + 1, now_ms)
            }
            _ => return Err(bad("give either `range`, or both `from` and `to`")),
        };
        if from_ms < 0 || to_ms > LATEST_MS || from_ms >= to_ms || to_ms - from_ms > LONGEST_MS {
            return Err(bad(
                "`from` must be earlier than `to`, both in milliseconds since 1970 and at most 400 days apart",
            ));
        }
        let up = |ms: i64| (minute_of(ms) + 1) * MINUTE_MS;
        let to_ms = up(to_ms - 1);
        let from_ms = match self.get("from") {
            Some(_) => minute_of(from_ms) * MINUTE_MS,
            // The current minute is one of the requested minutes.
            None => up(from_ms - 1),
        };
        Ok(Range { from_ms, to_ms, steps_from_ms: from_ms, now_ms, minutes_from_ms }.in_known_windows())
    }
}

impl Range {
    /// The newest `minutes` minutes, including the current one.
    pub(super) fn newest(state: &ApiState, minutes: i64) -> Self {
        let now_ms = time::now_ms();
        let to_ms = (minute_of(now_ms) + 1) * MINUTE_MS;
        let minutes_from_ms = state.minutes_from_ms(now_ms);
        let from_ms = to_ms - minutes * MINUTE_MS;
        Self { from_ms, to_ms, steps_from_ms: from_ms, now_ms, minutes_from_ms }.in_known_windows()
    }

    /// The comparison period, of the same length.
    pub(super) const fn earlier(self, against: CompareTo) -> Self {
        let known = self.moved(against).in_known_windows();
        match against {
            // Extended to whole hours, it may overlap this range.
            CompareTo::Previous if known.to_ms > self.from_ms => Self { to_ms: self.from_ms, ..known },
            _ => known,
        }
    }

    /// The comparison period with the same number of steps.
    pub(super) fn earlier_in_steps(self, against: CompareTo, step_ms: i64) -> Result<Self, ApiError> {
        let moved = self.moved(against);
        moved.check_step(step_ms)?;
        // Steps are whole hours here, so the period grows only within its first and its last step.
        Ok(Self { steps_from_ms: moved.steps_from_ms, ..self.earlier(against) })
    }

    const fn moved(self, against: CompareTo) -> Self {
        let length_ms = self.to_ms - self.from_ms;
        let ms = match against {
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
    pub(super) fn windows<'a>(
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
        let minutes = (self.from_ms / MINUTE_MS, self.to_ms / MINUTE_MS);
        WindowsQuery { filter, minutes, longest, metrics }
    }

    /// Seconds of the range that have passed.
    pub(super) fn elapsed_seconds(self) -> f64 {
        (self.to_ms.min(self.now_ms) - self.from_ms).max(1) as f64 / 1e3
    }

    /// Number of steps; the first and the last may be partial.
    pub(super) const fn steps(self, step_ms: i64) -> usize {
        ((self.to_ms - self.steps_from_ms + step_ms - 1) / step_ms) as usize
    }

    /// Start of each step, without an end.
    pub(super) fn step_starts(self, step_ms: i64) -> impl Iterator<Item = i64> {
        (self.steps_from_ms..).step_by(step_ms as usize)
    }

    /// Index of the step that contains a time of the range.
    pub(super) const fn step_at(self, ms: i64, step_ms: i64) -> usize {
        ((ms - self.steps_from_ms) / step_ms) as usize
    }

    /// Aligns the range to multiples of the step. Returns it with the step: the requested one, or one that
    /// makes at most 120 points.
    pub(super) fn in_steps(self, params: &Params) -> Result<(Self, i64), ApiError> {
        let length_ms = self.to_ms - self.from_ms;
        // The comparison period uses the same step.
        let first_ms = params.against()?.map_or(self.from_ms, |against| self.earlier(against).from_ms);
        let step_ms = match params.number("step")? {
            Some(seconds) if seconds >= 60 && seconds % 60 == 0 && seconds <= LONGEST_MS / 1_000 => {
                seconds * 1_000
            }
            Some(_) => {
                let most = LONGEST_MS / 1_000;
                return Err(bad(format!("`step` must be a multiple of 60 seconds, at most {most}")));
            }
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

/// Error response for an invalid query.
pub(super) fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> ApiError {
    ApiError::new(Reason::BadQuery, message)
}

fn shorten(name: &str) -> String {
    name.chars().take(40).collect()
}

const RANGES: [(&str, i64); 6] = [
    ("15m", 15),
    ("1h", HOUR_MINUTES),
    ("6h", 6 * HOUR_MINUTES),
    ("24h", DAY_MINUTES),
    ("7d", 7 * DAY_MINUTES),
    ("30d", 30 * DAY_MINUTES),
];

/// In minutes: steps that align with whole hours and days.
const STEPS: [i64; 12] = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440];

const USUAL_POINTS: i64 = 120;
const MOST_POINTS: i64 = 3_000;
const LONGEST_MS: i64 = 400 * DAY_MS;
const USUAL_LIMIT: i64 = 50;
const MOST_LIMIT: i64 = 500;

#[cfg(test)]
mod tests;
