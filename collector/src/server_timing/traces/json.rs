//! The JSON form of a request. Lists are walked and not collected, and the values of attributes stay unread until their names
//! are known.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::span::{Decoded, FIRST_TOKEN_EVENT, LONGEST_TEXT, Span, known};
use crate::http::error::{ApiError, Reason};
use crate::server_timing::json_items::each_of;

#[derive(Deserialize)]
struct ScopeSpans<'a> {
    #[serde(borrow)]
    scope: Option<Scope<'a>>,
}

#[derive(Deserialize)]
struct Scope<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
}

/// The fields of a span that are no lists.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpanHead<'a> {
    #[serde(borrow, default)]
    trace_id: Cow<'a, str>,
    #[serde(borrow)]
    start_time_unix_nano: Option<&'a RawValue>,
    #[serde(borrow)]
    end_time_unix_nano: Option<&'a RawValue>,
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

/// Calls `each` with every span of an `ExportTraceServiceRequest`. Skips values of a wrong type.
pub(super) fn each_span(body: &[u8], each: &mut dyn FnMut(Span)) -> Result<(), ApiError> {
    let mut each_scope = |scope_spans: &RawValue| {
        let head = serde_json::from_str::<ScopeSpans<'_>>(scope_spans.get());
        let name = head.ok().and_then(|head| head.scope).map(|scope| scope.name);
        let name = name.filter(|name| name.len() <= LONGEST_TEXT).unwrap_or_default();
        items(scope_spans, "spans", &mut |span| each(decoded(span, name.clone().into_owned())));
    };
    let mut each_resource = |resource: &RawValue| items(resource, "scopeSpans", &mut each_scope);
    // The message of serde may quote a text of the body.
    each_of(body, "resourceSpans", &mut each_resource).map_err(|error| {
        let place = format!("see line {}, column {}", error.line(), error.column());
        ApiError::new(
            Reason::BadJson,
            format!("the body is not an ExportTraceServiceRequest in JSON: {place}"),
        )
    })
}

/// The items of a list. None if the value is not an object with a list under `key`.
fn items(object: &RawValue, key: &str, each: &mut dyn FnMut(&RawValue)) {
    let _wrong_type = each_of(object.get().as_bytes(), key, &mut |item| each(item));
}

fn decoded(span: &RawValue, scope: String) -> Span {
    let mut decoded = Span { scope, ..Span::default() };
    if let Ok(head) = serde_json::from_str::<SpanHead<'_>>(span.get()) {
        if head.trace_id.len() <= LONGEST_TEXT {
            decoded.trace_id = head.trace_id.to_ascii_lowercase();
        }
        decoded.start_ns = whole(head.start_time_unix_nano).unwrap_or_default();
        decoded.end_ns = whole(head.end_time_unix_nano).unwrap_or_default();
        let code = head.status.and_then(|status| status.code);
        decoded.failed = code.is_some_and(|code| matches!(code.get(), "2" | "\"STATUS_CODE_ERROR\""));
    }
    items(span, "attributes", &mut |attribute| {
        if let Ok(KeyValue { key, value: Some(value) }) = serde_json::from_str(attribute.get())
            && let Some(attribute) = known(&key)
            && let Some(value) = value_of(value)
        {
            decoded.add(attribute, value);
        }
    });
    items(span, "events", &mut |event| {
        if let Ok(Event { time_unix_nano, name }) = serde_json::from_str(event.get())
            && name == FIRST_TOKEN_EVENT
            && let Some(at_ns) = whole(time_unix_nano)
        {
            decoded.first_token_ns.get_or_insert(at_ns);
        }
    });
    decoded
}

fn value_of(value: &RawValue) -> Option<Decoded> {
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
