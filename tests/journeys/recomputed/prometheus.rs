//! `/metrics` beside what follows from the reports.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;
use tests::recomputed::{count, is_eligible, is_error, is_intact, kind, label, unit, values};

use super::answers::Check;

impl Check<'_> {
    /// Counters and classic buckets, series by series.
    pub(super) async fn prometheus(&mut self) -> Result<()> {
        let text = self.collector.text("/metrics").await?;
        let lines: BTreeMap<_, _> = text.lines().filter_map(|line| line.rsplit_once(' ')).collect();
        let mut series = BTreeMap::<String, Vec<&Value>>::new();
        for report in self.reports.iter().filter(|report| kind(report) == "answer") {
            let of = |name: &str| label(report, name).replace('"', "\\\"");
            let labels =
                ["model", "provider", "site", "use_case"].map(|name| format!("{name}=\"{}\"", of(name)));
            series.entry(labels.join(",")).or_default().push(report);
        }
        for (labels, reports) in &series {
            self.is(&lines, &format!("llm_requests_total{{{labels}}}"), reports.len() as f64);
            self.is(
                &lines,
                &format!("llm_generation_errors_total{{{labels}}}"),
                count(reports, is_error) as f64,
            );
            let broken = count(reports, |report| is_eligible(report) && !is_intact(report));
            self.is(&lines, &format!("llm_rum_broken_streams_total{{{labels}}}"), broken as f64);
            let counted = |field: &str| reports.iter().filter_map(|report| report[field].as_u64()).collect();
            let output: Vec<u64> = counted("output_tokens");
            self.is(&lines, &format!("llm_rum_streams_with_usage_total{{{labels}}}"), output.len() as f64);
            for (name, counts) in
                [("llm_tokens_generated_total", output), ("llm_input_tokens_total", counted("input_tokens"))]
            {
                let name = format!("{name}{{{labels}}}");
                if counts.is_empty() {
                    let is_absent = !lines.contains_key(name.as_str());
                    self.wrong.unless(is_absent, || format!("{name} is there, though nothing is known"));
                } else {
                    let expected = counts.iter().sum::<u64>() as f64;
                    self.is(&lines, &name, expected);
                }
            }
            for (name, metric, edges) in HISTOGRAMS {
                let values = values(reports, metric);
                let per_unit = if unit(metric) == "ms" { 1e3 } else { 1.0 };
                if values.is_empty() {
                    continue;
                }
                self.is(&lines, &format!("{name}_count{{{labels}}}"), values.len() as f64);
                self.is(&lines, &format!("{name}_sum{{{labels}}}"), values.iter().sum::<f64>() / per_unit);
                for edge in edges.split(' ') {
                    let below = |value: &&f64| **value / per_unit <= edge.parse().unwrap_or(f64::NAN);
                    let held = values.iter().filter(below).count();
                    self.is(&lines, &format!("{name}_bucket{{{labels},le=\"{edge}\"}}"), held as f64);
                }
            }
        }
        Ok(())
    }

    fn is(&mut self, lines: &BTreeMap<&str, &str>, name: &str, expected: f64) {
        let found = lines.get(name).and_then(|value| value.parse::<f64>().ok());
        let same = found.is_some_and(|found| (found - expected).abs() <= 1e-9 * expected.abs().max(1.0));
        self.wrong.unless(same, || format!("{name} is {found:?}, by its definition {expected}"));
    }
}

const FIRST_EDGES: &str = "0.05 0.1 0.2 0.25 0.5 0.75 1 1.5 2 2.25 3 4 5 7.5 10 20 30 60";
const DURATION_EDGES: &str = "0.5 1 2.5 5 10 15 30 45 60 120 300";
const HISTOGRAMS: [(&str, &str, &str); 12] = [
    ("llm_first_token_duration_seconds", "ttft", FIRST_EDGES),
    ("llm_rum_first_visible_duration_seconds", "ttfv", FIRST_EDGES),
    ("llm_rum_first_paint_duration_seconds", "ttfp", FIRST_EDGES),
    ("llm_rum_abandoned_wait_seconds", "abandoned_wait", FIRST_EDGES),
    ("llm_rum_server_first_token_duration_seconds", "server_ttft", FIRST_EDGES),
    ("llm_request_duration_seconds", "e2e", DURATION_EDGES),
    ("llm_rum_token_generation_seconds", "generation", DURATION_EDGES),
    ("llm_generation_duration_seconds", "engine_generation", DURATION_EDGES),
    ("llm_rum_server_queue_seconds", "server_queue", "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30 60"),
    (
        "llm_rum_output_tokens_per_second",
        "output_rate",
        "1 2 5 10 12.5 15 20 30 40 50 60 80 100 150 200 500 1000",
    ),
    ("llm_rum_first_token_overhead_seconds", "overhead", "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30"),
    (
        "llm_rum_time_per_output_token_seconds",
        "tpot",
        "0.005 0.01 0.015 0.02 0.03 0.04 0.06 0.08 0.1 0.2 0.5 1",
    ),
];
