use beacon::{LayerEnd, ServerStart};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::span::Event;
use opentelemetry_proto::tonic::trace::v1::{self as trace, ResourceSpans, ScopeSpans, Status};
use proptest::prelude::*;
use prost::Message as _;

use super::span::{FIRST_TOKEN_EVENT, known};
use super::*;
use crate::http::error::Reason;
use crate::report::server_fact::{Layer, ServerFact};

fn attribute_of(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute_of(key, any_value::Value::StringValue(value.to_owned()))
}

fn float(key: &str, value: f64) -> KeyValue {
    attribute_of(key, any_value::Value::DoubleValue(value))
}

fn integer(key: &str, value: i64) -> KeyValue {
    attribute_of(key, any_value::Value::IntValue(value))
}

fn span(attributes: Vec<KeyValue>) -> trace::Span {
    trace::Span {
        name: "chat SECRET".into(),
        start_time_unix_nano: 1_764_000_000_000_000_000,
        end_time_unix_nano: 1_764_000_002_000_000_000,
        attributes,
        ..trace::Span::default()
    }
}

fn request(scope: &str, spans: Vec<trace::Span>) -> ExportTraceServiceRequest {
    let scope = Some(InstrumentationScope { name: scope.to_owned(), ..InstrumentationScope::default() });
    let scope_spans = vec![ScopeSpans { scope, spans, ..ScopeSpans::default() }];
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }],
    }
}

/// The facts of a request, which are the same from both forms.
fn facts_of(request: &ExportTraceServiceRequest) -> ReceivedFacts {
    let from_protobuf = read_protobuf(&request.encode_to_vec(), "chat").unwrap();
    let from_json = read_json(&serde_json::to_vec(request).unwrap(), "chat").unwrap();
    assert_eq!(from_protobuf, from_json);
    assert!(!format!("{from_protobuf:?}").contains("SECRET"));
    from_protobuf
}

fn one(scope: &str, attributes: Vec<KeyValue>) -> ServerFact {
    let mut received = facts_of(&request(scope, vec![span(attributes)]));
    assert_eq!((received.facts.len(), received.refused), (1, 0), "{received:?}");
    received.facts.remove(0)
}

#[test]
fn each_known_carrier_of_the_first_token_is_read() {
    for (value, expected_ms) in [
        (float("gen_ai.response.time_to_first_chunk", 0.5), 500.0),
        (float("gen_ai.client.operation.time_to_first_chunk", 0.5), 500.0),
        (float("gen_ai.server.time_to_first_token", 0.5), 500.0),
        (float("gen_ai.response.time_to_first_token", 0.5), 500.0),
        (integer("gen_ai.response.time_to_first_token", 500_000), 500.0),
        (float("ai.response.msToFirstChunk", 500.0), 500.0),
        (integer("ai.stream.msToFirstChunk", 500), 500.0),
    ] {
        let texts = [
            text("gen_ai.input.messages", "SECRET"),
            text("gen_ai.response.id", "chatcmpl-1"),
            text("gen_ai.output.messages", "SECRET"),
        ];
        let name = value.key.clone();
        let fact = one("ai", [value].into_iter().chain(texts).collect());
        assert_eq!((fact.layer, fact.timing.ttft_ms), (Layer::ModelCall, Some(expected_ms)), "{name}");
        assert_eq!((&*fact.timing.source, fact.timing.duration_ms), ("ai", Some(2_000.0)));
    }
}

/// Written after vLLM 0.33, `v1/engine/output_processor.py`.
#[test]
fn a_span_of_vllm_is_of_the_engine() {
    let fact = one(
        "vllm.llm_engine",
        vec![
            float("gen_ai.latency.time_to_first_token", 0.8),
            float("gen_ai.latency.e2e", 5.0),
            float("gen_ai.latency.time_in_queue", 0.3),
            text("gen_ai.request.id", "chatcmpl-7f3a"),
            float("gen_ai.latency.time_in_model_prefill", 0.5),
            float("gen_ai.latency.time_in_model_decode", 4.2),
            integer("gen_ai.usage.completion_tokens", 431),
        ],
    );
    assert_eq!((fact.layer, &*fact.response_id), (Layer::Engine, "chatcmpl-7f3a"));
    let timing = fact.timing;
    assert_eq!((timing.queue_ms, timing.prefill_ms, timing.ttft_ms), (Some(300.0), Some(500.0), Some(800.0)));
    assert_eq!((timing.generation_ms, timing.duration_ms), (Some(4_200.0), Some(5_000.0)));
    assert_eq!((timing.output_tokens, timing.starts_from), (Some(431), Some(ServerStart::Arrival)));
}

