//! What a query asks for: the text after `?` comes in, goes out checked, or the reason why not. An
//! unknown name is a mistake, not ignored: its answer would look right and be wrong.

use std::collections::BTreeMap;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;

use super::parameter::{COMMON, LATEST_MS, Parameter};
use crate::clock;
use crate::error::{ApiError, Reason};
use crate::rollup::MINUTE_MS;
use crate::state::AppState;
use crate::store::{self, Filter, WindowsAsked};
use crate::tally::Metric;

/// All parameters by name.
pub(crate) struct Params(BTreeMap<String, String>);

/// Whole minutes, from the first up to, not including, the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Range {
    #[serde(rename = "from")]
    pub(super) from_ms: i64,
    #[serde(rename = "to")]
    pub(super) to_ms: i64,
    /// Where the first step begins, which the range may begin in the middle of.
    #[serde(skip)]
    steps_from_ms: i64,
    #[serde(skip)]
    now_ms: i64,
    /// What is older is known by the hour.
    #[serde(skip)]
    minutes_from_ms: i64,
}

/// A period of the same length to compare a range with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Against {
    /// The one right before.
    Previous,
    /// The one so much earlier, at the same time of day.
    Earlier { ms: i64 },
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Query(pairs) = Query::<Vec<(String, String)>>::from_request_parts(parts, state)
            .await
            .map_err(|_| bad("the part after `?` cannot be read"))?;
        let mut params = BTreeMap::new();
        for (name, value) in pairs {
            if params.contains_key(&name) {
                return Err(bad(format!("`{name}` stands twice")));
            }
            params.insert(name, value);
        }
        Ok(Self(params))
    }
}

impl Params {
    /// Refuses every name that is neither common to all queries nor among `own`.
    pub(super) fn only(&self, own: &[Parameter]) -> Result<(), ApiError> {
        let known = |name: &str| COMMON.iter().chain(own).any(|parameter| parameter.name == name);
        match self.0.keys().find(|name| !known(name)) {
            Some(name) => Err(bad(format!("no parameter is called `{}`", shorten(name)))),
            None => Ok(()),
        }
    }

    /// For a question that is about everything.
    pub(super) fn none(&self) -> Result<(), ApiError> {
        self.among(&[])
    }

