//! Tests of ranges, steps and comparison periods.

use super::*;
use crate::api::request::query_string::query;
use crate::config::token::AllowedSites;

const NOW_MS: i64 = 1_000_000 * MINUTE_MS + 30_500;

query! {
    /// All parameters that a range depends on.
    RangeQuery {
        range: AskedRange,
        step: Option<Step>,
        since: Option<Since>,
        compare_to: Option<CompareTo>,
    }
}

fn read(pairs: &[(&str, &str)]) -> Result<RangeQuery, ApiError> {
    let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Given::of(pairs, AllowedSites::All).all()
}

fn asked(pairs: &[(&str, &str)]) -> RangeQuery {
    read(pairs).unwrap_or_else(|_| panic!("{pairs:?} is refused"))
}

impl RangeQuery {
    fn in_steps(&self, minutes_from_ms: i64) -> (Range, i64) {
        self.range.at(NOW_MS, minutes_from_ms).in_steps(self.step, self.compare_to).unwrap()
    }
}

const RANGES: [(&str, i64); 6] =
    [("15m", 15), ("1h", 60), ("6h", 360), ("24h", 1_440), ("7d", 10_080), ("30d", 43_200)];

/// First time with minutes, in milliseconds, if minutes are kept for `hours` hours.
fn minutes_of(hours: i64) -> i64 {
    NOW_MS - hours * HOUR_MS
}

fn minutes(pairs: &[(&str, &str)]) -> Option<(i64, i64)> {
    let range = read(pairs).ok()?.range.at(NOW_MS, minutes_of(1_000_000));
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
fn an_invalid_range_is_refused() {
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
        let asked = asked(&[("range", name)]);
        let (range, step_ms) = asked.in_steps(minutes_of(48));
        let points = range.steps(step_ms) as i64;
        assert!(points <= 121 && points * step_ms >= length * MINUTE_MS, "{name}: {points}");
        assert_eq!(range.steps_from_ms % step_ms, 0);
        let all = asked.range.at(NOW_MS, minutes_of(48));
        assert_eq!((range.from_ms, range.to_ms), (all.from_ms, all.to_ms), "it stays what was asked for");
    }
}

#[test]
fn the_usual_step_is_the_same_at_every_minute() {
    for (name, step_ms) in [("7d", 2 * HOUR_MS), ("30d", 6 * HOUR_MS)] {
        for minute in 0..60 {
            let now_ms = NOW_MS + minute * MINUTE_MS;
            let asked = asked(&[("range", name)]);
            let (range, step) = asked.range.at(now_ms, now_ms - 48 * HOUR_MS).in_steps(None, None).unwrap();
            assert_eq!(step, step_ms, "{name}, {minute} minutes on");
            assert!(range.steps(step) <= 121, "{name}, {minute} minutes on: {}", range.steps(step));
        }
    }
}

#[test]
fn the_period_before_is_as_long_and_ends_where_this_begins() {
    let range = asked(&[]).range.at(NOW_MS, minutes_of(48));
    let previous = range.earlier(CompareTo::Previous);
    assert_eq!(previous.to_ms, range.from_ms);
    assert_eq!(range.from_ms - previous.from_ms, range.to_ms - range.from_ms);
}

#[test]
fn a_range_beyond_the_kept_minutes_needs_hourly_steps() {
    let week = asked(&[("range", "7d")]).range.at(NOW_MS, minutes_of(48));
    assert_eq!(week.from_ms % HOUR_MS, 0);
    assert!((0..HOUR_MS).contains(&(NOW_MS - 7 * 24 * HOUR_MS - week.from_ms)));
    let fine = asked(&[("range", "7d"), ("step", "1800")]);
    assert!(fine.range.at(NOW_MS, minutes_of(48)).in_steps(fine.step, None).is_err());
    assert!(fine.range.at(NOW_MS, minutes_of(200)).in_steps(fine.step, None).is_ok());
}

