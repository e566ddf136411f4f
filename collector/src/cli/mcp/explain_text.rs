//! The answers of `/v1/breakdown` and `/v1/explain` in words.

use serde_json::Value;

use super::answer::{Answer, quoted, time};
use super::figures::{FEW, LEGEND, metric, or_absent, percent, percentiles, range, ratio, share, unit};

pub(super) fn write_breakdown(breakdown: &Value, answer: &mut Answer) {
    let id = breakdown["metric"].as_str().unwrap_or_default();
    let dimension = |name: &str| breakdown[name].as_str().map(quoted);
    let by: Vec<_> = [dimension("by"), dimension("and_by")].into_iter().flatten().collect();
    answer.line(range(breakdown));
    answer.line(format!("{} by {}, groups with most streams first.", metric(id), by.join(" and ")));
    answer.line(LEGEND);
    let groups = breakdown["groups"].as_array().map_or(&[][..], Vec::as_slice);
    if groups.is_empty() {
        answer.line("No stream is in this range and filter.");
    }
    for group in groups {
        let value = |name: &str| group[name].as_str().map(quoted);
        let values: Vec<_> = [value("value"), value("and_value")].into_iter().flatten().collect();
        answer.line(format!(
            "- {}: {} of all streams; {}; goodput {}; errors {}. {}",
            values.join(" and "),
            or_absent(group["share"].as_f64().map(percent)),
            percentiles(group, unit(id)),
            ratio(&group["goodput"]),
            or_absent(group["errors"].as_u64()),
            excess(group)
        ));
    }
    let omitted = breakdown["omitted"].as_u64().unwrap_or_default();
    if omitted > 0 {
        answer.line(format!("{omitted} smaller groups are left out: raise `limit` or add filters."));
    }
}

/// Whether a group fails more often than its share of the streams.
fn excess(group: &Value) -> String {
    let (excess, lower) = (group["excess_share"].as_f64(), group["excess_share_ci_lower"].as_f64());
    match (excess, lower) {
        (Some(excess), Some(lower)) if lower > 0.0 => format!(
            "Its share of the streams outside the SLO exceeds its share of the traffic by {} (at least {} with 95 % \
             confidence).",
            percent(excess),
            percent(lower)
        ),
        (Some(excess), _) if excess > 0.0 => format!(
            "Its share of the streams outside the SLO exceeds its share of the traffic by {}, which chance can explain.",
            percent(excess)
        ),
        (Some(_), _) => "It does not fail beyond its share of the traffic.".to_owned(),
        (None, _) => "No stream missed its SLO.".to_owned(),
    }
}

pub(super) fn write_explanation(explanation: &Value, answer: &mut Answer) {
    answer.line(range(explanation));
    let of = explanation["of"].as_str().unwrap_or_default();
    let (affected, streams) = (explanation["affected"].as_u64(), explanation["streams"].as_u64());
    answer.line(format!("Streams that are {}: {}.", quoted(of), share(affected, streams)));
    let findings = explanation["findings"].as_array().map_or(&[][..], Vec::as_slice);
    if findings.is_empty() {
        let few = if affected.is_some_and(|affected| affected < FEW) {
            " They may be too few to tell."
        } else {
            ""
        };
        answer.line(format!("No value stands out beyond what chance allows.{few}"));
        return;
    }
    let confidence = explanation["confidence"].as_f64().map(percent);
    answer.line(format!(
        "Values that occur among them more often than among the rest, strongest first. If nothing differed, the list would \
         be empty with {} confidence. What occurs together need not be the cause.",
        or_absent(confidence)
    ));
    for finding in findings {
        answer.line(of_finding(finding));
    }
}

fn of_finding(finding: &Value) -> String {
    let at = |name: &str| or_absent(finding[name].as_f64().map(percent));
    let same = Some(values(&finding["same"])).filter(|same| !same.is_empty());
    let same = same.map(|same| format!(" The data cannot tell it from {same}."));
    let began = Some(values(&finding["began_with"])).filter(|began| !began.is_empty());
    let began = began.map(|began| format!(" It began with {began}."));
    let since = finding["since_ms"].as_i64().map(|ms| format!(" Since {}.", time(ms)));
    let until = finding["until_ms"].as_i64().map(|ms| format!(" Until {}.", time(ms)));
    let cause = &finding["cause"];
    let cause = cause["name"].as_str().map(|name| {
        format!(
            " Most frequent cause: {}, of {} streams.",
            quoted(name),
            or_absent(cause["streams"].as_u64())
        )
    });
    let extra: String = [since, until, same, began, cause].into_iter().flatten().collect();
    format!(
        "- {}: affected {}; {} of the affected have it, {} of the rest; difference {} to {} (95 % interval).{extra}",
        values(&finding["values"]),
        share(finding["affected"].as_u64(), finding["streams"].as_u64()),
        at("share_of_affected"),
        at("share_of_rest"),
        at("excess_lower"),
        at("excess_upper"),
    )
}

fn values(of: &Value) -> String {
    let texts = of.as_array().into_iter().flatten().map(|value| {
        let text = |name: &str| quoted(value[name].as_str().unwrap_or_default());
        format!("{} = {}", text("dimension"), text("value"))
    });
    texts.collect::<Vec<_>>().join(" and ")
}
