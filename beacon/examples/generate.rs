//! Writes what is generated from the table of report fields: TypeScript types and tables of the docs. Run by
//! `cargo xtask generate`. Its test fails if a file is not up to date.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use beacon::{
    Defect, Field, MAX_ATTRIBUTE_BYTES, MAX_ATTRIBUTES, MAX_MARKS, Mark, NameShape, Rule, StreamReport,
};

fn main() {
    for (path, new) in stale() {
        fs::write(&path, new).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
}

/// The files that are not up to date, each with its new content.
fn stale() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = [
        ("probe-wasm/llm-rum.d.ts", TS_BEGIN, TS_END, types()),
        ("docs/report-fields.md", DOCS_BEGIN, DOCS_END, limits()),
        ("docs/privacy-fields.md", DOCS_BEGIN, DOCS_END, privacy()),
    ];
    let files = files.into_iter().filter_map(|(file, begin, end, text)| {
        let old =
            fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("cannot read {file}: {error}"));
        let new = replaced(&old, begin, end, &text).unwrap_or_else(|| panic!("{file} has no line `{begin}`"));
        (new != old).then(|| (root.join(file), new))
    });
    files.collect()
}

/// `old` with `text` between the two marker lines.
fn replaced(old: &str, begin: &str, end: &str, text: &str) -> Option<String> {
    let (before, rest) = old.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n{text}{end}{after}"))
}

/// The report and the types it uses.
fn types() -> String {
    let mut text = String::new();
    let defects: Vec<_> = Defect::ALL.iter().map(|defect| defect.as_str()).collect();
    let _ = writeln!(
        text,
        "/** Kinds of defects. */\nexport type Defect =\n  | {};\n",
        quoted(&defects, "\n  | ")
    );
    text.push_str(HISTOGRAM);
    text.push_str("/** A moment that the app named by `probe.mark()`. */\nexport interface Mark {\n");
    Mark::FIELDS.iter().for_each(|field| property(&mut text, field, "  "));
    text.push_str("}\n\n");
    text.push_str(
        "/** What the probe reports of one stream. Durations are milliseconds since the request. */\n",
    );
    text.push_str("export interface StreamReport {\n");
    for field in StreamReport::FIELDS.iter().filter(|field| !field.is_set_by_collector()) {
        property(&mut text, field, "  ");
    }
    text.push_str("}\n");
    text
}

fn property(text: &mut String, field: &Field, indent: &str) {
    let _ = writeln!(text, "{}", comment(field.about.trim(), indent));
    let mark = if field.required { "" } else { "?" };
    let _ = write!(text, "{indent}{}{mark}: ", field.name);
    match field.rule {
        Rule::Group(inner) => {
            text.push_str("{\n");
            inner.iter().for_each(|field| property(text, field, &format!("{indent}  ")));
            let _ = writeln!(text, "{indent}}};");
        }
        rule => {
            let _ = writeln!(text, "{};", type_of(rule));
        }
    }
}

fn type_of(rule: Rule) -> String {
    match rule {
        Rule::Milliseconds | Rule::Count(_) | Rule::Amount(_) | Rule::Between(..) | Rule::Share => {
            "number".to_owned()
        }
        Rule::Text(_) | Rule::OwnText(_) | Rule::Name(_) | Rule::Id | Rule::Visit | Rule::Collector => {
            "string".to_owned()
        }
        Rule::Word(words, _) => quoted(words, " | "),
        Rule::Flag => "boolean".to_owned(),
        Rule::Histogram => "Histogram".to_owned(),
        Rule::Defects => "Partial<Record<Defect, number>>".to_owned(),
        Rule::Marks => "Mark[]".to_owned(),
        Rule::Attributes => "Record<string, string>".to_owned(),
        Rule::Group(_) => unreachable!("a group has properties of its own"),
    }
}

fn quoted(words: &[&str], between: &str) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(between)
}

/// A comment of lines up to 120 columns.
fn comment(text: &str, indent: &str) -> String {
    let line = format!("{indent}/** {text} */");
    if line.len() <= MAX_COLUMNS {
        return line;
    }
    let mut lines = format!("{indent}/**");
    let mut room = 0;
    for word in text.split_whitespace() {
        if room < word.len() + 1 {
            let _ = write!(lines, "\n{indent} *");
            room = MAX_COLUMNS - indent.len() - 2;
        }
        let _ = write!(lines, " {word}");
        room = room.saturating_sub(word.len() + 1);
    }
    format!("{lines}\n{indent} */")
}

