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
    Ok(facts(&protobuf::spans(body)?, site))
}

/// Reads a JSON request.
pub(crate) fn read_json(body: &[u8], site: &str) -> Result<ReceivedFacts, ApiError> {
    Ok(facts(&json::spans(body)?, site))
}

fn facts(spans: &[Span], site: &str) -> ReceivedFacts {
    let mut received = ReceivedFacts::default();
    for (index, span) in spans.iter().enumerate() {
        match span.fact(site) {
            Some(fact) => received.add(index, fact),
            None => received.skipped += 1,
        }
    }
    received
}

#[cfg(test)]
mod tests;
