//! A span with the attributes that say something about a stream, and the fact that it is.

use beacon::{LayerEnd, LayerTiming, NameShape, ServerStart};

use crate::report::server_fact::{Layer, ServerFact};
use crate::server_timing::received_fact::{Invalid, checked, is_trace_id};

/// A span with the attributes that say something about a stream.
#[derive(Debug, Default)]
pub(super) struct Span {
    /// Name of the library that made it.
    pub(super) scope: String,
    /// 32 hexadecimal digits, unless the sender wrote something else.
    pub(super) trace_id: String,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) failed: bool,
    pub(super) attributes: Vec<(&'static Attribute, Decoded)>,
    /// Time of the event that marks the first token.
    pub(super) first_token_ns: Option<u64>,
}

/// A value of an attribute in the lists.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decoded {
    Text(String),
    Integer(i64),
    Float(f64),
}

/// An attribute that is decoded.
#[derive(Debug)]
pub(super) struct Attribute {
    name: &'static str,
    means: Meaning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The id in the response.
    ResponseId,
    /// The same on an engine's own span.
    EngineRequestId,
    /// Time to first token in seconds, from the call of the model.
    FirstTokenSeconds,
    /// The same, or as an integer microseconds: two programs use one name.
    FirstTokenSecondsOrMicros,
    FirstTokenMs,
    /// Seconds, from the arrival at the engine.
    EngineFirstToken,
    EngineQueue,
    EnginePrefill,
    EngineDecode,
    EngineEndToEnd,
    OutputTokens,
    /// Marks a span of the LiteLLM proxy.
    OfLiteLlm,
}

const fn attribute(name: &'static str, means: Meaning) -> Attribute {
    Attribute { name, means }
}

const ATTRIBUTES: &[Attribute] = &[
    attribute("gen_ai.response.id", Meaning::ResponseId),
    attribute("gen_ai.request.id", Meaning::EngineRequestId),
    attribute("gen_ai.response.time_to_first_chunk", Meaning::FirstTokenSeconds),
    attribute("gen_ai.client.operation.time_to_first_chunk", Meaning::FirstTokenSeconds),
    attribute("gen_ai.client.inference.time_to_first_chunk", Meaning::FirstTokenSeconds),
    attribute("gen_ai.server.time_to_first_token", Meaning::FirstTokenSeconds),
    attribute("gen_ai.response.time_to_first_token", Meaning::FirstTokenSecondsOrMicros),
    attribute("ai.response.msToFirstChunk", Meaning::FirstTokenMs),
    attribute("ai.stream.msToFirstChunk", Meaning::FirstTokenMs),
    attribute("gen_ai.latency.time_to_first_token", Meaning::EngineFirstToken),
    attribute("gen_ai.latency.time_in_queue", Meaning::EngineQueue),
    attribute("gen_ai.latency.time_in_model_prefill", Meaning::EnginePrefill),
    attribute("gen_ai.latency.time_in_model_decode", Meaning::EngineDecode),
    attribute("gen_ai.latency.e2e", Meaning::EngineEndToEnd),
    attribute("gen_ai.usage.output_tokens", Meaning::OutputTokens),
    attribute("gen_ai.usage.completion_tokens", Meaning::OutputTokens),
    attribute("litellm.call_id", Meaning::OfLiteLlm),
];

/// Event of OpenInference and Envoy.
pub(super) const FIRST_TOKEN_EVENT: &str = "First Token Stream Event";

/// The attribute in the list. `None` for all others, whose values must not be decoded.
pub(super) fn known(name: &str) -> Option<&'static Attribute> {
    ATTRIBUTES.iter().find(|attribute| attribute.name == name)
}

