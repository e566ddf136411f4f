//! Writes the dashboard's lists of metrics, dimensions and terms, its types of the API's responses, and the docs' table
//! of query parameters. Run by `cargo xtask generate`. Its test fails if a file is not up to date.

mod typescript;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use collector::{
    METRICS, MetricDefinition, MetricLabels, dimension_names, openapi_document, stream_dimension_names,
};

fn main() {
    for (path, new) in stale() {
        fs::write(&path, new).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
}

/// The files that are not up to date, each with its new content.
fn stale() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files: [(&str, Update); 5] = [
        ("www/src/api/metrics.ts", |_| metrics()),
        ("www/src/api/dimensions.ts", |_| dimensions()),
        ("www/src/api/glossary.ts", |_| glossary()),
        ("www/src/api/schemas.ts", |_| schemas()),
        ("docs/query-parameters.md", query_api),
    ];
    let files = files.into_iter().filter_map(|(file, update)| {
        let old = fs::read_to_string(root.join(file)).unwrap_or_default();
        let new = update(&old);
        (new != old).then(|| (root.join(file), new))
    });
    files.collect()
}

fn dimensions() -> String {
    let stored: Vec<_> = dimension_names().map(|name| format!("\"{name}\"")).collect();
    let of_streams: Vec<_> = stream_dimension_names().map(|name| format!("  \"{name}\",\n")).collect();
    format!(
        "/** Generated from collector/src/aggregate by `cargo xtask generate`. */

/** Dimensions by which windows are kept. */
export const WINDOW_DIMENSIONS = [{}] as const;

/** Dimensions that only single streams have. */
export const STREAM_DIMENSIONS = [
{}] as const;

/** Those that every site has: each filters every query, and the breakdown groups by it. */
export const DIMENSIONS = [...WINDOW_DIMENSIONS, ...STREAM_DIMENSIONS] as const;

/** A dimension that the app names. */
export type Attribute = `attribute.${{string}}`;
export type Dimension = (typeof DIMENSIONS)[number] | Attribute;
",
        stored.join(", "),
        of_streams.concat()
    )
}

/// The terms that the dashboard shows. Tables with another head are left out: of internal terms, and of metrics, whose
/// labels are in `metrics.ts`.
fn glossary() -> String {
    let tables = GLOSSARY.split("| term | meaning |\n| --- | --- |\n").skip(1);
    let rows =
        tables.flat_map(|table| table.lines().map_while(|line| line.strip_prefix("| ")?.strip_suffix(" |")));
    let rows = rows.map(|row| {
        let (term, meaning) = row.split_once(" | ").unwrap_or_else(|| panic!("no term and meaning: {row}"));
        [term, meaning].map(|text| text.replace('`', ""))
    });
    let rows = rows.map(|[term, meaning]| format!("  {term:?}: {meaning:?},\n"));
    format!(
        "{GLOSSARY_HEAD}{}}} as const;\n\nexport type Term = keyof typeof GLOSSARY;\n",
        rows.collect::<String>()
    )
}

fn schemas() -> String {
    let document: Value = openapi_document();
    let part =
        |path| document.pointer(path).and_then(Value::as_object).expect("an OpenAPI document has this part");
    let responses = typescript::responses(part("/paths"));
    format!("{SCHEMAS_HEAD}{}{responses}", typescript::declarations(part("/components/schemas")))
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
    let _ = writeln!(text, "  {}: {{\n    unit: {:?},", metric.id, metric.unit.suffix());
    let properties = [
        ("short", labels.short),
        ("title", labels.title),
        ("meaning", labels.meaning),
        ("source", labels.source.as_str()),
    ];
    for (name, value) in properties.into_iter().chain(labels.requirement.map(|value| ("requirement", value)))
    {
        let _ = writeln!(text, "    {name}: {value:?},");
    }
    text.push_str("  },\n");
}

/// Makes the new content of a file from the old one.
type Update = fn(&str) -> String;

/// The page `old` with a new table of parameters.
fn query_api(old: &str) -> String {
    let parts =
        old.split_once(DOCS_BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(DOCS_END)?)));
    let (before, (_, after)) =
        parts.unwrap_or_else(|| panic!("docs/query-parameters.md has no line `{DOCS_BEGIN}`"));
    format!("{before}{DOCS_BEGIN}\n{}{DOCS_END}{after}", parameters(&openapi_document()))
}

