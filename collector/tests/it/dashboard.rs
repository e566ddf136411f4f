//! The dashboard's own account of the answers against `/openapi.json`: a field that is renamed, moved or may
//! be absent is one here and there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use beacon::{Observed, StreamReport};
use serde_json::Value;

use crate::harness::TestCollector;

#[tokio::test]
async fn api_answers_have_every_field_that_the_dashboard_reads() {
    let document = TestCollector::new().json("/openapi.json").await;
    let types = Types::read(&www("api/api-types.ts"));
    let asked = asked(&www("api/client.ts"));
    assert!(asked.len() >= 10, "the requests are found: {asked:?}");
    for (route, name) in asked {
        let schema =
            &document["paths"][&route]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{route} is described");
        let mut answer = described(schema, &document);
        put_reports(&mut answer);
        check(&name, &types.shape(&name), &answer);
    }
}

#[test]
fn fields_that_answers_may_lack_are_found() {
    let types = Types::read("export interface A { n: number; of: { t: number; may?: string | null }[] }");
    let schema = |required: &str, may: &str| {
        let of = format!(r#"{{"required":["t"],"properties":{{"t":{{}},"{may}":{{}}}}}}"#);
        let json = format!(
            r#"{{"required":{required},"properties":{{"n":{{}},"of":{{"type":"array","items":{of}}}}}}}"#
        );
        described(&serde_json::from_str(&json).unwrap(), &Value::Null)
    };
    let differences = |answer| differences("A", &types.shape("A"), &answer);
    assert_eq!(differences(schema(r#"["n","of"]"#, "may")), [""; 0]);
    assert_eq!(differences(schema(r#"["of"]"#, "may")), ["A.n may be absent"]);
    assert_eq!(differences(schema(r#"["n","of"]"#, "might")), ["A.of[].may is in no answer"]);
}

/// What an answer, or a part of one, is made of.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Object(BTreeMap<String, Field>),
    List(Box<Self>),
    /// A number, a word, or an object whose keys are data.
    Other,
}

#[derive(Debug, Clone, PartialEq)]
struct Field {
    may_be_absent: bool,
    shape: Shape,
}

fn check(name: &str, read: &Shape, answer: &Shape) {
    let differences = differences(name, read, answer);
    assert!(differences.is_empty(), "{differences:#?}");
}

fn differences(at: &str, read: &Shape, answer: &Shape) -> Vec<String> {
    match (read, answer) {
        (Shape::List(read), Shape::List(answer)) => differences(&format!("{at}[]"), read, answer),
        (Shape::Object(read), Shape::Object(answer)) => read
            .iter()
            .flat_map(|(name, field)| {
                let at = format!("{at}.{name}");
                match answer.get(name) {
                    None => vec![format!("{at} is in no answer")],
                    Some(told) if told.may_be_absent && !field.may_be_absent => {
                        vec![format!("{at} may be absent")]
                    }
                    Some(told) => differences(&at, &field.shape, &told.shape),
                }
            })
            .collect(),
        (Shape::Other, _) => Vec::new(),
        _ => vec![format!("{at} is something else")],
    }
}

/// By a schema of the document.
fn described(schema: &Value, document: &Value) -> Shape {
    if let Some(reference) = schema["$ref"].as_str() {
        return described(document.pointer(&reference[1..]).expect("what is referred to is there"), document);
    }
    if let Some(either) = schema["anyOf"].as_array() {
        let some = either.iter().find(|schema| schema["type"] != "null").expect("not only null");
        return described(some, document);
    }
    if schema["items"].is_object() {
        return Shape::List(Box::new(described(&schema["items"], document)));
    }
    let Some(properties) = schema["properties"].as_object() else { return Shape::Other };
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let field = |(name, schema): (&String, &Value)| {
        let is_null = |schema: &Value| schema["type"] == "null";
        let may_be_null = schema["type"].as_array().is_some_and(|types| types.iter().any(|it| it == "null"))
            || schema["anyOf"].as_array().is_some_and(|either| either.iter().any(is_null));
        let may_be_absent = may_be_null || !required.contains(&Value::from(name.as_str()));
        (name.clone(), Field { may_be_absent, shape: described(schema, document) })
    };
    Shape::Object(properties.iter().map(field).collect())
}

/// A report is described by its few sure fields: the rest is as in a report that has every field.
fn put_reports(answer: &mut Shape) {
    match answer {
        Shape::List(of) => put_reports(of),
        Shape::Object(fields) if fields.contains_key("received_ms") => {
            let full = include_str!("../../../beacon/tests/golden/v1-full.json");
            let full: StreamReport = serde_json::from_str(full).unwrap();
            let full = StreamReport { open: true, observed: Observed::Chunks, ..full };
            let Shape::Object(more) = exemplified(&serde_json::to_value(full).unwrap()) else {
                unreachable!()
            };
            for (name, field) in more {
                fields.entry(name).or_insert(field);
            }
        }
        Shape::Object(fields) => fields.values_mut().for_each(|field| put_reports(&mut field.shape)),
        Shape::Other => {}
    }
}

fn exemplified(value: &Value) -> Shape {
    if let Some(of) = value.as_array().and_then(|list| list.first()) {
        return Shape::List(Box::new(exemplified(of)));
    }
    let Some(fields) = value.as_object() else { return Shape::Other };
    let field = |(name, value): (&String, &Value)| {
        (name.clone(), Field { may_be_absent: false, shape: exemplified(value) })
    };
    Shape::Object(fields.iter().map(field).collect())
}

/// The interfaces of a file of TypeScript, by name: what they extend, and their bodies.
struct Types(BTreeMap<String, (Vec<String>, String)>);

impl Types {
    fn read(text: &str) -> Self {
        let mut types = BTreeMap::new();
        for declared in without_comments(text).split("export interface ").skip(1) {
            let (head, rest) = declared.split_once('{').unwrap();
            let (name, extended) = head.split_once(" extends ").unwrap_or((head, ""));
            let extended = extended.split(',').map(str::trim).filter(|name| !name.is_empty());
            let body = rest[..closing(rest)].to_owned();
            types.insert(name.trim().to_owned(), (extended.map(str::to_owned).collect(), body));
        }
        Self(types)
    }

    fn shape(&self, of: &str) -> Shape {
        let parts = split(of, '|');
        let [of] =
            parts.iter().filter(|part| !matches!(**part, "null" | "undefined")).collect::<Vec<_>>()[..]
        else {
            return Shape::Other;
        };
        if let Some(of) = of.strip_suffix("[]") {
            return Shape::List(Box::new(self.shape(of.trim())));
        }
        let mut fields = BTreeMap::new();
        for part in split(of, '&') {
            if let Some(body) = part.strip_prefix('{') {
                fields.extend(self.fields(&body[..closing(body)]));
            } else if let Some((extended, body)) = self.0.get(part) {
                for shape in extended.iter().map(|name| self.shape(name)) {
                    let Shape::Object(extended) = shape else { continue };
                    fields.extend(extended);
                }
                fields.extend(self.fields(body));
            }
        }
        if fields.is_empty() { Shape::Other } else { Shape::Object(fields) }
    }

    fn fields(&self, body: &str) -> BTreeMap<String, Field> {
        let declared = split(body, ';').into_iter().filter_map(|field| field.split_once(':'));
        declared
            .map(|(name, of)| {
                let may_be_absent = name.ends_with('?') || split(of, '|').contains(&"null");
                let name = name.trim_end_matches('?').trim().to_owned();
                (name, Field { may_be_absent, shape: self.shape(of.trim()) })
            })
            .collect()
    }
}

/// What is asked, as the dashboard's requests say it: route and type.
fn asked(text: &str) -> Vec<(String, String)> {
    let calls = text.split("get<").skip(1).filter_map(|call| call.split_once(">("));
    let calls = calls.filter(|(name, _)| name.chars().all(char::is_alphanumeric));
    calls
        .filter_map(|(name, rest)| {
            let quote = rest.trim_start().chars().next().filter(|quote| matches!(quote, '"' | '`'))?;
            let path = rest.trim_start()[1..].split(quote).next()?;
            let path = path.split_once("${").map_or(path.to_owned(), |(path, _)| format!("{path}{{id}}"));
            Some((format!("/{path}"), name.to_owned()))
        })
        .collect()
}

fn without_comments(text: &str) -> String {
    let pieces = text.split("/*").map(|piece| piece.split_once("*/").map_or(piece, |(_, code)| code));
    pieces.collect()
}

/// Where the brace closes that was open before the text.
fn closing(text: &str) -> usize {
    let mut depth = 1;
    let closes = text.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    closes.expect("braces close")
}

/// Outside of braces and brackets.
fn split(text: &str, at: char) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|c| {
        depth += i32::from(matches!(c, '{' | '<' | '(')) - i32::from(matches!(c, '}' | '>' | ')'));
        c == at && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn www(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/src").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
