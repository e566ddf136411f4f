//! The arguments of the tools: their JSON schemas, and the query parameters that they become.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::answer::quoted;
use crate::aggregate::dimension::dimension_names;
use crate::aggregate::stream_dimension::{ATTRIBUTE, stream_dimension_names};

/// Why arguments are refused: what is wrong, and what was expected.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ArgumentError {
    #[error("unknown argument {name}: the tool takes {expected}")]
    Unknown { name: String, expected: String },
    #[error("`{name}` must be {expected}")]
    Invalid { name: &'static str, expected: String },
}

/// An argument of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument {
    /// One of the words of the route's parameter of this name.
    Word(&'static str),
    /// A time as text. The route takes milliseconds.
    Time(&'static str),
    Site,
    Filters,
    GroupBy,
    Limit,
}

impl Argument {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Word(name) | Self::Time(name) => name,
            Self::Site => "site",
            Self::Filters => "filters",
            Self::GroupBy => "group_by",
            Self::Limit => "limit",
        }
    }

    /// JSON schema of the argument. `parameters` are those of the route in `/openapi.json`.
    pub(super) fn schema(self, parameters: &Value) -> Value {
        let text = json!({ "type": "string", "minLength": 1, "maxLength": MOST_CHARS });
        match self {
            Self::Word(name) => parameter(parameters, name),
            Self::Time(name) => {
                let about =
                    format!("`{name}` of the range, instead of `range`, such as 2026-11-27T10:00:00Z.");
                json!({ "type": "string", "format": "date-time", "maxLength": 40, "description": about })
            }
            Self::Site => described(text, "Only this site."),
            Self::Filters => json!({
                "type": "object",
                "description": "Only streams with these values. Several values of a dimension are alternatives; `!` \
                    before each excludes them. `attribute.KEY` is a dimension that the app names.",
                "propertyNames": { "anyOf": [{ "enum": filter_names() }, { "pattern": "^attribute\\." }] },
                "maxProperties": MOST_FILTERS,
                "additionalProperties": {
                    "anyOf": [text, { "type": "array", "items": text, "minItems": 1, "maxItems": MOST_VALUES }]
                },
            }),
            Self::GroupBy => json!({
                "type": "array", "minItems": 1, "maxItems": 2, "default": ["model"],
                "description": "One dimension to group by, or two for pairs of their values.",
                "items": { "anyOf": [{ "enum": dimensions() }, { "type": "string", "pattern": "^attribute\\." }] },
            }),
            Self::Limit => json!({
                "type": "integer", "minimum": 1, "maximum": MOST_GROUPS, "default": DEFAULT_GROUPS,
                "description": "Maximum number of groups; those with most streams come first.",
            }),
        }
    }

    /// The query parameters of a value.
    pub(super) fn parameters(self, value: &Value) -> Result<Vec<(String, String)>, ArgumentError> {
        let invalid =
            |expected: &str| ArgumentError::Invalid { name: self.name(), expected: expected.to_owned() };
        match self {
            Self::Word(name) => Ok(vec![(name.to_owned(), text(value).ok_or_else(|| invalid("a word"))?)]),
            Self::Time(name) => {
                let time = text(value).and_then(|text| text.parse::<Timestamp>().ok());
                let time = time.ok_or_else(|| invalid("a time such as 2026-11-27T10:00:00Z"))?;
                Ok(vec![(name.to_owned(), time.as_millisecond().to_string())])
            }
            Self::Site => {
                let site = text(value).ok_or_else(|| invalid("the name of a site"))?;
                Ok(vec![("site".to_owned(), site)])
            }
            Self::Filters => filters(value).ok_or_else(|| {
                let names = filter_names().join(", ");
                invalid(&format!(
                    "an object of at most {MOST_FILTERS} dimensions, each with a text or at most {MOST_VALUES} texts. \
                     Dimensions: {names}, attribute.KEY"
                ))
            }),
            Self::GroupBy => {
                let names = texts(value).filter(|names| names.len() <= 2);
                let names = names.ok_or_else(|| invalid("a list of one or two dimensions"))?;
                Ok(names.into_iter().map(|name| ("by".to_owned(), name)).collect())
            }
            Self::Limit => {
                let limit = value.as_u64().filter(|limit| (1..=MOST_GROUPS).contains(limit));
                let limit = limit.ok_or_else(|| invalid(&format!("a whole number from 1 to {MOST_GROUPS}")))?;
                Ok(vec![("limit".to_owned(), limit.to_string())])
            }
        }
    }
}

/// Query parameters of a call. `null` is the same as an absent argument.
pub(super) fn query(
    expected: &[Argument],
    given: &Map<String, Value>,
) -> Result<Vec<(String, String)>, ArgumentError> {
    let is_known = |name: &&String| expected.iter().any(|argument| argument.name() == **name);
    if let Some(name) = given.keys().find(|name| !is_known(name)) {
        let names: Vec<_> = expected.iter().map(|argument| argument.name()).collect();
        return Err(ArgumentError::Unknown { name: quoted(name), expected: names.join(", ") });
    }
    let mut query = Vec::new();
    for argument in expected {
        match given.get(argument.name()) {
            None | Some(Value::Null) => {
                // The collector's own default is more than an agent should read.
                query.extend(
                    (*argument == Argument::Limit).then(|| ("limit".into(), DEFAULT_GROUPS.to_string())),
                );
            }
            Some(value) => query.extend(argument.parameters(value)?),
        }
    }
    Ok(query)
}

fn parameter(parameters: &Value, name: &str) -> Value {
    let mut parameters = parameters.as_array().into_iter().flatten();
    let found = parameters.find(|parameter| parameter["name"] == name);
    let found = found.expect("the route has the parameter");
    described(found["schema"].clone(), found["description"].as_str().unwrap_or_default())
}

fn described(mut schema: Value, about: &str) -> Value {
    schema["description"] = about.into();
    schema
}

fn filters(value: &Value) -> Option<Vec<(String, String)>> {
    let filters = value.as_object().filter(|filters| filters.len() <= MOST_FILTERS)?;
    let known = filter_names();
    let mut query = Vec::new();
    for (name, value) in filters {
        if !(known.contains(&name.as_str()) || name.starts_with(ATTRIBUTE)) {
            return None;
        }
        let values = text(value).map(|text| vec![text]).or_else(|| texts(value))?;
        query.extend(values.into_iter().map(|value| (name.clone(), value)));
    }
    Some(query)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| (1..=MOST_CHARS).contains(&text.chars().count())).map(str::to_owned)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let values = value.as_array().filter(|values| (1..=MOST_VALUES).contains(&values.len()))?;
    values.iter().map(text).collect()
}

/// All dimensions that every collector has.
fn dimensions() -> Vec<&'static str> {
    dimension_names().chain(stream_dimension_names()).collect()
}

/// `site` has an argument of its own.
fn filter_names() -> Vec<&'static str> {
    let mut names = dimensions();
    names.retain(|name| *name != "site");
    names
}

const MOST_CHARS: usize = 200;
const MOST_FILTERS: usize = 8;
const MOST_VALUES: usize = 10;
const MOST_GROUPS: u64 = 40;
const DEFAULT_GROUPS: u64 = 12;