#[test]
fn a_compared_period_has_as_many_steps_on_hour_boundaries() {
    for (range, windows_hours, step_ms) in [("6h", 2, HOUR_MS), ("24h", 30, 2 * HOUR_MS)] {
        for (name, ms) in [("previous", None), ("day", Some(DAY_MS))] {
            let step = (step_ms / 1_000).to_string();
            let asked = asked(&[("range", range), ("step", step.as_str()), ("compare_to", name)]);
            let range = asked.range.at(NOW_MS, minutes_of(windows_hours));
            let (range, step_ms) = range.in_steps(asked.step, asked.compare_to).unwrap();
            let earlier = range.earlier_in_steps(asked.compare_to.unwrap(), step_ms).unwrap();
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
        let asked = asked(&[("from", "59994000000"), ("to", "59994780000"), ("step", step)]);
        let (range, step_ms) = asked.in_steps(minutes_of(48));
        let earlier = range.earlier_in_steps(CompareTo::Previous, step_ms).unwrap();
        let whole = range.earlier(CompareTo::Previous);
        assert_eq!((earlier.from_ms, earlier.to_ms), (whole.from_ms, whole.to_ms), "{step}");
        assert_eq!(earlier.steps(step_ms), range.steps(step_ms), "{step}");
    }
    // 10 h 9 min that begin in a minute with data; the period before has hourly windows only.
    for ago in 609..=690 {
        let (from, to) = ((1_000_000 - ago) * MINUTE_MS, (1_000_000 - ago + 609) * MINUTE_MS);
        let (from, to) = (from.to_string(), to.to_string());
        let asked = asked(&[("from", from.as_str()), ("to", to.as_str()), ("step", "3600")]);
        for windows_hours in [11, 12, 15, 20, 48] {
            let whole = asked.range.at(NOW_MS, minutes_of(windows_hours));
            let (range, step_ms) = whole.in_steps(asked.step, asked.compare_to).unwrap();
            let earlier = range.earlier_in_steps(CompareTo::Previous, step_ms).unwrap();
            let whole = whole.earlier(CompareTo::Previous);
            let at = format!("{ago} minutes ago, {windows_hours} h");
            assert_eq!((earlier.from_ms, earlier.to_ms), (whole.from_ms, whole.to_ms), "{at}");
            assert_eq!(earlier.steps(step_ms), range.steps(step_ms), "{at}");
            assert!((0..HOUR_MS).contains(&(range.from_ms - whole.to_ms)), "{at}");
            assert!(windows_hours < 48 || whole.to_ms == range.from_ms, "{at}");
        }
    }
}

#[test]
fn a_compared_period_has_as_many_steps_by_default() {
    for (range, _) in RANGES {
        for compare_to in ["previous", "day", "week"] {
            let asked = asked(&[("range", range), ("compare_to", compare_to)]);
            let (range, step_ms) = asked.in_steps(minutes_of(48));
            let earlier = range.earlier_in_steps(asked.compare_to.unwrap(), step_ms);
            assert_eq!(earlier.unwrap().steps(step_ms), range.steps(step_ms));
        }
    }
}

#[test]
fn no_window_crosses_a_step() {
    let filter = Filter::default();
    for (range, step_ms, longest) in [
        ("30d", None, 1_440),
        ("30d", Some(24 * HOUR_MS), 1_440),
        ("7d", Some(2 * HOUR_MS), 60),
        ("24h", Some(90 * MINUTE_MS), 5),
        ("1h", Some(MINUTE_MS), 1),
    ] {
        let asked = asked(&[("range", range)]);
        let range = asked.range.at(NOW_MS, minutes_of(48));
        let steps_from_ms = step_ms.map_or(range.from_ms, |step_ms| range.from_ms / step_ms * step_ms);
        let range = Range { steps_from_ms, ..range };
        assert_eq!(range.windows(&filter, step_ms, &[]).longest, longest, "{step_ms:?}");
    }
}

#[test]
fn the_day_before_is_the_same_hours() {
    let asked = asked(&[("compare_to", "day")]);
    let range = asked.range.at(NOW_MS, minutes_of(48));
    let before = range.earlier(asked.compare_to.unwrap());
    assert_eq!((range.from_ms - before.from_ms, range.to_ms - before.to_ms), (86_400_000, 86_400_000));
}

#[test]
fn since_leaves_out_the_steps_before_it() {
    let starts = |since: &str| {
        let pairs = [("from", "60000"), ("to", "900000"), ("step", "300"), ("since", since)];
        let asked = asked(&pairs);
        let (range, step_ms) = asked.in_steps(minutes_of(1_000_000));
        let part = range.without_steps(range.first_step(asked.since, step_ms), step_ms);
        let starts: Vec<_> = part.step_starts(step_ms).take(part.steps(step_ms)).collect();
        (part.from_ms, starts)
    };
    assert_eq!(starts("0"), (60_000, vec![0, 300_000, 600_000]), "the range begins within its first step");
    assert_eq!(starts("299999"), (60_000, vec![0, 300_000, 600_000]));
    assert_eq!(starts("300000"), (300_000, vec![300_000, 600_000]));
    assert_eq!(starts("100000000000000"), (600_000, vec![600_000]), "the last step is always there");
}
