//! TypeScript types from the OpenAPI document.

use serde_json::{Map, Value};

/// An exported type for each schema.
pub(crate) fn declarations(schemas: &Map<String, Value>) -> String {
    schemas.iter().map(|(name, schema)| format!("\n{}", declaration(name, schema))).collect()
}

/// The response type of each route that responds with JSON. Routes are without their first slash, as a page below a
/// reverse proxy's path requests them.
pub(crate) fn responses(paths: &Map<String, Value>) -> String {
    let responses = paths.iter().filter_map(|(path, methods)| {
        let schema = &methods["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        schema.is_object().then(|| format!("  \"{}\": {};\n", &path[1..], type_of(schema, "  ")))
    });
    format!(
        "\n/** Response of each route. */\nexport interface Responses {{\n{}}}\n",
        responses.collect::<String>()
    )
}

fn declaration(name: &str, schema: &Value) -> String {
    let about = comment(schema, "");
    if schema["properties"].is_object() {
        return format!("{about}export interface {name} {}\n", object(schema, ""));
    }
    let line = format!("export type {name} = {};", type_of(schema, ""));
    let line =
        if line.len() <= MAX_COLUMNS { line } else { line.replace("= ", "= | ").replace(" | ", "\n  | ") };
    format!("{about}{line}\n")
}

/// The type of a value. `indent` is that of the line where it begins.
fn type_of(schema: &Value, indent: &str) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    if schema["const"].is_string() {
        return schema["const"].to_string();
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return choices.iter().map(|choice| type_of(choice, indent)).collect::<Vec<_>>().join(" | ");
    }
    let names =
        schema["type"].as_array().map_or_else(|| vec![&schema["type"]], |names| names.iter().collect());
    names.into_iter().map(|name| named_type(name, schema, indent)).collect::<Vec<_>>().join(" | ")
}

fn named_type(name: &Value, schema: &Value, indent: &str) -> String {
    match name.as_str() {
        Some("integer" | "number") => "number".to_owned(),
        Some(name @ ("string" | "boolean" | "null")) => name.to_owned(),
        Some("array") => match type_of(&schema["items"], indent) {
            items if items.contains(' ') => format!("({items})[]"),
            items => format!("{items}[]"),
        },
        Some("object") if schema["properties"].is_object() => object(schema, indent),
        Some("object") => format!("Record<string, {}>", type_of(&schema["additionalProperties"], indent)),
        _ => panic!("no TypeScript for {schema}"),
    }
}

fn object(schema: &Value, outer: &str) -> String {
    let indent = format!("{outer}  ");
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let properties = schema["properties"].as_object().into_iter().flatten().map(|(name, property)| {
        let mark = if required.contains(&Value::from(name.as_str())) { "" } else { "?" };
        let kind = type_of(property, &indent);
        let line = format!("{indent}{name}{mark}: {kind};");
        let is_long_union = line.len() > MAX_COLUMNS && !kind.contains('\n');
        let next = format!("\n{indent}  | ");
        let line = if is_long_union {
            format!("{indent}{name}{mark}:{next}{};", kind.replace(" | ", &next))
        } else {
            line
        };
        format!("{}{line}\n", comment(property, &indent))
    });
    format!("{{\n{}{outer}}}", properties.collect::<String>())
}

/// The description of a schema in lines of up to 120 columns.
fn comment(schema: &Value, indent: &str) -> String {
    let Some(text) = schema["description"].as_str() else { return String::new() };
    let words: Vec<_> = text.split_whitespace().collect();
    let line = format!("{indent}/** {} */", words.join(" "));
    if line.len() <= MAX_COLUMNS {
        return format!("{line}\n");
    }
    let mut lines = vec![format!("{indent} *")];
    for word in words {
        if lines.last().is_some_and(|line| line.len() + 1 + word.len() > MAX_COLUMNS) {
            lines.push(format!("{indent} *"));
        }
        let last = lines.last_mut().expect("there is a line");
        last.extend([" ", word]);
    }
    format!("{indent}/**\n{}\n{indent} */\n", lines.join("\n"))
}

const MAX_COLUMNS: usize = 120;
