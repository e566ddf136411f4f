//! The protobuf form of a request, of which only the needed fields are declared: others are skipped. The values of attributes
//! stay bytes until their names are known.

use bytes::Bytes;
use prost::Message;

use super::span::{Decoded, FIRST_TOKEN_EVENT, LONGEST_TEXT, Span, known};
use crate::http::error::{ApiError, Reason};

#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<WireSpan>,
}

#[derive(Clone, PartialEq, Message)]
struct Scope {
    #[prost(bytes = "bytes", tag = "1")]
    name: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct WireSpan {
    #[prost(fixed64, tag = "7")]
    start_ns: u64,
    #[prost(fixed64, tag = "8")]
    end_ns: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "11")]
    events: Vec<Event>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(bytes = "bytes", tag = "1")]
    key: Bytes,
    /// An `AnyValue` in its encoded form.
    #[prost(bytes = "bytes", tag = "2")]
    value: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(fixed64, tag = "1")]
    at_ns: u64,
    #[prost(bytes = "bytes", tag = "2")]
    name: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(bytes = "bytes", optional, tag = "1")]
    text: Option<Bytes>,
    #[prost(int64, optional, tag = "3")]
    integer: Option<i64>,
    #[prost(double, optional, tag = "4")]
    float: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_spans: i64,
    #[prost(string, tag = "2")]
    error_message: String,
}

pub(super) fn spans(body: &[u8]) -> Result<Vec<Span>, ApiError> {
    // Shares the bytes with all fields that are not decoded.
    let request = Request::decode(Bytes::copy_from_slice(body)).map_err(|_| {
        ApiError::new(Reason::BadProtobuf, "the body is not an ExportTraceServiceRequest in protobuf")
    })?;
    let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
    let spans = scopes.flat_map(|scope| {
        let name = scope.scope.and_then(|scope| text(&scope.name)).unwrap_or_default();
        scope.spans.into_iter().map(move |span| span.decoded(name.clone()))
    });
    Ok(spans.collect())
}

/// The answer to a request of which so many spans were refused.
pub(crate) fn answer(rejected: u64, message: Option<String>) -> Vec<u8> {
    let partial_success = (rejected > 0).then(|| PartialSuccess {
        rejected_spans: i64::try_from(rejected).unwrap_or(i64::MAX),
        error_message: message.unwrap_or_default(),
    });
    Answer { partial_success }.encode_to_vec()
}

impl WireSpan {
    fn decoded(self, scope: String) -> Span {
        let attributes = self.attributes.iter().filter_map(|KeyValue { key, value }| {
            let attribute = known(str::from_utf8(key).ok()?)?;
            let AnyValue { text: in_bytes, integer, float } = AnyValue::decode(value.clone()).ok()?;
            let value = in_bytes.and_then(|bytes| text(&bytes)).map(Decoded::Text);
            let value = value.or(integer.map(Decoded::Integer)).or(float.map(Decoded::Float));
            Some((attribute, value?))
        });
        let first = self.events.iter().find(|event| event.name == FIRST_TOKEN_EVENT);
        Span {
            scope,
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            failed: self.status.is_some_and(|status| status.code == STATUS_ERROR),
            attributes: attributes.collect(),
            first_token_ns: first.map(|event| event.at_ns),
        }
    }
}

fn text(bytes: &Bytes) -> Option<String> {
    (bytes.len() <= LONGEST_TEXT).then(|| str::from_utf8(bytes).ok().map(str::to_owned)).flatten()
}

const STATUS_ERROR: i32 = 2;
