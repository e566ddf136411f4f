//! The sections of the Grafana dashboard and their PromQL. `export/prometheus/names.rs` names the metrics.

use super::panel::{Panel, Section, asked, limit, lines, stat, volume};
use super::promql::{CHOSEN, IN_FLIGHT_CAP, percentiles, quantile, rate};
use super::targets::target_lines;
use super::{engines, throughput};
use crate::aggregate::metric::{Metric, MetricDefinition, Unit, measured_by_default};
use crate::aggregate::own_edges::OwnEdges;
use crate::cli::prometheus_rules::{ELIGIBLE, profiles, rounded};
use crate::config::Config;
use crate::export::prometheus::names;
use crate::slo::error_budget::{BurnRateAlert, Objective};

/// All sections from top to bottom.
pub(super) fn all(config: &Config) -> Vec<Section> {
    let section = |title, panels| Section { title, is_collapsed: false, panels };
    vec![
        section("Latency", latency(config)),
        throughput::section(config),
        section("Outcomes", endings()),
        section("In flight and queue", load()),
        section("Browser vs. server", sides()),
        section("Error budgets", budgets(config)),
        engines::section(),
        section("Collector", own()),
    ]
}

/// Every duration that all probes measure, by use case.
fn latency(config: &Config) -> Vec<Panel> {
    let durations =
        measured_by_default().filter(|definition| definition.unit == Unit::Milliseconds).enumerate();
    let panel = |(at, definition): (usize, &MetricDefinition)| {
        let (labels, export) = (definition.labels.as_ref()?, definition.export.as_ref()?);
        let mut questions = percentiles(definition.metric, "use_case");
        questions.extend(target_lines(config, definition.metric));
        // The first is the wait that users see.
        let is_first = at == 0;
        if is_first {
            questions.push(volume(format!("sum({})", rate(names::REQUESTS, "")), "requests"));
        }
        Some(lines(labels.title, "s", if is_first { 24 } else { 8 }, questions).about(export.help))
    };
    durations.filter_map(panel).collect()
}

fn endings() -> Vec<Panel> {
    let outcomes = format!("sum by (outcome) ({})", rate(names::STREAMS, ""));
    let defects = format!("sum by (defect) ({})", rate(names::DEFECTS, ""));
    let eligible = rate(names::STREAMS, &format!(",{ELIGIBLE}"));
    let failed = format!("sum by (use_case) ({}) / sum by (use_case) ({eligible})", rate(names::ERRORS, ""));
    let left = Metric::AbandonedTtfv.export();
    let leavers = format!("sum by (use_case) ({})", rate(&format!("{}_count", left.prometheus), ""));
    vec![
        lines("Streams by outcome", "reqps", 8, vec![asked(outcomes, "{{outcome}}")]).stacked(),
        lines("Error rate", "percentunit", 8, vec![asked(failed, "{{use_case}}")]).about(
            "Streams in which the service failed, as a share of eligible streams. Streams that users ended \
                    do not count.",
        ),
        lines("Streams with a defect", "reqps", 8, vec![asked(defects, "{{defect}}")]),
        lines("Streams abandoned before text", "reqps", 8, vec![asked(leavers, "{{use_case}}")]),
        lines("Wait before abandonment", "s", 8, percentiles(Metric::AbandonedTtfv, "use_case")),
        correlation(),
    ]
}

/// Latency and errors against an hour ago. A rise of both has another cause than a rise of latency alone.
fn correlation() -> Panel {
    let over =
        |name: &str, more: &str, before: &str| format!("sum(rate({name}{{{CHOSEN}{more}}}[15m]{before}))");
    let first = format!("{}_bucket", Metric::Ttfv.export().prometheus);
    let p95 = |before: &str| {
        let buckets = format!("sum by (le) (rate({first}{{{CHOSEN}}}[15m]{before}))");
        format!("histogram_quantile(0.95, {buckets})")
    };
    let failed = |before: &str| {
        let eligible = over(names::STREAMS, &format!(",{ELIGIBLE}"), before);
        format!("{} / {eligible}", over(names::ERRORS, "", before))
    };
    let questions = vec![
        asked(format!("{} / {} - 1", p95(""), p95(" offset 1h")), "TTFT p95"),
        asked(format!("({}) - ({})", failed(""), failed(" offset 1h")), "error rate"),
    ];
    stat("Latency and errors, against one hour before", "percentunit", 8, questions)
        .bounded("green", vec![(0.1, "orange"), (0.5, "red")])
        .about(
            "Change of the TTFT p95, and of the error rate in percentage points. Both up: the service is overloaded \
             or failing. Latency alone: a queue, longer input or the network.",
        )
}

