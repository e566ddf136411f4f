//! Writes the dashboard's lists of metrics and dimensions. With `--check` it writes nothing and fails if a file is not
//! up to date. Run by `cargo xtask generate` and `check`.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use collector::{METRICS, MetricDefinition, MetricLabels, dimension_names};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/src/api");
    let check = env::args().any(|argument| argument == "--check");
    for (file, new) in [("metrics.ts", metrics()), ("dimensions.ts", dimensions())] {
        let path = folder.join(file);
        let old = fs::read_to_string(&path).unwrap_or_default();
        assert!(!check || new == old, "{} is not up to date, run `cargo xtask generate`", path.display());
        if new != old {
            fs::write(&path, new).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        }
    }
}

fn dimensions() -> String {
    let names: Vec<_> = dimension_names().map(|name| format!("\"{name}\"")).collect();
    format!(
        "/** Generated from collector/src/aggregate/dimension.rs by `cargo xtask generate`. */

/** Dimensions that filter and group every query. */
export const DIMENSIONS = [{}] as const;
export type Dimension = (typeof DIMENSIONS)[number];
",
        names.join(", ")
    )
}

fn metrics() -> String {
    let mut text = HEAD.to_owned();
    let selectable = || METRICS.iter().filter_map(|metric| Some((metric, metric.labels.as_ref()?)));
    let ids = selectable().map(|(metric, _)| metric.id);
    list(&mut text, "All metrics, in the order of the selector.", "METRICS", ids);
    text.push_str("\nexport type Metric = (typeof METRICS)[number];\n\n");
    let waits = selectable().filter(|(metric, _)| metric.has_censored_waits()).map(|(metric, _)| metric.id);
    list(&mut text, "Metrics with censored waits.", "WAIT_METRICS", waits);
    text.push_str("\nexport type WaitMetric = (typeof WAIT_METRICS)[number];\n");
    text.push_str(LABELS);
    selectable().for_each(|(metric, labels)| entry(&mut text, metric, labels));
    text.push_str("};\n");
    text
}

fn list(text: &mut String, about: &str, name: &str, ids: impl Iterator<Item = &'static str>) {
    let ids = ids.map(|id| format!("  \"{id}\",\n")).collect::<String>();
    let _ = write!(text, "/** {about} */\nexport const {name} = [\n{ids}] as const;\n");
}

fn entry(text: &mut String, metric: &MetricDefinition, labels: &MetricLabels) {
    let mut phrase = labels.title.to_owned();
    phrase[..1].make_ascii_lowercase();
    let _ = writeln!(text, "  {}: {{\n    unit: {:?},", metric.id, metric.unit.suffix());
    let properties =
        [("short", labels.short), ("title", labels.title), ("phrase", &phrase), ("meaning", labels.meaning)];
    for (name, value) in properties.into_iter().chain(labels.requirement.map(|value| ("requirement", value)))
    {
        let _ = writeln!(text, "    {name}: {value:?},");
    }
    text.push_str("  },\n");
}

const HEAD: &str = "// Generated from collector/src/aggregate/metric.rs by `cargo xtask generate`.\n\n";
const LABELS: &str = "
export interface MetricLabels {
  /** End of the names of its fields, such as `p50_ms`. */
  unit: \"ms\" | \"output_tokens_per_second\";
  /** Label in the selector. */
  short: string;
  /** Heading. */
  title: string;
  /** Inside a sentence. */
  phrase: string;
  /** Tooltip. */
  meaning: string;
  /** Requirement of a metric that pages do not measure by default. */
  requirement?: string;
}

export const METRIC_LABELS: Record<Metric, MetricLabels> = {
";