/// The fields that take the same values, a row each.
fn limits() -> String {
    rows("| fields | may be |\n| --- | --- |\n", |field| match field.rule {
        Rule::Group(_) => Some("ignored: only the backend may send it".to_owned()),
        rule => Some(may_be(rule)),
    })
}

/// The fields that tell the same, a row each.
fn privacy() -> String {
    rows("| field | what it is and why it is sent |\n| --- | --- |\n", |field| Some(field.privacy.to_owned()))
}

/// A table whose rows hold the fields with the same text, in the order of their first.
fn rows(head: &str, text_of: impl Fn(&Field) -> Option<String>) -> String {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    each(StreamReport::FIELDS, "", &mut |path, field| {
        let Some(text) = text_of(field) else { return };
        match rows.iter_mut().find(|(known, _)| *known == text) {
            Some((_, fields)) => fields.push(format!("`{path}`")),
            None => rows.push((text, vec![format!("`{path}`")])),
        }
    });
    let rows = rows.iter().map(|(text, fields)| format!("| {} | {text} |\n", fields.join(" ")));
    head.to_owned() + &rows.collect::<String>()
}

/// Every field that holds a value or that the collector sets, with its path.
fn each(fields: &'static [Field], outer: &str, visit: &mut dyn FnMut(&str, &'static Field)) {
    for field in fields {
        let path = format!("{outer}{}", field.name);
        match field.rule {
            Rule::Group(inner) if !field.is_set_by_collector() => each(inner, &format!("{path}."), visit),
            _ => visit(&path, field),
        }
    }
}

fn may_be(rule: Rule) -> String {
    match rule {
        Rule::Milliseconds => format!("0 to {}", beacon::MAX_MS),
        Rule::Count(most) => format!("0 to {most}"),
        Rule::Amount(most) => format!("0 to {most}, others are lowered"),
        Rule::Between(least, most) if least == most => least.to_string(),
        Rule::Between(least, most) => format!("{least} to {most}"),
        Rule::Share => "greater than 0 and at most 1".to_owned(),
        Rule::Text(longest) => format!("up to {longest} bytes"),
        Rule::OwnText(longest) => format!("up to {longest} bytes, others are dropped"),
        Rule::Name(shape) => format!("a name, at most {} bytes", shape.max_bytes()),
        Rule::Word(words, others) => {
            let words = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ");
            if others { format!("{words}; any other word counts as the last") } else { words }
        }
        Rule::Flag => "`true` or `false`".to_owned(),
        Rule::Id => "32 hexadecimal digits".to_owned(),
        Rule::Visit => "at most 16 hexadecimal digits".to_owned(),
        Rule::Collector => "ignored: the site key selects it".to_owned(),
        Rule::Histogram => "at most as many gaps as `chunks`, scale 5, together at most 24 hours".to_owned(),
        Rule::Defects => "counts from 0 to 4294967295 by name of a defect".to_owned(),
        Rule::Marks => format!(
            "a list of at most {MAX_MARKS}: `name`, {}, and `at_ms`, {}",
            may_be(Rule::Name(NameShape::MARK)),
            may_be(Rule::Milliseconds)
        ),
        Rule::Attributes => format!(
            "at most {MAX_ATTRIBUTES} texts, by the keys of the site's configuration: up to {MAX_ATTRIBUTE_BYTES} \
             letters, digits and `._-`, at most eight of them digits; others are dropped"
        ),
        Rule::Group(_) => String::new(),
    }
}

const MAX_COLUMNS: usize = 120;
const TS_BEGIN: &str = "// Generated from beacon/src/report.rs by `cargo xtask generate`.";
const TS_END: &str = "// End of the generated part.";
const DOCS_BEGIN: &str = "<!-- Generated from beacon/src/report.rs by `cargo xtask generate`. -->";
const DOCS_END: &str = "<!-- End of the generated part. -->";
const HISTOGRAM: &str = "\
/** Base-2 exponential histogram of milliseconds: `counts[i]` belongs to bucket `offset + i`. */
export interface Histogram {
  scale: number;
  offset: number;
  counts: number[];
  zero?: number;
  sum: number;
}

";

#[test]
fn generated_files_are_up_to_date() {
    let stale: Vec<_> = stale().into_iter().map(|(path, _)| path).collect();
    assert!(stale.is_empty(), "run `cargo xtask generate`: {stale:?}");
}