/// A row for each query parameter. Parameters that differ on a few routes have a row more, which names those.
fn parameters(document: &Value) -> String {
    let mut rows: Vec<(&Value, Vec<&str>)> = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("a document has paths") {
        let parameters = methods["get"]["parameters"].as_array().into_iter().flatten();
        for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
            match rows.iter_mut().find(|(known, _)| *known == parameter) {
                Some((_, routes)) => routes.push(path),
                None => rows.push((parameter, vec![path])),
            }
        }
    }
    let most_routes = |name: &Value| {
        let same = rows.iter().filter(|(parameter, _)| parameter["name"] == *name);
        same.map(|(_, routes)| routes.len()).max()
    };
    let is_usual =
        |(parameter, routes): &(&Value, Vec<&str>)| most_routes(&parameter["name"]) == Some(routes.len());
    let (usual, special): (Vec<_>, Vec<_>) = rows.iter().partition(|row| is_usual(row));
    let mut text = "| parameter | values | meaning |\n| --- | --- | --- |\n".to_owned();
    usual.into_iter().for_each(|(parameter, _)| row(&mut text, parameter, ""));
    for (parameter, routes) in special {
        row(&mut text, parameter, &format!(" of `{}`", routes.join("` `")));
    }
    text
}

fn row(text: &mut String, parameter: &Value, routes: &str) {
    let word = |value: &Value| value.as_str().expect("a text").to_owned();
    let (name, about) = (word(&parameter["name"]), word(&parameter["description"]));
    let _ = writeln!(text, "| `{name}`{routes} | {} | {about} |", values(&parameter["schema"]));
}

fn values(schema: &Value) -> String {
    let default = &schema["default"];
    let words = schema["enum"].as_array().or_else(|| schema["items"]["enum"].as_array());
    if let Some(words) = words {
        let words = words.iter().map(|word| (word, word.as_str().expect("a text")));
        // Below the table is what `!` means.
        let words = words.filter(|(_, text)| !text.starts_with('!')).map(|(word, text)| {
            let is_default = word == default || default.as_array().is_some_and(|list| list.contains(word));
            format!("`{text}`{}", if is_default { " (default)" } else { "" })
        });
        return words.collect::<Vec<_>>().join(" ");
    }
    if schema["type"] != "integer" {
        return "text".to_owned();
    }
    let multiple = match &schema["multipleOf"] {
        step if *step == 1 => String::new(),
        step => format!("multiples of {step} from "),
    };
    let default = if default.is_null() { String::new() } else { format!(", default {default}") };
    format!("{multiple}{} to {}{default}", schema["minimum"], schema["maximum"])
}

const DOCS_BEGIN: &str =
    "<!-- Generated from collector/src/api/request/params.rs by `cargo xtask generate`. -->";
const DOCS_END: &str = "<!-- End of the generated part. -->";
const HEAD: &str = "// Generated from collector/src/aggregate/metric.rs by `cargo xtask generate`.\n\n";
const GLOSSARY: &str = include_str!("../../../docs/glossary.md");
const GLOSSARY_HEAD: &str = "\
// Generated from docs/glossary.md by `cargo xtask generate`.

/** Meaning of each term. */
export const GLOSSARY = {
";
const SCHEMAS_HEAD: &str = "\
/**
 * Types of the responses of the `/v1` routes. Times are Unix milliseconds; an absent value is not known. Generated from
 * `/openapi.json` by `cargo xtask generate`.
 */
";
const LABELS: &str = "
export interface MetricLabels {
  /** End of the names of its fields, such as `p50_ms`. */
  unit: \"ms\" | \"output_tokens_per_second\";
  /** Label in the selector. */
  short: string;
  /** Heading. */
  title: string;
  /** Tooltip. */
  meaning: string;
  /** Where it is measured. */
  source: string;
  /** Requirement of a metric that pages do not measure by default. */
  requirement?: string;
}

export const METRIC_LABELS: Record<Metric, MetricLabels> = {
";

#[test]
fn generated_files_are_up_to_date() {
    let stale: Vec<_> = stale().into_iter().map(|(path, _)| path).collect();
    assert!(stale.is_empty(), "run `cargo xtask generate`: {stale:?}");
}
