//! The JSON form of a request. The values of attributes stay unread until their names are known.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::span::{Decoded, FIRST_TOKEN_EVENT, LONGEST_TEXT, Span, known};
use crate::http::error::{ApiError, Reason};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow, default)]
    resource_spans: Vec<ResourceSpans<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    #[serde(borrow, default)]
    scope_spans: Vec<ScopeSpans<'a>>,
}

#[derive(Deserialize)]
struct ScopeSpans<'a> {
    #[serde(borrow, default)]
    scope: Option<Scope<'a>>,
    #[serde(borrow, default)]
    spans: Vec<WireSpan<'a>>,
}

#[derive(Deserialize)]
struct Scope<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSpan<'a> {
    #[serde(borrow)]
    start_time_unix_nano: Option<&'a RawValue>,
    #[serde(borrow)]
    end_time_unix_nano: Option<&'a RawValue>,
    #[serde(borrow, default)]
    attributes: Vec<KeyValue<'a>>,
    #[serde(borrow, default)]
    events: Vec<Event<'a>>,
    #[serde(borrow)]
    status: Option<Status<'a>>,
}

#[derive(Deserialize)]
struct KeyValue<'a> {
    #[serde(borrow, default)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    #[serde(borrow)]
    time_unix_nano: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Status<'a> {
    /// A number, or its name.
    #[serde(borrow)]
    code: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyValue<'a> {
    #[serde(borrow)]
    string_value: Option<Cow<'a, str>>,
    #[serde(borrow)]
    int_value: Option<&'a RawValue>,
    double_value: Option<f64>,
}

pub(super) fn spans(body: &[u8]) -> Result<Vec<Span>, ApiError> {
    // The message of serde may quote a text of the body.
    let request: Request<'_> = serde_json::from_slice(body).map_err(|error| {
        let place = format!("see line {}, column {}", error.line(), error.column());
        ApiError::new(
            Reason::BadJson,
            format!("the body is not an ExportTraceServiceRequest in JSON: {place}"),
        )
    })?;
    let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
    let spans = scopes.flat_map(|scope| {
        let name = scope.scope.map(|scope| scope.name).filter(|name| name.len() <= LONGEST_TEXT);
        let name = name.unwrap_or_default().into_owned();
        scope.spans.into_iter().map(move |span| span.decoded(name.clone()))
    });
    Ok(spans.collect())
}

impl WireSpan<'_> {
    fn decoded(self, scope: String) -> Span {
        let attributes = self.attributes.iter().filter_map(|KeyValue { key, value }| {
            let attribute = known(key)?;
            Some((attribute, decode((*value)?)?))
        });
        let first = self.events.iter().find(|event| event.name == FIRST_TOKEN_EVENT);
        Span {
            scope,
            start_ns: whole(self.start_time_unix_nano).unwrap_or_default(),
            end_ns: whole(self.end_time_unix_nano).unwrap_or_default(),
            failed: self
                .status
                .and_then(|status| status.code)
                .is_some_and(|code| matches!(code.get(), "2" | "\"STATUS_CODE_ERROR\"")),
            attributes: attributes.collect(),
            first_token_ns: first.and_then(|event| whole(event.time_unix_nano)),
        }
    }
}

fn decode(value: &RawValue) -> Option<Decoded> {
    let AnyValue { string_value, int_value, double_value } = serde_json::from_str(value.get()).ok()?;
    let text = string_value.filter(|text| text.len() <= LONGEST_TEXT);
    text.map(|text| Decoded::Text(text.into_owned()))
        .or_else(|| whole(int_value).map(Decoded::Integer))
        .or(double_value.map(Decoded::Float))
}

/// An integer of 64 bits is a string in JSON. Some senders write a number.
fn whole<T: std::str::FromStr>(value: Option<&RawValue>) -> Option<T> {
    value?.get().trim_matches('"').parse().ok()
}