/// Written after SGLang's `convert_to_gen_ai_span_attrs` and the attributes of its requests in 2026; none was recorded.
#[test]
fn a_span_of_sglang_has_no_prefill_of_its_own() {
    let fact = one(
        "sglang server",
        vec![
            integer("gen_ai.usage.completion_tokens", 431),
            integer("gen_ai.usage.prompt_tokens", 12),
            integer("gen_ai.usage.cached_tokens", 8),
            text("gen_ai.request.id", "4f1c0b9e8d7a4c2f9b3e5a6d7c8b9a0f"),
            integer("gen_ai.request.max_tokens", 512),
            text("gen_ai.response.finish_reasons", "[\"stop\"]"),
            float("gen_ai.latency.time_to_first_token", 0.8),
            float("gen_ai.latency.e2e", 5.0),
            float("gen_ai.latency.time_in_model_decode", 4.2),
            float("gen_ai.latency.time_in_model_inference", 4.9),
            float("gen_ai.latency.time_in_model_prefill", 0.7),
        ],
    );
    assert_eq!((fact.layer, &*fact.response_id), (Layer::Engine, "4f1c0b9e8d7a4c2f9b3e5a6d7c8b9a0f"));
    let timing = fact.timing;
    assert_eq!((timing.ttft_ms, timing.starts_from), (Some(800.0), Some(ServerStart::Arrival)));
    assert_eq!((timing.queue_ms, timing.prefill_ms), (None, None), "the queue is in its prefill");
    assert_eq!((timing.generation_ms, timing.duration_ms), (Some(4_200.0), Some(5_000.0)));
    assert_eq!((timing.output_tokens, &*timing.source), (Some(431), "otel"), "a space is in no name");
}

#[test]
fn an_event_marks_the_first_token() {
    let mut with_event = span(vec![text("gen_ai.response.id", "gen-1"), text("litellm.call_id", "SECRET")]);
    with_event.events = vec![Event {
        time_unix_nano: with_event.start_time_unix_nano + 250_000_000,
        name: FIRST_TOKEN_EVENT.into(),
        ..Event::default()
    }];
    with_event.status = Some(Status { code: 2, message: "SECRET".into() });
    let received = facts_of(&request("not a name SECRET", vec![with_event]));
    let fact = &received.facts[0];
    assert_eq!((fact.layer, fact.timing.ttft_ms), (Layer::Gateway, Some(250.0)));
    assert_eq!((&*fact.timing.source, fact.timing.ended), ("otel", Some(LayerEnd::Error)));
}

/// A body that a real package sent: see the folder's README.
macro_rules! recorded {
    ($name:literal) => {
        include_bytes!(concat!("../../../tests/fixtures/spans/", $name))
    };
}

/// The only fact in recorded spans, which are about one stream, and the number of other spans.
fn recorded_fact(body: &[u8]) -> (ServerFact, u64) {
    let mut received = read_protobuf(body, "chat").unwrap();
    assert!(memchr::memmem::find(body, b"PLANTED").is_some() && !format!("{received:?}").contains("PLANTED"));
    assert_eq!((received.facts.len(), received.refused), (1, 0), "{received:?}");
    (received.facts.remove(0), received.skipped)
}

#[test]
fn recorded_spans_have_the_id_and_the_first_token() {
    for (body, source, skipped) in [
        (&recorded!("openlit-1.45.0.binpb")[..], "openlit.instrumentation.openai", 0),
        (recorded!("ai-sdk-otel-1.0.173.binpb"), "gen_ai", 2),
        (recorded!("ai-sdk-legacy-1.0.173.binpb"), "ai", 1),
    ] {
        let (ServerFact { response_id, layer, timing, .. }, others) = recorded_fact(body);
        assert_eq!((&*response_id, layer, others), ("chatcmpl-otel1", Layer::ModelCall, skipped), "{source}");
        assert_eq!((&*timing.source, timing.output_tokens), (source, Some(3)));
        let [ttft_ms, duration_ms] = [timing.ttft_ms, timing.duration_ms].map(Option::unwrap);
        // The scripted server's first chunk came after 300 ms, and the last 120 ms later.
        assert!((300.0..400.0).contains(&ttft_ms) && duration_ms - ttft_ms > 120.0, "{source}: {timing:?}");
        assert!(timing.trace_id.is_some() && timing.ended.is_none(), "{source}: {timing:?}");
    }
}

#[test]
fn a_recorded_span_without_a_first_token_has_the_rest() {
    let body = recorded!("openai-v2-2.4b0.binpb");
    let received = read_protobuf(body, "chat").unwrap();
    let ServerFact { response_id, timing, .. } = &received.facts[0];
    assert_eq!((&**response_id, timing.ttft_ms, timing.output_tokens), ("chatcmpl-otel1", None, Some(3)));
    assert!(timing.duration_ms.unwrap() > 420.0, "{timing:?}");
}

