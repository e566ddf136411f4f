//! The protobuf form of a request. Lists are walked and not collected, other fields are skipped, and the values of attributes
//! stay bytes until their names are known.

use bytes::{Buf, Bytes};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use prost::{DecodeError, Message};

use super::span::{Decoded, FIRST_TOKEN_EVENT, LONGEST_TEXT, Span, known};
use crate::http::error::{ApiError, Reason};

#[derive(Clone, PartialEq, Message)]
struct Scope {
    #[prost(bytes = "bytes", tag = "1")]
    name: Bytes,
}

/// The fields of a span that are no lists.
#[derive(Clone, PartialEq, Message)]
struct SpanHead {
    #[prost(bytes = "bytes", tag = "1")]
    trace_id: Bytes,
    #[prost(fixed64, tag = "7")]
    start_ns: u64,
    #[prost(fixed64, tag = "8")]
    end_ns: u64,
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

/// Calls `each` with every span of an `ExportTraceServiceRequest`.
pub(super) fn each_span(body: &[u8], each: &mut dyn FnMut(Span)) -> Result<(), ApiError> {
    // Shares the bytes with all messages in it.
    let request = Bytes::copy_from_slice(body);
    let mut read_all = || {
        each_message(&request, RESOURCE_SPANS, &mut |resource| {
            each_message(&resource, SCOPE_SPANS, &mut |scope| {
                let mut name = String::new();
                each_message(&scope, SCOPE, &mut |scope| {
                    name = text(&Scope::decode(scope)?.name).unwrap_or_default();
                    Ok(())
                })?;
                each_message(&scope, SPANS, &mut |span| {
                    each(decoded(&span, name.clone())?);
                    Ok(())
                })
            })
        })
    };
    read_all().map_err(|_| {
        ApiError::new(Reason::BadProtobuf, "the body is not an ExportTraceServiceRequest in protobuf")
    })
}

/// Calls `each` with every message that `bytes` has under a tag.
fn each_message(
    bytes: &Bytes,
    wanted: u32,
    each: &mut dyn FnMut(Bytes) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut rest = bytes.clone();
    while rest.has_remaining() {
        let (tag, wire_type) = decode_key(&mut rest)?;
        if tag != wanted || wire_type != WireType::LengthDelimited {
            skip_field(wire_type, tag, &mut rest, DecodeContext::default())?;
            continue;
        }
        let length = usize::try_from(decode_varint(&mut rest)?).unwrap_or(usize::MAX);
        if length > rest.remaining() {
            // The error that a cut field gives.
            return Err(Status::decode(&[0x18_u8][..]).expect_err("the value of the field is missing"));
        }
        each(rest.split_to(length))?;
    }
    Ok(())
}

/// The answer to a request of which so many spans were refused.
pub(crate) fn answer(rejected: u64, message: Option<String>) -> Vec<u8> {
    let partial_success = (rejected > 0).then(|| PartialSuccess {
        rejected_spans: i64::try_from(rejected).unwrap_or(i64::MAX),
        error_message: message.unwrap_or_default(),
    });
    Answer { partial_success }.encode_to_vec()
}

fn decoded(bytes: &Bytes, scope: String) -> Result<Span, DecodeError> {
    let SpanHead { trace_id, start_ns, end_ns, status } = SpanHead::decode(bytes.clone())?;
    // The id of a trace has 16 bytes. Another length is ignored.
    let trace_id = <[u8; 16]>::try_from(&trace_id[..]).map(u128::from_be_bytes);
    let trace_id = trace_id.map(|id| format!("{id:032x}")).unwrap_or_default();
    let failed = status.is_some_and(|status| status.code == STATUS_ERROR);
    let mut span = Span { scope, trace_id, start_ns, end_ns, failed, ..Span::default() };
    each_message(bytes, ATTRIBUTES, &mut |attribute| {
        let KeyValue { key, value } = KeyValue::decode(attribute)?;
        if let Some(attribute) = str::from_utf8(&key).ok().and_then(known) {
            let AnyValue { text: in_bytes, integer, float } = AnyValue::decode(value)?;
            let value = in_bytes.and_then(|bytes| text(&bytes)).map(Decoded::Text);
            let value = value.or(integer.map(Decoded::Integer)).or(float.map(Decoded::Float));
            value.into_iter().for_each(|value| span.add(attribute, value));
        }
        Ok(())
    })?;
    each_message(bytes, EVENTS, &mut |event| {
        let Event { at_ns, name } = Event::decode(event)?;
        if name == FIRST_TOKEN_EVENT {
            span.first_token_ns.get_or_insert(at_ns);
        }
        Ok(())
    })?;
    Ok(span)
}

fn text(bytes: &Bytes) -> Option<String> {
    (bytes.len() <= LONGEST_TEXT).then(|| str::from_utf8(bytes).ok().map(str::to_owned)).flatten()
}

const RESOURCE_SPANS: u32 = 1;
const SCOPE_SPANS: u32 = 2;
const SCOPE: u32 = 1;
const SPANS: u32 = 2;
const ATTRIBUTES: u32 = 9;
const EVENTS: u32 = 11;
const STATUS_ERROR: i32 = 2;
