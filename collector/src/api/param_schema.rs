//! Tables of the query parameters. Requests are checked against them, and `/openapi.json` lists them.

use serde_json::{Value, json};

use crate::aggregate::metric;

/// A query parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    about: &'static str,
    accepts: Accepts,
}

/// Accepted values of a parameter.
#[derive(Debug, Clone, Copy)]
enum Accepts {
    Text,
    Word(&'static [&'static str]),
    Whole { min: i64, max: i64, multiple_of: i64 },
    Cursor,
}

impl Parameter {
    /// The parameter as an OpenAPI parameter object.
    pub(crate) fn openapi(&self) -> Value {
        let schema = match self.accepts {
            Accepts::Text => json!({ "type": "string" }),
            Accepts::Word(words) => json!({ "type": "string", "enum": words }),
            Accepts::Whole { min, max, multiple_of } => json!({
                "type": "integer", "minimum": min, "maximum": max, "multipleOf": multiple_of,
            }),
            Accepts::Cursor => json!({ "type": "string", "pattern": "^[0-9]{1,18}$" }),
        };
        json!({ "name": self.name, "in": "query", "description": self.about, "schema": schema })
    }
}

const fn word(name: &'static str, words: &'static [&'static str], about: &'static str) -> Parameter {
    Parameter { name, about, accepts: Accepts::Word(words) }
}

const fn text(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, about, accepts: Accepts::Text }
}

const fn whole(name: &'static str, [min, max, multiple_of]: [i64; 3], about: &'static str) -> Parameter {
    Parameter { name, about, accepts: Accepts::Whole { min, max, multiple_of } }
}

/// Parameters of all queries over a range.
pub(crate) const COMMON: [Parameter; 8] = [
    word(
        "range",
        &["15m", "1h", "6h", "24h", "7d", "30d"],
        "Length of the range, which ends now. Default 1h.",
    ),
    whole("from", [0, LATEST_MS, 1], "Start in milliseconds since 1970; requires `to`, excludes `range`."),
    whole("to", [0, LATEST_MS, 1], "End in milliseconds since 1970; requires `from`, excludes `range`."),
    FILTERS[0],
    FILTERS[1],
    FILTERS[2],
    FILTERS[3],
    FILTERS[4],
];

/// Parameters that select streams by label.
pub(crate) const FILTERS: [Parameter; 5] = [
    text("site", "Only this site."),
    text("use_case", "Only this use case."),
    text("provider", "Only this provider."),
    text("model", "Only this model."),
    text("country", "Only this country: a two-letter code, `other` or `unknown`."),
];

pub(crate) const METRIC: Parameter =
    word("metric", metric::SELECTABLE, "Metric of the distribution. Default ttfv.");
pub(crate) const WAIT: Parameter =
    word("metric", &["ttfv", "ttft"], "Wait for visible text (ttfv) or for any text (ttft). Default ttfv.");
pub(crate) const STEP: Parameter =
    whole("step", [60, 34_560_000, 60], "Seconds per point. Default: a step that gives at most 120 points.");
pub(crate) const BY: Parameter = word(
    "by",
    &["site", "use_case", "provider", "model", "country"],
    "Dimension to group by. Default model.",
);
pub(crate) const AGAINST: Parameter = word(
    "against",
    &["previous", "day", "week"],
    "Period to compare with: the equally long period right before, a day earlier, or a week earlier.",
);
pub(crate) const FORMAT: Parameter =
    word("format", &["json", "csv"], "Format of the response. Default json.");
pub(crate) const GROUPS: Parameter = whole("limit", [1, 500, 1], "Maximum number of groups. Default 50.");
pub(crate) const STREAMS: Parameter = whole("limit", [1, 500, 1], "Maximum number of streams. Default 50.");
pub(crate) const CURSOR: Parameter =
    Parameter { name: "cursor", about: "`next` of the previous page.", accepts: Accepts::Cursor };
pub(crate) const OUTCOME: Parameter = word(
    "outcome",
    &[
        "complete",
        "truncated",
        "provider_error",
        "http_error",
        "network_error",
        "timeout",
        "empty",
        "aborted",
        "abandoned",
        "unobserved",
    ],
    "Only streams with this outcome.",
);

pub(crate) const SAMPLE: Parameter = word(
    "sample",
    &["slowest", "failed", "uniform"],
    "Streams of the samples kept for each site and day: the slowest first, or the newest of the failed \
     streams or of the random sample.",
);

/// In the year 5138. Later times could overflow arithmetic.
pub(super) const LATEST_MS: i64 = 100_000_000_000_000;

#[cfg(test)]
mod tests {
    use beacon::Outcome;

    use super::*;

    #[test]
    fn every_outcome_can_be_asked_for() {
        let Accepts::Word(words) = OUTCOME.accepts else { unreachable!() };
        assert_eq!(words, Outcome::ALL.map(Outcome::as_str));
    }
}
