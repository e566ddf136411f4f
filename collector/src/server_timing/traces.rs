//! Spans of OpenTelemetry, as OTLP/HTTP carries them: protobuf or JSON. A span that names the response of a model is a fact.
//! Only the attributes in a list are decoded, so prompts and answers in others are never read.

mod json;
mod protobuf;
mod span;

use super::received_fact::ReceivedFacts;
use crate::http::error::ApiError;
use span::Span;

pub(crate) use protobuf::answer as protobuf_answer;

/// Reads a protobuf request about streams of this site.
pub(crate) fn read_protobuf(body: &[u8], site: &str) -> Result<ReceivedFacts, ApiError> {
    let mut received = ReceivedFacts::default();
    protobuf::each_span(body, &mut |span| add(&mut received, &span, site))?;
    Ok(received)
}

/// Reads a JSON request.
pub(crate) fn read_json(body: &[u8], site: &str) -> Result<ReceivedFacts, ApiError> {
    let mut received = ReceivedFacts::default();
    json::each_span(body, &mut |span| add(&mut received, &span, site))?;
    Ok(received)
}

fn add(received: &mut ReceivedFacts, span: &Span, site: &str) {
    match span.fact(site) {
        Some(fact) => received.add(fact),
        None => received.skipped += 1,
    }
}

#[cfg(test)]
mod tests;
