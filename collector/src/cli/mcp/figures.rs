//! Figures of an answer in words: each with its unit, its number of values and its bounds. An absent figure is said to be
//! absent.

use std::fmt::Display;

use serde_json::Value;

use super::answer::{quoted, time};
use crate::aggregate::metric::{METRICS, Unit};
use crate::stats::binomial::lower_bound;

/// The range that an answer covers.
pub(super) fn range(answer: &Value) -> String {
    let at = |name: &str| answer[name].as_i64().map_or_else(|| "unknown".to_owned(), time);
    let kept = answer["kept_since_ms"].as_i64().map(|ms| {
        format!(" Single streams are kept only since {}: earlier ones are not all counted.", time(ms))
    });
    format!("Range: {} to {}.{}", at("from"), at("to"), kept.unwrap_or_default())
}

/// Title and id of a metric, by its id.
pub(super) fn metric(id: &str) -> String {
    let labels = METRICS.iter().find(|metric| metric.id == id).and_then(|metric| metric.labels.as_ref());
    labels.map_or_else(|| quoted(id), |labels| format!("{} (`{id}`)", labels.title))
}

/// Unit of a metric, by its id.
pub(super) fn unit(id: &str) -> Unit {
    METRICS.iter().find(|metric| metric.id == id).map_or(Unit::Milliseconds, |metric| metric.unit)
}

/// Percentiles with n and intervals.
pub(super) fn percentiles(of: &Value, unit: Unit) -> String {
    let n = of["n"].as_u64().unwrap_or_default();
    if n == 0 {
        return "no values (n = 0), so the percentiles are absent, not zero".to_owned();
    }
    let texts = names(unit).map(|name| {
        let value = value(of, name, unit).map_or_else(|| "absent".to_owned(), |value| number(value, unit));
        format!("{name} {value}{}", interval(&of["intervals"][name], unit))
    });
    let few = if n < FEW { ", few values" } else { "" };
    format!("n = {n}{few}: {}{}", texts.join(", "), adjusted(&of["km_adjusted"], unit))
}

/// One percentile of a set with percentiles.
pub(super) fn value(of: &Value, name: &str, unit: Unit) -> Option<f64> {
    of[format!("{name}_{}", unit.suffix())].as_f64()
}

/// From the median to the slow end.
pub(super) const fn names(unit: Unit) -> [&'static str; 4] {
    match unit {
        Unit::Milliseconds => ["p50", "p90", "p95", "p99"],
        Unit::OutputTokensPerSecond => ["p50", "p10", "p5", "p1"],
    }
}

/// A value with its unit.
pub(super) fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Milliseconds => format!("{} ms", rounded(value)),
        Unit::OutputTokensPerSecond => format!("{} tokens/s", rounded(value)),
    }
}

/// No more digits than the histograms have.
pub(super) fn rounded(value: f64) -> String {
    if value.abs() < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// A share with its counts, and the bounds of the true share.
pub(super) fn ratio(of: &Value) -> String {
    share(of["good"].as_u64(), of["total"].as_u64())
}

/// The same, of two counts.
pub(super) fn share(count: Option<u64>, all: Option<u64>) -> String {
    match (count, all) {
        (Some(count), Some(all)) if count <= all && all > 0 => {
            let (lower, upper) = (lower_bound(count, all), 1.0 - lower_bound(all - count, all));
            let few = if all < FEW { ", few streams" } else { "" };
            format!(
                "{} ({count} of {all}{few}; at least {}, at most {})",
                percent(count as f64 / all as f64),
                percent(lower),
                percent(upper)
            )
        }
        (_, Some(0)) => "absent: no stream counts for it".to_owned(),
        _ => "absent".to_owned(),
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Counts by word, largest first.
pub(super) fn counts(of: &Value) -> String {
    let mut counts: Vec<_> = of
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(word, count)| Some((word, count.as_u64()?)))
        .collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let texts: Vec<_> = counts.iter().map(|(word, count)| format!("{} {count}", quoted(word))).collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}

/// A number, or that it is absent.
pub(super) fn or_absent(value: Option<impl Display>) -> String {
    value.map_or_else(|| "absent".to_owned(), |value| value.to_string())
}

/// How to read the figures of an answer.
pub(super) const LEGEND: &str = "[a to b] is the 95 % confidence interval; ? means too few values to bound that end. \
    Without one, a percentile is within 1.09 % of the measured value. \"At least\" and \"at most\" of a share hold with \
    95 % confidence each.";

fn interval(of: &Value, unit: Unit) -> String {
    if of.is_null() {
        return String::new();
    }
    let end =
        |name: &str| of[format!("{name}_{}", unit.suffix())].as_f64().map_or_else(|| "?".to_owned(), rounded);
    format!(" [{} to {}]", end("lower"), end("upper"))
}

/// Percentiles with the waits that ended without the token, if there are any.
fn adjusted(of: &Value, unit: Unit) -> String {
    let count = |name: &str| of[name].as_u64().unwrap_or_default();
    let (abandoned, failed) = (count("abandoned"), count("failed_before"));
    if abandoned + failed == 0 {
        return String::new();
    }
    let texts = names(unit).map(|name| {
        let value = value(of, name, unit);
        let value =
            value.map_or_else(|| "absent, too few waited that long".to_owned(), |value| number(value, unit));
        format!("{name} {value}")
    });
    format!(
        "; with the waits that ended before the token ({abandoned} abandoned, {failed} failed), Kaplan–Meier-adjusted: {}",
        texts.join(", ")
    )
}

/// Below this number of values, a figure is called one of few.
pub(super) const FEW: u64 = 30;