    /// Refuses every name that is not among these.
    pub(super) fn among(&self, known: &[Parameter]) -> Result<(), ApiError> {
        match self.0.keys().find(|name| known.iter().all(|parameter| parameter.name != name.as_str())) {
            Some(name) => Err(bad(format!("no parameter is called `{}`", shorten(name)))),
            None => Ok(()),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<i64>, ApiError> {
        let parse = |text: &str| text.parse().map_err(|_| bad(format!("`{name}` is not a whole number")));
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

    /// How many are asked for, 50 by default.
    pub(super) fn limit(&self) -> Result<usize, ApiError> {
        match self.number("limit")?.unwrap_or(USUAL_LIMIT) {
            limit @ 1..=MOST_LIMIT => Ok(limit as usize),
            _ => Err(bad(format!("`limit` is from 1 to {MOST_LIMIT}"))),
        }
    }

    /// The period to compare with. `None` where none is asked for.
    pub(super) fn against(&self) -> Result<Option<Against>, ApiError> {
        match self.get("against") {
            None => Ok(None),
            Some("previous") => Ok(Some(Against::Previous)),
            Some("day") => Ok(Some(Against::Earlier { ms: DAY * MINUTE_MS })),
            Some("week") => Ok(Some(Against::Earlier { ms: 7 * DAY * MINUTE_MS })),
            Some(_) => Err(bad("`against` is one of previous, day, week")),
        }
    }

    pub(super) fn has_range(&self) -> bool {
        ["range", "from", "to"].iter().any(|name| self.get(name).is_some())
    }

    /// The asked range, by default the last hour, the running minute included.
    pub(super) fn range(&self, state: &AppState) -> Result<Range, ApiError> {
        self.range_at(clock::now_ms(), state.config().store.windows_hours)
    }

    fn range_at(&self, now_ms: i64, windows_hours: u32) -> Result<Range, ApiError> {
        let (from_ms, to_ms) = match (self.number("from")?, self.number("to")?) {
            (Some(from_ms), Some(to_ms)) if self.get("range").is_none() => (from_ms, to_ms),
            (None, None) => {
                let asked = self.get("range").unwrap_or("1h");
                let (_, minutes) = RANGES.into_iter().find(|(name, _)| *name == asked).ok_or_else(|| {
                    bad(format!("`range` is one of {}", RANGES.map(|(name, _)| name).join(", ")))
                })?;
                (now_ms - minutes * MINUTE_MS + 1, now_ms)
            }
            _ => return Err(bad("a time is either `range`, or both `from` and `to`")),
        };
        if from_ms < 0 || to_ms > LATEST_MS || from_ms >= to_ms || to_ms - from_ms > LONGEST_MS {
            return Err(bad(
                "`from` lies before `to`, both are milliseconds since 1970, at most 400 days apart",
            ));
        }
        let up = |ms: i64| ms.div_euclid(MINUTE_MS) * MINUTE_MS + MINUTE_MS;
        let to_ms = up(to_ms - 1);
        let from_ms = match self.get("from") {
            Some(_) => from_ms.div_euclid(MINUTE_MS) * MINUTE_MS,
            // The running minute counts as one of the asked ones.
            None => up(from_ms - 1),
        };
        let minutes_from_ms = now_ms - i64::from(windows_hours) * HOUR_MS;
        Ok(Range { from_ms, to_ms, steps_from_ms: from_ms, now_ms, minutes_from_ms }.in_known_windows())
    }
}

impl Range {
    /// The newest so many minutes, the running one included.
    pub(super) fn newest(state: &AppState, minutes: i64) -> Self {
        let now_ms = clock::now_ms();
        let to_ms = now_ms.div_euclid(MINUTE_MS) * MINUTE_MS + MINUTE_MS;
        let minutes_from_ms = now_ms - i64::from(state.config().store.windows_hours) * HOUR_MS;
        let from_ms = to_ms - minutes * MINUTE_MS;
        Self { from_ms, to_ms, steps_from_ms: from_ms, now_ms, minutes_from_ms }.in_known_windows()
    }

    /// The period to compare with, of the same length.
    pub(super) const fn earlier(self, against: Against) -> Self {
        let ms = match against {
            Against::Previous => self.to_ms - self.from_ms,
            Against::Earlier { ms } => ms,
        };
        Self { from_ms: self.from_ms - ms, to_ms: self.to_ms - ms, ..self }.in_known_windows()
    }

    /// The period to compare with, in as many steps.
    pub(super) fn earlier_in_steps(self, against: Against, step_ms: i64) -> Result<Self, ApiError> {
        let length_ms = self.to_ms - self.from_ms;
        let ms = match against {
            Against::Earlier { ms } => ms,
            // What is known by the hour is moved by hours.
            Against::Previous if self.from_ms - length_ms < self.minutes_from_ms => {
                -(-length_ms).div_euclid(HOUR_MS) * HOUR_MS
            }
            Against::Previous => length_ms,
        };
        let [from_ms, to_ms, steps_from_ms] =
            [self.from_ms, self.to_ms, self.steps_from_ms].map(|moment| moment - ms);
        let earlier = Self { from_ms, to_ms, steps_from_ms, ..self };
        earlier.check_step(step_ms)?;
        // Steps are whole hours there: the range grows within its first and its last.
        Ok(Self { steps_from_ms, ..earlier.in_known_windows() })
    }

    /// Grown to whole hours where minutes are no longer known.
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
                "`step` is a multiple of 3600 for times more than {} hours ago",
                (self.now_ms - self.minutes_from_ms) / HOUR_MS
            )));
        }
        Ok(())
    }

    /// The windows of the range with these metrics, as long as may be: with a step, none may reach over its end.
    pub(super) fn windows<'a>(
        self,
        filter: &'a Filter,
        step_ms: Option<i64>,
        metrics: &'a [Metric],
    ) -> WindowsAsked<'a> {
        let fits = |minutes: i64| {
            let ms = minutes * MINUTE_MS;
            step_ms.is_none_or(|step_ms| step_ms % ms == 0 && self.steps_from_ms % ms == 0)
        };
        let longest = store::LENGTHS.into_iter().rfind(|minutes| fits(*minutes)).unwrap_or(1);
        let minutes = (self.from_ms / MINUTE_MS, self.to_ms / MINUTE_MS);
        WindowsAsked { filter, minutes, longest, metrics }
    }

    /// Seconds of the range that have passed.
    pub(super) fn elapsed_seconds(self) -> f64 {
        (self.to_ms.min(self.now_ms) - self.from_ms).max(1) as f64 / 1e3
    }

    /// How many steps the range has; of the first and the last it may have a part.
    pub(super) const fn steps(self, step_ms: i64) -> usize {
        ((self.to_ms - self.steps_from_ms + step_ms - 1) / step_ms) as usize
    }

    /// When each step begins, without an end.
    pub(super) fn step_starts(self, step_ms: i64) -> impl Iterator<Item = i64> {
        (self.steps_from_ms..).step_by(step_ms as usize)
    }

    /// Which step a moment of the range falls into.
    pub(super) const fn step_at(self, ms: i64, step_ms: i64) -> usize {
        ((ms - self.steps_from_ms) / step_ms) as usize
    }

    /// The range cut into steps at multiples of the step, and the step: the asked one, or one that makes at most
    /// 120 points.
    pub(super) fn in_steps(self, params: &Params) -> Result<(Self, i64), ApiError> {
        let length_ms = self.to_ms - self.from_ms;
        // What it is compared with has the same steps.
        let first_ms = params.against()?.map_or(self.from_ms, |against| self.earlier(against).from_ms);
        let step_ms = match params.number("step")? {
            Some(seconds) if seconds >= 60 && seconds % 60 == 0 && seconds <= LONGEST_MS / 1_000 => {
                seconds * 1_000
            }
            Some(_) => {
                let most = LONGEST_MS / 1_000;
                return Err(bad(format!("`step` is a number of seconds, a multiple of 60 up to {most}")));
            }
            None => STEPS
                .into_iter()
                .map(|minutes| minutes * MINUTE_MS)
                .find(|step_ms| {
                    let known = first_ms >= self.minutes_from_ms || step_ms % HOUR_MS == 0;
                    known && length_ms <= step_ms * USUAL_POINTS
                })
                .unwrap_or(7 * DAY * MINUTE_MS),
        };
        if length_ms / step_ms > MOST_POINTS {
            return Err(bad(format!("`step` makes more than {MOST_POINTS} points of this range")));
        }
        let range = Self { steps_from_ms: self.from_ms.div_euclid(step_ms) * step_ms, ..self };
        range.check_step(step_ms)?;
        Ok((range, step_ms))
    }
}