fn load() -> Vec<Panel> {
    let open = format!("sum by (use_case) ({}{{{CHOSEN}}})", names::OPEN);
    let in_flight = vec![asked(open, "{{use_case}}"), limit(format!("vector(${IN_FLIGHT_CAP})"), "cap")];
    vec![
        lines("Streams in flight", "short", 12, in_flight).about(
            "Streams that have reported and are not finalized. Probes first report 1 s after the first token, \
             and after 3 s without one. The line is the variable “In-flight cap”.",
        ),
        lines("Queue time on the server", "s", 12, percentiles(Metric::ServerQueue, "provider"))
            .about("Streams whose server reports its queue. For the queue's length see the row of the engines."),
    ]
}

fn sides() -> Vec<Panel> {
    let both = |q: f64| {
        let percentile = q * 100.0;
        vec![
            asked(quantile(q, Metric::Ttft.export(), ""), &format!("browser p{percentile}")),
            asked(quantile(q, Metric::ServerTtft.export(), ""), &format!("server p{percentile}")),
        ]
    };
    vec![
        lines("Time to first token, p50", "s", 8, both(0.5))
            .about("Server: streams with server timing only. Browser: all streams."),
        lines("Time to first token, p90", "s", 8, both(0.9)),
        lines("Time to first token, p95", "s", 8, both(0.95)),
        lines("Time to first token, p99", "s", 8, both(0.99)),
        lines("Network overhead", "s", 8, percentiles(Metric::Overhead, "provider"))
            .about("Browser minus server time to first token, of the same stream."),
        lines("Generation duration on the server", "s", 8, percentiles(Metric::EngineGeneration, "model"))
            .about(Metric::EngineGeneration.export().help),
    ]
}

/// Burn rates of all budgets. Above 1, the budget does not last its period.
fn budgets(config: &Config) -> Vec<Panel> {
    let mut panels = Vec::new();
    let own_edges = OwnEdges::of(config);
    for objective in Objective::ALL {
        let (mut questions, mut untold) = (Vec::new(), Vec::new());
        for mut profile in profiles(config) {
            let Some(target) = objective.share(&profile.targets) else { continue };
            profile.labels.push_str(",site=~\"$site\"");
            match profile.shares(objective, &own_edges) {
                Ok(shares) => {
                    let burn_rate = format!("({}) / {}", shares.over("1h"), rounded(1.0 - target));
                    // A use case may be any text, and Grafana replaces text in double braces.
                    let use_case = profile.use_case.replace("{{", "{ {");
                    questions.push(asked(burn_rate, &format!("{{{{site}}}} {use_case}")));
                }
                Err(no_rule) => untold.push(format!(" Left out: {no_rule}.")),
            }
        }
        if questions.is_empty() && untold.is_empty() {
            continue;
        }
        let mut word = objective.as_str().to_owned();
        word[..1].make_ascii_uppercase();
        let about = format!(
            "Burn rate over 1 hour. At 1, the budget is used up exactly at the end of its {} days.{}",
            config.budget_days(),
            untold.concat()
        );
        let bounds = BurnRateAlert::ALL.map(|alert| (alert.rate(config.budget_days()), colour(alert)));
        let panel = lines(&format!("{word} budgets: burn rate"), "short", 12, questions).about(&about);
        panels.push(panel.bounded("green", bounds.into()));
    }
    panels
}

fn colour(alert: BurnRateAlert) -> &'static str {
    match alert.severity.as_str() {
        "page" => "red",
        "incident" => "orange",
        _ => "yellow",
    }
}

fn own() -> Vec<Panel> {
    let of = |name: &str, label: &str| {
        let expr = format!("sum by ({label}) (rate({name}[$__rate_interval]))");
        vec![asked(expr, &format!("{{{{{label}}}}}"))]
    };
    let plain = |name: &str, what: &str| asked(name.to_owned(), &format!("{what} {{{{instance}}}}"));
    vec![
        lines("Beacons", "reqps", 8, of(names::BEACONS, "result")),
        lines("Reports", "reqps", 8, of(names::REPORTS, "result")),
        lines("Dropped by probes", "reqps", 8, of(names::DROPPED, "reason")),
        lines("Counted as `other`", "reqps", 8, of(names::LABEL_LIMIT_EXCEEDED, "label"))
            .about("A site has more values of a label than `limits` allows."),
        lines(
            "Store writable, live subscribers",
            "short",
            8,
            vec![plain(names::STORE_WRITABLE, "writable"), plain(names::LISTENERS, "subscribers")],
        ),
        lines("Replication lag", "s", 8, vec![plain(names::REPLICATION_LAG, "lag")])
            .about("Only for collectors that share a ClickHouse."),
    ]
}
