//! The answers of `/v1/timeseries` and `/v1/compare` in words: a line for each step with streams.

use serde_json::Value;

use super::answer::{Answer, quoted, time};
use super::figures::{
    FEW, LEGEND, counts, metric, names, number, or_absent, percentiles, range, share, unit, value,
};
use crate::aggregate::metric::Unit;

pub(super) fn write_timeseries(series: &Value, answer: &mut Answer) {
    let id = series["metric"].as_str().unwrap_or_default();
    let unit = unit(id);
    answer.line(range(series));
    answer.line(format!("{} per {}.", metric(id), step(series)));
    answer.line(SPARSE);
    each_step(series, "streams", answer, |point| {
        let percentiles = of_step(point["n"].as_u64(), names(unit), |name| value(point, name, unit), unit);
        let (errors, streams) = (or_absent(point["errors"].as_u64()), or_absent(point["streams"].as_u64()));
        format!("{percentiles}; errors {errors} of {streams} streams")
    });
}

pub(super) fn write_comparison(comparison: &Value, answer: &mut Answer) {
    answer.line(range(comparison));
    let (streams, matched) = (comparison["streams"].as_u64(), comparison["matched"].as_u64());
    answer.line(format!("Streams with both client and server TTFT: {}.", share(matched, streams)));
    answer.line(format!("Streams by source of the server's time: {}.", counts(&comparison["sources"])));
    answer.line("All figures below are of those streams alone; the others may differ.");
    answer.line(LEGEND);
    for (name, side) in [
        ("Client TTFT, in the browser", "client"),
        ("Server TTFT, as the server measured it", "server"),
        ("Overhead, client minus server of the same stream", "overhead"),
    ] {
        answer.line(format!("- {name}: {}", percentiles(&comparison[side], Unit::Milliseconds)));
    }
    answer.line(format!("Per {}:", step(comparison)));
    answer.line(SPARSE);
    each_step(comparison, "n", answer, |point| {
        let sides = ["client", "server", "overhead"].map(|side| {
            let value = |name: &str| value(point, &format!("{side}_{name}"), Unit::Milliseconds);
            let figures = of_step(None, ["p50", "p95"], value, Unit::Milliseconds);
            format!("{side} {figures}")
        });
        let n = point["n"].as_u64().unwrap_or_default();
        if n < FEW {
            let medians = ["client", "server", "overhead"].map(|side| {
                let median = value(point, &format!("{side}_p50"), Unit::Milliseconds);
                format!("{side} p50 {}", or_absent(median.map(|value| number(value, Unit::Milliseconds))))
            });
            return format!("n = {n}: {}", medians.join(", "));
        }
        format!("n = {n}: {}", sides.join("; "))
    });
}

/// The percentiles of one step. Of few values, only the median is shown: the others would be single values.
fn of_step<'a>(
    n: Option<u64>,
    names: impl IntoIterator<Item = &'a str>,
    value: impl Fn(&str) -> Option<f64>,
    unit: Unit,
) -> String {
    let most = if n.is_some_and(|n| n < FEW) { 1 } else { usize::MAX };
    let figures = names.into_iter().take(most).map(|name| {
        let value = value(name).map(|value| number(value, unit));
        format!("{name} {}", or_absent(value))
    });
    let figures = figures.collect::<Vec<_>>().join(", ");
    n.map_or_else(|| figures.clone(), |n| format!("n = {n}: {figures}"))
}

/// A line for each step with streams, and one for each run of steps without.
fn each_step(series: &Value, counted: &str, answer: &mut Answer, line: impl Fn(&Value) -> String) {
    let points = series["points"].as_array().map_or(&[][..], Vec::as_slice);
    let is_empty = |point: &Value| point[counted].as_u64().unwrap_or_default() == 0;
    let at = |point: &Value| point["timestamp_ms"].as_i64().map_or_else(|| quoted("?"), time);
    for run in points.chunk_by(|one, other| is_empty(one) && is_empty(other)) {
        match run {
            [point] if !is_empty(point) => answer.line(format!("- {}: {}", at(point), line(point))),
            [first, ..] => answer.line(format!("- from {}: {} steps without streams", at(first), run.len())),
            [] => {}
        }
    }
}

fn step(series: &Value) -> String {
    let minutes = series["step_ms"].as_i64().map(|ms| ms / 60_000);
    format!("step of {} minutes", or_absent(minutes))
}

const SPARSE: &str = "Of a step with fewer than 30 values, only the median is shown.";