/// A refusal of a query.
pub(super) fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> ApiError {
    ApiError::new(Reason::BadQuery, message)
}

fn shorten(name: &str) -> String {
    name.chars().take(40).collect()
}

const HOUR: i64 = 60;
const HOUR_MS: i64 = HOUR * MINUTE_MS;
const DAY: i64 = 24 * HOUR;

const RANGES: [(&str, i64); 6] =
    [("15m", 15), ("1h", HOUR), ("6h", 6 * HOUR), ("24h", DAY), ("7d", 7 * DAY), ("30d", 30 * DAY)];

/// In minutes: steps that fall on whole hours and days.
const STEPS: [i64; 12] = [1, 2, 5, 10, 15, 30, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY];

const USUAL_POINTS: i64 = 120;
const MOST_POINTS: i64 = 3_000;
const LONGEST_MS: i64 = 400 * DAY * MINUTE_MS;
const USUAL_LIMIT: i64 = 50;
const MOST_LIMIT: i64 = 500;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_000_000 * MINUTE_MS + 30_500;

    fn params(pairs: &[(&str, &str)]) -> Params {
        Params(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    fn minutes(pairs: &[(&str, &str)]) -> Option<(i64, i64)> {
        let range = params(pairs).range_at(NOW_MS, 1_000_000).ok()?;
        Some((range.from_ms / MINUTE_MS, range.to_ms / MINUTE_MS))
    }

    #[test]
    fn a_range_ends_with_the_running_minute_and_has_its_full_length() {
        assert_eq!(minutes(&[]), Some((1_000_001 - 60, 1_000_001)));
        assert_eq!(minutes(&[("range", "15m")]), Some((1_000_001 - 15, 1_000_001)));
    }

    #[test]
    fn from_and_to_grow_to_whole_minutes() {
        assert_eq!(minutes(&[("from", "60001"), ("to", "120001")]), Some((1, 3)));
        assert_eq!(minutes(&[("from", "60000"), ("to", "120000")]), Some((1, 2)));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for pairs in [
            &[("range", "2h")][..],
            &[("from", "0")],
            &[("from", "60000"), ("to", "60000")],
            &[("from", "0"), ("to", "9223372036854775807")],
            &[("from", "-1"), ("to", "5")],
            &[("range", "1h"), ("from", "0"), ("to", "5")],
            &[("from", "x"), ("to", "5")],
        ] {
            assert_eq!(minutes(pairs), None, "{pairs:?}");
        }
    }

    #[test]
    fn the_usual_step_makes_at_most_120_points() {
        for (name, length) in RANGES {
            let asked = params(&[("range", name)]);
            let (range, step_ms) = asked.range_at(NOW_MS, 48).unwrap().in_steps(&asked).unwrap();
            let points = range.steps(step_ms) as i64;
            assert!(points <= 121 && points * step_ms >= length * MINUTE_MS, "{name}: {points}");
            assert_eq!(range.steps_from_ms % step_ms, 0);
            let all = asked.range_at(NOW_MS, 48).unwrap();
            assert_eq!((range.from_ms, range.to_ms), (all.from_ms, all.to_ms), "it stays what was asked for");
        }
    }

    #[test]
    fn the_period_before_is_as_long_and_ends_where_this_begins() {
        let range = params(&[]).range_at(NOW_MS, 48).unwrap();
        let previous = range.earlier(Against::Previous);
        assert_eq!(previous.to_ms, range.from_ms);
        assert_eq!(range.from_ms - previous.from_ms, range.to_ms - range.from_ms);
    }

    #[test]
    fn what_is_known_by_the_hour_is_asked_by_the_hour() {
        let week = params(&[("range", "7d")]).range_at(NOW_MS, 48).unwrap();
        assert_eq!(week.from_ms % HOUR_MS, 0);
        assert!((0..HOUR_MS).contains(&(NOW_MS - 7 * 24 * HOUR_MS - week.from_ms)));
        let fine = params(&[("range", "7d"), ("step", "1800")]);
        assert!(fine.range_at(NOW_MS, 48).unwrap().in_steps(&fine).is_err());
        assert!(fine.range_at(NOW_MS, 200).unwrap().in_steps(&fine).is_ok());
    }

    #[test]
    fn what_is_compared_with_is_asked_by_the_hour_too_in_as_many_steps() {
        for (range, windows_hours, step_ms) in [("6h", 2, HOUR_MS), ("24h", 30, 2 * HOUR_MS)] {
            for (name, ms) in [("previous", None), ("day", Some(DAY * MINUTE_MS))] {
                let step = (step_ms / 1_000).to_string();
                let asked = params(&[("range", range), ("step", step.as_str()), ("against", name)]);
                let range = asked.range_at(NOW_MS, windows_hours).unwrap();
                let (range, step_ms) = range.in_steps(&asked).unwrap();
                let earlier = range.earlier_in_steps(asked.against().unwrap().unwrap(), step_ms).unwrap();
                assert_eq!((earlier.from_ms % HOUR_MS, earlier.steps_from_ms % HOUR_MS), (0, 0));
                assert!(earlier.to_ms > earlier.minutes_from_ms || earlier.to_ms % HOUR_MS == 0);
                assert_eq!(earlier.steps(step_ms), range.steps(step_ms));
                assert!(earlier.to_ms <= range.from_ms || ms.is_some());
                let shift = range.steps_from_ms - earlier.steps_from_ms;
                let length_ms = (range.to_ms - range.from_ms) as u64;
                assert_eq!(shift, ms.unwrap_or(length_ms.next_multiple_of(HOUR_MS as u64) as i64));
            }
        }
    }

    #[test]
    fn the_period_before_is_the_same_however_it_is_cut() {
        for step in ["60", "420", "600", "1800", "3600"] {
            let asked = params(&[("from", "59994000000"), ("to", "59994780000"), ("step", step)]);
            let (range, step_ms) = asked.range_at(NOW_MS, 48).unwrap().in_steps(&asked).unwrap();
            let earlier = range.earlier_in_steps(Against::Previous, step_ms).unwrap();
            let whole = range.earlier(Against::Previous);
            assert_eq!((earlier.from_ms, earlier.to_ms), (whole.from_ms, whole.to_ms), "{step}");
            assert_eq!(earlier.steps(step_ms), range.steps(step_ms), "{step}");
        }
    }

    #[test]
    fn the_usual_step_is_one_for_what_is_compared_with_too() {
        for (range, _) in RANGES {
            for against in ["previous", "day", "week"] {
                let asked = params(&[("range", range), ("against", against)]);
                let (range, step_ms) = asked.range_at(NOW_MS, 48).unwrap().in_steps(&asked).unwrap();
                let earlier = range.earlier_in_steps(asked.against().unwrap().unwrap(), step_ms);
                assert_eq!(earlier.unwrap().steps(step_ms), range.steps(step_ms));
            }
        }
    }

    #[test]
    fn no_window_reaches_over_a_step() {
        let filter = Filter::default();
        for (range, step_ms, longest) in [
            ("30d", None, 1_440),
            ("30d", Some(24 * HOUR_MS), 1_440),
            ("7d", Some(2 * HOUR_MS), 60),
            ("24h", Some(90 * MINUTE_MS), 5),
            ("1h", Some(MINUTE_MS), 1),
        ] {
            let asked = params(&[("range", range)]);
            let range = asked.range_at(NOW_MS, 48).unwrap();
            let steps_from_ms = step_ms.map_or(range.from_ms, |step_ms| range.from_ms / step_ms * step_ms);
            let range = Range { steps_from_ms, ..range };
            assert_eq!(range.windows(&filter, step_ms, &[]).longest, longest, "{step_ms:?}");
        }
    }

    #[test]
    fn the_day_before_is_the_same_hours() {
        let asked = params(&[("against", "day")]);
        let range = asked.range_at(NOW_MS, 48).unwrap();
        let before = range.earlier(asked.against().unwrap().unwrap());
        assert_eq!((range.from_ms - before.from_ms, range.to_ms - before.to_ms), (86_400_000, 86_400_000));
    }
}