impl Span {
    /// `None` if it names no response, nor a trace with a time to first token.
    pub(super) fn fact(&self, site: &str) -> Option<Result<ServerFact, Invalid>> {
        let id = self.text(Meaning::ResponseId).or_else(|| self.text(Meaning::EngineRequestId));
        let engine = [
            Meaning::EngineFirstToken,
            Meaning::EngineQueue,
            Meaning::EnginePrefill,
            Meaning::EngineDecode,
            Meaning::EngineEndToEnd,
        ];
        let layer = if engine.iter().any(|meaning| self.value(*meaning).is_some()) {
            Layer::Engine
        } else if self.value(Meaning::OfLiteLlm).is_some() {
            Layer::Gateway
        } else {
            Layer::ModelCall
        };
        let seconds = |meaning| self.number(meaning).map(|s| s * 1_000.0);
        let span_ms =
            |until_ns: u64| (until_ns > self.start_ns).then(|| (until_ns - self.start_ns) as f64 / 1e6);
        let first_token_ms = seconds(Meaning::EngineFirstToken)
            .or_else(|| seconds(Meaning::FirstTokenSeconds))
            .or_else(|| self.seconds_or_micros())
            .or_else(|| self.number(Meaning::FirstTokenMs))
            .or_else(|| self.first_token_ns.and_then(span_ms));
        let trace_id = is_trace_id(&self.trace_id).then(|| self.trace_id.clone().into());
        // All work of a backend has spans. Without a response, only a first token shows that one is about a stream.
        if id.is_none() && (trace_id.is_none() || first_token_ms.is_none()) {
            return None;
        }
        let source = if NameShape::FINISH_REASON.fits(self.scope.as_bytes()) { &self.scope } else { "otel" };
        let tokens = self.number(Meaning::OutputTokens).filter(|tokens| *tokens > 0.0);
        let timing = LayerTiming {
            source: source.to_owned().into(),
            starts_from: (layer == Layer::Engine).then_some(ServerStart::Arrival),
            queue_ms: seconds(Meaning::EngineQueue),
            // SGLang, which names no queue, counts it from the dispatch: the queue is in it.
            prefill_ms: seconds(Meaning::EngineQueue).and_then(|_| seconds(Meaning::EnginePrefill)),
            ttft_ms: first_token_ms,
            generation_ms: seconds(Meaning::EngineDecode),
            duration_ms: seconds(Meaning::EngineEndToEnd).or_else(|| span_ms(self.end_ns)),
            output_tokens: tokens.map(|tokens| tokens as u64),
            ended: self.failed.then_some(LayerEnd::Error),
            trace_id,
            ..LayerTiming::default()
        };
        Some(checked(site, id, layer, timing))
    }

    fn value(&self, means: Meaning) -> Option<&Decoded> {
        self.attributes.iter().find(|(attribute, _)| attribute.means == means).map(|(_, value)| value)
    }

    fn text(&self, means: Meaning) -> Option<&str> {
        match self.value(means)? {
            Decoded::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    fn number(&self, means: Meaning) -> Option<f64> {
        match self.value(means)? {
            Decoded::Integer(value) => Some(*value as f64),
            Decoded::Float(value) => Some(*value),
            Decoded::Text(_) => None,
        }
    }

    fn seconds_or_micros(&self) -> Option<f64> {
        match self.value(Meaning::FirstTokenSecondsOrMicros)? {
            Decoded::Integer(micros) => Some(*micros as f64 / 1_000.0),
            Decoded::Float(seconds) => Some(seconds * 1_000.0),
            Decoded::Text(_) => None,
        }
    }
}

impl Span {
    /// Adds an attribute. Repeated ones do not count, so that a span has at most as many as the list.
    pub(super) fn add(&mut self, attribute: &'static Attribute, value: Decoded) {
        if self.value(attribute.means).is_none() {
            self.attributes.push((attribute, value));
        }
    }
}

/// A text of an attribute that is longer is no id.
pub(super) const LONGEST_TEXT: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_filter_keeps_each_attribute() {
        let page = include_str!("../../../../docs/server-timing-opentelemetry.md");
        let (_, filter) = page.split_once("keep_keys(attributes, [").expect("the filter");
        let (kept, _) = filter.split_once(']').expect("the end of the list");
        let kept = kept.split(',').map(|name| name.trim().trim_matches('"'));
        let known = ATTRIBUTES.iter().map(|attribute| attribute.name);
        let sorted = |names: Vec<_>| names.into_iter().collect::<std::collections::BTreeSet<&str>>();
        assert_eq!(sorted(kept.collect()), sorted(known.collect()));
    }
}
