//! The table of the tools: name, meaning, route, arguments, and how the answer is written.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::argument::{Argument, ArgumentError, query};
use super::{explain_text, series_text, slo_text, summary_text};
use crate::api::openapi_document;

/// A tool, which asks one route.
pub(super) struct ToolSpec {
    pub(super) name: &'static str,
    title: &'static str,
    about: &'static str,
    pub(super) route: &'static str,
    arguments: &'static [Argument],
    pub(super) write: fn(&Value, &mut Answer),
}

impl ToolSpec {
    /// As clients list it.
    pub(super) fn definition(&self) -> Tool {
        let annotations =
            ToolAnnotations::with_title(self.title).read_only(true).idempotent(true).open_world(false);
        Tool::new(self.name, self.about, self.schema()).with_annotations(annotations)
    }

    /// The query parameters of a call.
    pub(super) fn query(&self, given: &JsonObject) -> Result<Vec<(String, String)>, ArgumentError> {
        query(self.arguments, given)
    }

    /// JSON schema of the arguments.
    fn schema(&self) -> JsonObject {
        let document = openapi_document();
        let parameters = &document["paths"][self.route]["get"]["parameters"];
        let schemas = self.arguments.iter().map(|argument| (argument.name(), argument.schema(parameters)));
        let properties: Map<_, _> = schemas.map(|(name, schema)| (name.to_owned(), schema)).collect();
        let schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
        schema.as_object().cloned().unwrap_or_default()
    }
}

/// All tools. Each asks one query route, and none changes anything.
pub(super) const TOOLS: [ToolSpec; 6] = [
    ToolSpec {
        name: "summary",
        title: "Summary",
        about: "How users experience the streams of a range: verdict, waits, availability, errors, outcomes, use cases \
                with their alerts, and what changed against another period. Ask this first.",
        route: "/v1/summary",
        arguments: &[RANGE, FROM, TO, Argument::Site, Argument::Filters, Argument::Word("compare_to")],
        write: summary_text::write,
    },
    ToolSpec {
        name: "timeseries",
        title: "Time series",
        about: "One metric over time, with errors: when something began and ended.",
        route: "/v1/timeseries",
        arguments: &[RANGE, FROM, TO, Argument::Site, Argument::Filters, Argument::Word("metric")],
        write: series_text::write_timeseries,
    },
    ToolSpec {
        name: "breakdown",
        title: "Breakdown",
        about: "One metric, goodput and errors by the values of one or two dimensions, such as model, country, browser \
                or release, and whether a value fails beyond its share of the traffic.",
        route: "/v1/breakdown",
        arguments: &[
            RANGE,
            FROM,
            TO,
            Argument::Site,
            Argument::Filters,
            Argument::GroupBy,
            Argument::Word("metric"),
            Argument::Limit,
        ],
        write: explain_text::write_breakdown,
    },
    ToolSpec {
        name: "compare",
        title: "Client and server",
        about: "Time to first token in browsers and on servers for the same streams, and the overhead between them.",
        route: "/v1/compare",
        arguments: &[RANGE, FROM, TO, Argument::Site, Argument::Filters],
        write: series_text::write_comparison,
    },
    ToolSpec {
        name: "explain",
        title: "Explain",
        about: "What the slow, failed or abandoned streams have in common that the others do not: all dimensions at \
                once, beyond chance.",
        route: "/v1/explain",
        arguments: &[RANGE, FROM, TO, Argument::Site, Argument::Filters, Argument::Word("of")],
        write: explain_text::write_explanation,
    },
    ToolSpec {
        name: "slo",
        title: "Error budgets",
        about: "Error budgets, burn rates and alerts of one use case over the SLO period. Without filters: the use case \
                with the most urgent alert.",
        route: "/v1/slo",
        arguments: &[Argument::Site, Argument::Filters],
        write: slo_text::write,
    },
];

const RANGE: Argument = Argument::Word("range");
const FROM: Argument = Argument::Time("from");
const TO: Argument = Argument::Time("to");