#[test]
fn a_recorded_span_of_openinference_names_only_its_trace() {
    let (fact, others) = recorded_fact(recorded!("openinference-openai-0.1.66.binpb"));
    assert_eq!((&*fact.response_id, fact.layer, others), ("", Layer::ModelCall, 0));
    assert_eq!(fact.timing.trace_id.as_deref(), Some("7a89d501ab5af48743b9cc3258f112e9"));
    assert!((300.0..400.0).contains(&fact.timing.ttft_ms.unwrap()), "{:?}", fact.timing);
}

#[test]
fn a_span_with_a_first_token_may_name_only_its_trace() {
    let traced = |attributes| trace::Span { trace_id: vec![7; 16], ..span(attributes) };
    let first_token = || float("gen_ai.response.time_to_first_token", 0.5);
    let spans = vec![
        traced(vec![first_token()]),
        traced(vec![text("http.url", "SECRET")]),
        span(vec![first_token()]),
    ];
    let received = facts_of(&request("sentry", spans));
    assert_eq!((received.facts.len(), received.skipped, received.refused), (1, 2, 0));
    let ServerFact { response_id, timing, .. } = &received.facts[0];
    assert_eq!((&**response_id, timing.trace_id.as_deref()), ("", Some(&*"07".repeat(16))));
}

#[test]
fn spans_of_other_work_are_skipped_and_wrong_ones_refused() {
    let received = facts_of(&request(
        "ai",
        vec![
            span(vec![text("http.url", "SECRET")]),
            span(vec![text("gen_ai.response.id", "an id with SECRET words")]),
            span(vec![text("gen_ai.response.id", &"x".repeat(300))]),
            span(vec![
                text("gen_ai.response.id", "resp_1"),
                float("gen_ai.response.time_to_first_chunk", -1.0),
            ]),
            span(vec![
                text("gen_ai.response.id", "resp_2"),
                text("gen_ai.response.time_to_first_chunk", "SECRET"),
            ]),
        ],
    ));
    assert_eq!((received.skipped, received.refused, received.facts.len()), (2, 2, 1), "{received:?}");
    assert_eq!(received.facts[0].timing.ttft_ms, None);
}

#[test]
fn numbers_may_be_strings_and_unknown_fields_are_ignored() {
    let body = br#"{"resourceSpans":[{"resource":{"attributes":[]},"later":1,"scopeSpans":[{"spans":[{
        "traceId":"5b8efff798038103d269b633813fc60c","name":"SECRET","kind":3,
        "startTimeUnixNano":1764000000000000000,"endTimeUnixNano":"1764000001000000000",
        "attributes":[{"key":"gen_ai.response.id","value":{"stringValue":"gen-1"}},
            {"key":"gen_ai.usage.output_tokens","value":{"intValue":"12"}},
            {"key":"later","value":{"kvlistValue":{"values":[{"key":"a","value":{"stringValue":"SECRET"}}]}}}],
        "status":{"code":"STATUS_CODE_ERROR"}}]}]}]}"#;
    let received = read_json(body, "chat").unwrap();
    let timing = &received.facts[0].timing;
    assert_eq!((timing.duration_ms, timing.output_tokens), (Some(1_000.0), Some(12)));
    assert_eq!((&*timing.source, timing.ended), ("otel", Some(LayerEnd::Error)));
}

#[test]
fn an_empty_request_is_taken_and_others_refused() {
    for body in ["{}", r#"{"resourceSpans":[]}"#, r#"{"resourceSpans":[{}]}"#] {
        assert_eq!(read_json(body.as_bytes(), "chat").unwrap(), ReceivedFacts::default(), "{body}");
    }
    assert_eq!(read_protobuf(b"", "chat").unwrap(), ReceivedFacts::default());
    assert_eq!(read_json(b"[", "chat").unwrap_err().reason, Reason::BadJson);
    assert_eq!(read_protobuf(b"\xff\xff", "chat").unwrap_err().reason, Reason::BadProtobuf);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _either = (read_protobuf(&bytes, "chat"), read_json(&bytes, "chat"));
    }

    #[test]
    fn no_text_of_an_unknown_attribute_is_read(key in "[a-z_.]{1,20}", value in "SECRET[a-z0-9]{0,8}") {
        prop_assume!(known(&key).is_none());
        facts_of(&request("ai", vec![span(vec![text("gen_ai.response.id", "resp_1"), text(&key, &value)])]));
    }
}
