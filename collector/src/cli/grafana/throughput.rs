//! The row with tokens and requests per second.

use super::panel::{Panel, Section, asked, gauge, lines, stat};
use super::promql::{percentiles, quantile, rate};
use super::targets::target_lines;
use crate::aggregate::metric::Metric;
use crate::config::Config;
use crate::export::prometheus::names;

pub(super) fn section(config: &Config) -> Section {
    Section { title: "Throughput", is_collapsed: false, panels: panels(config) }
}

fn panels(config: &Config) -> Vec<Panel> {
    let (requests, output, input) =
        (rate(names::REQUESTS, ""), rate(names::TOKENS, ""), rate(names::INPUT_TOKENS, ""));
    let median = asked(quantile(0.5, Metric::OutputRate.export(), ""), "median");
    let mut rates = percentiles(Metric::OutputRate, "use_case");
    rates.extend(target_lines(config, Metric::OutputRate));
    let with_usage =
        format!("sum by (model) ({}) / sum by (model) ({requests})", rate(names::WITH_USAGE, ""));
    let by_model = |expr: &str| vec![asked(format!("sum by (model) ({expr})"), "{{model}}")];
    vec![
        gauge("Output tokens per second of a stream, median", TOKENS_PER_SECOND, 6, median)
            .bounded("red", speed_colours(config))
            .about("After the first token. The colours change at the reading speeds."),
        stat("Output tokens per second, all streams", TOKENS_PER_SECOND, 6, vec![total(&output, "output")])
            .about(COVERAGE),
        stat("Input tokens per second, all streams", TOKENS_PER_SECOND, 6, vec![total(&input, "input")])
            .about(COVERAGE),
        stat("Requests per second", "reqps", 6, vec![total(&requests, "requests")]),
        lines("Output tokens per second of a stream", TOKENS_PER_SECOND, 12, rates)
            .about("The slow end is the low one: 5 % of the streams are slower than p5."),
        slower_than_reading(config),
        lines("Output tokens per second, all streams", TOKENS_PER_SECOND, 8, by_model(&output))
            .about(COVERAGE),
        lines("Input tokens per second, all streams", TOKENS_PER_SECOND, 8, by_model(&input)).about(COVERAGE),
        lines("Streams with a token count", "percentunit", 8, vec![asked(with_usage, "{{model}}")])
            .about("Where it is below 100 %, the true token rates are higher."),
    ]
}

fn total(rate: &str, legend: &str) -> super::panel::Question {
    asked(format!("sum({rate})"), legend)
}

fn slower_than_reading(config: &Config) -> Panel {
    let export = Metric::OutputRate.export();
    let (mut questions, mut left_out) = (Vec::new(), String::new());
    for speed in &config.reading_speeds {
        if !export.edges.contains(speed) {
            left_out += &format!(" Left out: {speed} tokens/s is not the edge of a bucket.");
            continue;
        }
        let below = rate(&format!("{}_bucket", export.prometheus), &format!(",le=~\"{}\"", edge(*speed)));
        let all = rate(&format!("{}_count", export.prometheus), "");
        let share = format!("sum by (use_case) ({below}) / sum by (use_case) ({all})");
        questions.push(asked(share, &format!("{{{{use_case}}}} ≤ {speed} tokens/s")));
    }
    if questions.is_empty() {
        questions.push(asked("vector(NaN)".to_owned(), "no reading speed"));
    }
    lines("Streams no faster than reading", "percentunit", 12, questions)
        .about(&format!("Share of the streams with an output rate up to a reading speed.{left_out}"))
}

/// Prometheus 3 writes `5.0` where earlier versions wrote `5`.
fn edge(value: f64) -> String {
    let text = value.to_string();
    if text.contains('.') { text.replace('.', "\\\\.") } else { format!("{text}(\\\\.0)?") }
}

/// Red below the lowest reading speed, green from the highest on.
fn speed_colours(config: &Config) -> Vec<(f64, &'static str)> {
    let mut speeds = config.reading_speeds.clone();
    speeds.sort_by(f64::total_cmp);
    let highest = speeds.len().saturating_sub(1);
    let colour = |at: usize| if at == highest { "green" } else { "orange" };
    speeds.iter().enumerate().map(|(at, speed)| (*speed, colour(at))).collect()
}

/// Grafana has no unit of tokens.
pub(super) const TOKENS_PER_SECOND: &str = "suffix: tokens/s";

const COVERAGE: &str = "As counted by providers. Streams without a count add nothing.";
