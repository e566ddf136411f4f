//! Translates serde's messages about a field into words for operators.

use crate::config::error::{Mistake, SourceLocation};

/// Turns serde's message about a field into a problem and a remedy.
pub(super) fn explain(place: Option<SourceLocation>, field: &str, message: &str) -> Mistake {
    let known = message.split_once("expected ").map(|(_, known)| known);
    let (problem, remedy) = if message.starts_with("unknown field") {
        let wrong = field.rsplit(['.', ']']).next().unwrap_or(field);
        ("is not a known field".to_owned(), closest(wrong, known.unwrap_or_default()))
    } else if let Some(missing) = message.strip_prefix("missing field ") {
        (format!("has no {missing}"), "add it".to_owned())
    } else if field == "sites" && message.contains("map") {
        ("is a table, not a list".to_owned(), "write `[[sites]]` in double brackets".to_owned())
    } else if message.contains("socket address") {
        ("is not a valid address".to_owned(), "write one with its port, such as `127.0.0.1:8787`".to_owned())
    } else if message.starts_with("wanted ") {
        ("is not text".to_owned(), "write one of the words in docs/configuration.md, in quotes".to_owned())
    } else if field == "otlp.headers" {
        ("is not a table".to_owned(), "write it as `{ authorization = \"Bearer …\" }`".to_owned())
    } else if field.starts_with("notify") && !field.contains('.') {
        ("is not a list of tables".to_owned(), "write `[[notify]]` in double brackets".to_owned())
    } else if field == "engines" {
        ("is not a list of tables".to_owned(), "write `[[engines]]` in double brackets".to_owned())
    } else if is_token(field) {
        (
            "is not a list of tables".to_owned(),
            "write `[[tokens]]` with `name` and `token` below it".to_owned(),
        )
    } else if is_secret(field) {
        ("is not text".to_owned(), "put it in quotes".to_owned())
    } else if let Some(known) = known {
        let reason = message.split(", expected").next().unwrap_or(message);
        let reason = match reason {
            "invalid type: sequence" => "it is a list".to_owned(),
            "invalid type: map" => "it is a table".to_owned(),
            reason => in_a_line(reason),
        };
        (format!("is not valid: {reason}"), format!("write {}", in_words(known)))
    } else {
        let (reason, remedy) =
            message.split_once(": write").unwrap_or((message, " it as docs/configuration.md describes"));
        (format!("is not valid: {}", in_a_line(reason)), format!("write{remedy}"))
    };
    Mistake { place, field: field.to_owned(), problem, remedy, beside: Vec::new() }
}

/// The field that an unknown one was probably meant to be.
pub(super) fn meant(field: &str, message: &str) -> Option<String> {
    let (above, wrong) = field.split_at(field.rfind(['.', ']']).map_or(0, |at| at + 1));
    let (_, known) = message.strip_prefix("unknown field")?.split_once("expected ")?;
    near(wrong, known).map(|name| format!("{above}{name}"))
}

/// Fields whose values are never printed, not even if they are wrong.
pub(super) fn is_secret(field: &str) -> bool {
    if let Some(inside) = field.strip_prefix("notify") {
        // Anything else may be an address, which is a secret.
        return !["kind", "on", "sites", "quiet", "from", "to"]
            .iter()
            .any(|name| inside.split(['.', '[']).any(|part| part == *name));
    }
    let is_of_token = field.starts_with("tokens[") && field.ends_with("].token");
    is_of_token
        || field.starts_with("sites[") && field.ends_with("].signing_key")
        || ["store.clickhouse.password", "otlp.headers."].iter().any(|secret| field.starts_with(secret))
}

/// The list of tokens or one of its items. An operator may have written the secrets without their tables.
fn is_token(field: &str) -> bool {
    field == "tokens" || field.starts_with("tokens[") && field.ends_with(']') && !field.contains("].")
}

/// Remedy for an unknown field: the known one that was probably meant, else the list
/// `known`, as in `` `a`, `b` ``.
fn closest(wrong: &str, known: &str) -> String {
    match near(wrong, known) {
        Some(name) => format!("write `{name}`"),
        None => format!("remove it; known fields are {}", known.trim_start_matches("one of ")),
    }
}

/// The most similar name, if it differs by one or two typing errors.
fn near<'a>(wrong: &str, known: &'a str) -> Option<&'a str> {
    let names = known.split('`').skip(1).step_by(2);
    let best = names.map(|name| (strsim::damerau_levenshtein(wrong, name), name)).min();
    best.filter(|(steps, _)| *steps <= 2).map(|(_, name)| name)
}

/// serde's names of types, in an operator's words.
fn in_words(expected: &str) -> &str {
    match expected {
        "usize" | "u16" | "u32" | "u64" => "a whole number",
        "f64" => "a number",
        "a string" | "path string" => "text in quotes",
        "a sequence" => "a list",
        "a boolean" => "`true` or `false`",
        "a map" => "a table",
        // The name of a type follows.
        table if table.starts_with("struct ") => "a table with the fields in docs/configuration.md",
        other => other,
    }
}

pub(super) fn in_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
