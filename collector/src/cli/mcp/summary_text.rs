//! The answer of `/v1/summary` in words.

use serde_json::Value;

use super::answer::{Answer, plain, quoted};
use super::figures::{
    FEW, LEGEND, counts, metric, number, or_absent, percent, percentiles, range, ratio, rounded, share, unit,
};

pub(super) fn write(summary: &Value, answer: &mut Answer) {
    answer.line(range(summary));
    let (streams, open) = (summary["streams"].as_u64(), summary["open"].as_u64());
    answer.line(format!("Streams ended: {}. In flight now: {}.", or_absent(streams), or_absent(open)));
    if streams.is_some_and(|streams| streams < FEW) {
        answer.line("These are few streams: a figure of them can be chance.");
    }
    let verdict = &summary["verdict"];
    answer.line(format!(
        "Verdict: level {}. {}",
        verdict["level"].as_str().unwrap_or("absent"),
        plain(verdict["text"].as_str().unwrap_or_default())
    ));
    answer.line(LEGEND);
    for id in METRICS {
        answer.line(format!("- {}: {}", metric(id), percentiles(&summary[id], unit(id))));
    }
    for (name, of) in [
        ("Availability (complete, of eligible streams)", "availability"),
        ("Streaming integrity (intact, of eligible streams)", "integrity"),
        ("Goodput (within SLO, of eligible streams)", "goodput"),
        ("Within the p95 target of the wait", "within_p95_target"),
    ] {
        answer.line(format!("- {name}: {}", ratio(&summary[of])));
    }
    let errors = &summary["errors"];
    answer.line(format!("- Errors: {}", share(errors["count"].as_u64(), errors["total"].as_u64())));
    answer.line(format!("- Outcomes: {}", counts(&summary["outcomes"])));
    answer.line(format!("- Defects: {}", counts(&summary["defects"])));
    answer.line(tokens(summary));
    for use_case in summary["by_use_case"].as_array().into_iter().flatten().take(MOST_USE_CASES) {
        answer.line(of_use_case(use_case));
    }
    compared(summary, answer);
}

fn tokens(summary: &Value) -> String {
    let usage = &summary["with_usage"];
    format!(
        "- Output tokens by the providers' counts: {}, from {} of {} streams. The others are unknown, not zero.",
        or_absent(summary["output_tokens"].as_u64()),
        or_absent(usage["good"].as_u64()),
        or_absent(usage["total"].as_u64())
    )
}

fn of_use_case(of: &Value) -> String {
    let text = |name: &str| quoted(of[name].as_str().unwrap_or_default());
    let id = of["metric"].as_str().unwrap_or_default();
    let n = of["streams"].as_u64();
    let p95 = of["p95_ms"].as_f64().map(|value| number(value, unit(id)));
    let few = if n.is_some_and(|n| n < FEW) { " (few)" } else { "" };
    let budget = &of["least_budget"];
    let left = budget["remaining"].as_f64().map(|left| {
        format!(
            " Least error budget: {}, {} left.",
            budget["objective"].as_str().unwrap_or_default(),
            percent(left)
        )
    });
    let alerts = of["alerts"].as_array().into_iter().flatten().filter_map(|alert| {
        let counted = (alert["bad"].as_u64(), alert["total"].as_u64(), alert["minutes"].as_i64());
        let (rule, severity) = (alert["rule"].as_str()?, alert["severity"].as_str()?);
        let (bad, total, minutes) = (or_absent(counted.0), or_absent(counted.1), or_absent(counted.2));
        Some(format!(" Alert `{severity}` for {rule}: {bad} of {total} streams in {minutes} minutes."))
    });
    format!(
        "- Use case {} of site {}: level {}, {} streams{few}, p95 of {} {}, availability {}.{}{}",
        text("use_case"),
        text("site"),
        of["level"].as_str().unwrap_or("absent"),
        or_absent(n),
        metric(id),
        or_absent(p95),
        ratio(&of["availability"]),
        left.unwrap_or_default(),
        alerts.collect::<String>()
    )
}

/// The comparison with the other period.
fn compared(summary: &Value, answer: &mut Answer) {
    let previous = &summary["previous"];
    answer.line(format!(
        "Compared with: {} Streams: {}.",
        range(previous),
        or_absent(previous["streams"].as_u64())
    ));
    let differences = previous["differences"].as_object();
    if differences.is_none_or(serde_json::Map::is_empty) {
        answer.line("No difference can be given: one of the periods has too few streams.");
    }
    for (name, of) in differences.into_iter().flatten() {
        let (Some(lower), Some(upper)) = (of["lower"].as_f64(), of["upper"].as_f64()) else { continue };
        let shown =
            if lower > 0.0 || upper < 0.0 { "a difference" } else { "includes 0: no difference shown" };
        let (lower, upper) = match name.strip_suffix("_ms") {
            Some(_) => (format!("{} ms", rounded(lower)), format!("{} ms", rounded(upper))),
            None => (points(lower), points(upper)),
        };
        let name = name.trim_end_matches("_ms").replace('_', " ");
        answer.line(format!("- {} changed by {lower} to {upper} (95 % interval; {shown})", plain(&name)));
    }
    if let Some(text) = summary["errors_and_latency"]["text"].as_str() {
        answer.line(plain(text));
    }
}

fn points(share: f64) -> String {
    format!("{:.1} percentage points", share * 100.0)
}

const METRICS: [&str; 7] =
    ["ttfv", "ttft", "e2e", "generation", "tpot", "output_rate", "inter_chunk_latency"];

/// Worst first.
const MOST_USE_CASES: usize = 10;
