//! JSON schemas that are not derived from a type.

use beacon::{Field, MAX_ATTRIBUTE_BYTES, MAX_ATTRIBUTES, MAX_MARKS, MAX_MS, Mark, Rule, StreamReport};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::aggregate::metric::{Metric, selectable};
use crate::api::answer::stream_phases::StreamPhase;
use crate::api::request::params::GroupBy;
use crate::rows::column::VISIT;

/// A stored report.
pub(crate) fn stream(generator: &mut SchemaGenerator) -> Schema {
    let phases = generator.subschema_for::<Vec<StreamPhase>>();
    named(generator, "StreamReport", stored_report(&phases))
}

/// The id of a metric that users can select.
pub(crate) fn metric(generator: &mut SchemaGenerator) -> Schema {
    let ids: Vec<_> = selectable().map(Metric::id).collect();
    named(generator, "Metric", json!({ "type": "string", "enum": ids }))
}

/// The id of a metric with censored waits.
pub(crate) fn wait_metric(generator: &mut SchemaGenerator) -> Schema {
    let waits = selectable().filter(|metric| metric.censored().is_some());
    let ids: Vec<_> = waits.map(Metric::id).collect();
    named(generator, "WaitMetric", json!({ "type": "string", "enum": ids }))
}

/// The name of a dimension that streams are grouped by.
pub(crate) fn group_by(generator: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = GroupBy::all().map(GroupBy::name).collect();
    named(generator, "GroupBy", json!({ "type": "string", "enum": names }))
}

/// Adds a schema to the document and refers to it.
pub(crate) fn named(generator: &mut SchemaGenerator, name: &str, schema: Value) -> Schema {
    generator.definitions_mut().insert(name.to_owned(), schema);
    Schema::new_ref(format!("#/components/schemas/{name}"))
}

/// The fields of the table in `beacon`, and those that the collector adds.
fn stored_report(phases: &Schema) -> Value {
    let mut schema = object(StreamReport::FIELDS);
    schema["properties"].as_object_mut().expect("it is an object").remove(VISIT);
    schema["properties"]["received_ms"] =
        json!({ "type": "integer", "description": "When the report arrived." });
    schema["properties"]["country"] =
        json!({ "type": "string", "description": "`unknown` if it is not known." });
    schema["properties"]["phases"] = json!(phases);
    schema["properties"]["phases"]["description"] =
        "The phases of the wait that the stream tells, in their order. \
        Absent without a first token."
            .into();
    schema["properties"]["links"] = json!({
        "type": "object", "additionalProperties": { "type": "string" },
        "description": "Addresses of the stream in other tools, by the names in the site's `links`.",
    });
    for added in ["site", "received_ms", "country"] {
        schema["required"].as_array_mut().expect("a list of names").push(added.into());
    }
    schema
}

fn object(fields: &[Field]) -> Value {
    let required: Vec<_> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let properties: Map<_, _> = fields.iter().map(|field| (field.name.to_owned(), property(field))).collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

fn property(field: &Field) -> Value {
    let mut schema = match field.rule {
        Rule::Milliseconds => json!({ "type": "number", "minimum": 0, "maximum": MAX_MS }),
        Rule::Count(most) | Rule::Amount(most) => json!({ "type": "integer", "minimum": 0, "maximum": most }),
        Rule::Between(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Rule::Share => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }),
        Rule::Text(longest) | Rule::OwnText(longest) => json!({ "type": "string", "maxLength": longest }),
        Rule::Name(shape) => json!({ "type": "string", "maxLength": shape.max_bytes() }),
        Rule::Word(words, _) => json!({ "type": "string", "enum": words }),
        Rule::Flag => json!({ "type": "boolean" }),
        Rule::Id => json!({ "type": "string", "pattern": "^[0-9a-f]{32}$" }),
        Rule::Visit => json!({ "type": "string", "pattern": "^[0-9a-fA-F]{0,16}$" }),
        Rule::Collector => json!({ "type": "string" }),
        Rule::Histogram => json!({
            "type": "object", "required": ["scale", "offset", "counts", "sum"], "properties": {
                "scale": { "type": "integer" }, "offset": { "type": "integer" },
                "counts": { "type": "array", "items": { "type": "integer", "minimum": 0 } },
                "zero": { "type": "integer", "minimum": 0 }, "sum": { "type": "number", "minimum": 0 },
            },
        }),
        Rule::Defects => json!({
            "type": "object", "additionalProperties": { "type": "integer", "minimum": 0, "maximum": u32::MAX },
        }),
        Rule::Marks => json!({ "type": "array", "maxItems": MAX_MARKS, "items": object(Mark::FIELDS) }),
        Rule::Attributes => json!({
            "type": "object", "maxProperties": MAX_ATTRIBUTES,
            "additionalProperties": { "type": "string", "maxLength": MAX_ATTRIBUTE_BYTES },
        }),
        Rule::Group(inner) => object(inner),
    };
    schema["description"] = field.about.trim().into();
    schema
}
