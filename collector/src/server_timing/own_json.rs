//! The collector's own format of facts: `{"facts":[{"id":"chatcmpl-…","layer":"app","source":"asgi","ttft_ms":812.4}]}`,
//! or the list alone, as shippers of logs send it. Fields: `docs/server-timing-push.md`.

use std::borrow::Cow;

use beacon::{LayerEnd, LayerTiming, ServerStart};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::json_items;
use super::received_fact::{Invalid, ReceivedFacts, checked};
use crate::http::error::{ApiError, Reason};
use crate::report::server_fact::{Layer, ServerFact};

/// One fact. Unknown fields are ignored.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Fact<'a> {
    /// The id that the response itself carries: `id`, `response.id`, `message.id`, … Absent: `trace_id` names the
    /// stream.
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    /// `edge`, `app`, `model_call`, `gateway` or `engine`.
    #[serde(borrow)]
    layer: Cow<'a, str>,
    /// Program that measured, such as `asgi`.
    #[serde(borrow)]
    source: Cow<'a, str>,
    /// The moment from which `ttft_ms` counts: `arrival`, `scheduled` or `prefill`.
    #[serde(borrow)]
    starts_from: Option<Cow<'a, str>>,
    queue_ms: Option<f64>,
    prefill_ms: Option<f64>,
    ttft_ms: Option<f64>,
    generation_ms: Option<f64>,
    duration_ms: Option<f64>,
    output_tokens: Option<u64>,
    /// `complete`, `client_gone` or `error`.
    #[serde(borrow)]
    ended: Option<Cow<'a, str>>,
    tokens_after_gone: Option<u64>,
    #[serde(default)]
    cached: bool,
    /// Id of the trace: 32 hexadecimal digits in small letters.
    #[serde(borrow)]
    trace_id: Option<Cow<'a, str>>,
}

/// Reads a body of facts about streams of this site.
pub(crate) fn read(body: &[u8], site: &str) -> Result<ReceivedFacts, ApiError> {
    let mut received = ReceivedFacts::default();
    // Each is parsed by itself, so that a wrong one does not cost the others.
    let mut add = |fact: &RawValue| {
        let fact = serde_json::from_str::<Fact<'_>>(fact.get());
        let wrong_type = |_| Invalid::new("", "has a field of a wrong type, or lacks `layer` or `source`");
        received.add(fact.map_err(wrong_type).and_then(|fact| fact.checked(site)));
    };
    let read = match body.trim_ascii_start().first() {
        Some(b'[') => json_items::each(body, &mut add),
        _ => json_items::each_of(body, "facts", &mut add),
    };
    read.map_err(|error| {
        // The message of serde may quote a text of the body.
        let message = format!(
            "the body is neither `{{\"facts\":[…]}}` nor a list of facts: see line {}, column {}",
            error.line(),
            error.column()
        );
        ApiError::new(Reason::BadJson, message)
    })?;
    Ok(received)
}

impl Fact<'_> {
    fn checked(self, site: &str) -> Result<ServerFact, Invalid> {
        let layer = Layer::ALL.into_iter().find(|layer| layer.as_str() == self.layer);
        let layer = layer
            .ok_or_else(|| Invalid::new("layer", "must be one of edge, app, model_call, gateway, engine"))?;
        let start = |word: Cow<'_, str>| {
            let invalid = || Invalid::new("starts_from", "must be one of arrival, scheduled, prefill");
            ServerStart::from_word(&word).ok_or_else(invalid)
        };
        let end = |word: Cow<'_, str>| {
            let invalid = || Invalid::new("ended", "must be one of complete, client_gone, error");
            LayerEnd::from_word(&word).ok_or_else(invalid)
        };
        let timing = LayerTiming {
            source: Cow::Owned(self.source.into_owned()),
            starts_from: self.starts_from.map(start).transpose()?,
            queue_ms: self.queue_ms,
            prefill_ms: self.prefill_ms,
            ttft_ms: self.ttft_ms,
            generation_ms: self.generation_ms,
            duration_ms: self.duration_ms,
            output_tokens: self.output_tokens,
            ended: self.ended.map(end).transpose()?,
            tokens_after_gone: self.tokens_after_gone,
            cached: self.cached,
            trace_id: self.trace_id.map(|id| Cow::Owned(id.into_owned())),
        };
        checked(site, self.id.as_deref(), layer, timing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_fact_does_not_cost_the_others() {
        let body = r#"{"facts":[
            {"id":"chatcmpl-1","layer":"app","source":"asgi","ttft_ms":812.4,"queue_ms":3,"ended":"client_gone",
             "tokens_after_gone":7,"prompt":"SECRET"},
            {"id":"chatcmpl-2","layer":"roof","source":"asgi","ttft_ms":1},
            {"id":"the prompt SECRET","layer":"app","source":"asgi","ttft_ms":1},
            {"id":"chatcmpl-3","layer":"app","source":"asgi","ttft_ms":-1},
            {"id":"chatcmpl-4","layer":"app","source":"asgi"},
            {"id":"chatcmpl-5","layer":"app","source":"SECRET words","ttft_ms":1},
            {"id":5}, "SECRET",
            {"layer":"edge","source":"nginx","duration_ms":1},
            {"layer":"edge","source":"nginx","duration_ms":1,"trace_id":"SECRET words"},
            {"id":"chatcmpl-6","layer":"engine","source":"vllm","starts_from":"scheduled","ttft_ms":0},
            {"layer":"edge","source":"nginx","duration_ms":1,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}
        ]}"#;
        let received = read(body.as_bytes(), "chat").unwrap();
        let ids: Vec<_> = received.facts.iter().map(|fact| &*fact.response_id).collect();
        assert_eq!((ids, received.refused), (vec!["chatcmpl-1", "chatcmpl-6", ""], 9));
        let app = &received.facts[0];
        assert_eq!(
            (app.layer, app.timing.queue_ms, app.timing.ended),
            (Layer::App, Some(3.0), Some(LayerEnd::ClientGone))
        );
        assert_eq!(received.facts[1].timing.starts_from, Some(ServerStart::Scheduled));
        assert!(!format!("{received:?}").contains("SECRET"));
        assert!(received.first_refusal.unwrap().starts_with("item 1: `layer` must be one of"));
    }

    #[test]
    fn a_body_that_is_not_a_list_of_facts_is_refused() {
        for body in ["", "[1,", r#"{"facts":{}}"#, r#"{"facts":"SECRET"}"#, "{\"facts\":[1,", "\u{0}"] {
            let refused = read(body.as_bytes(), "chat").unwrap_err();
            assert_eq!(refused.reason, Reason::BadJson, "{body}");
            assert!(!refused.message().contains("SECRET"));
        }
        for empty in ["{}", r#"{"facts":[]}"#, "[]"] {
            assert_eq!(read(empty.as_bytes(), "chat").unwrap(), ReceivedFacts::default());
        }
    }

    #[test]
    fn a_list_alone_is_read_as_one_with_a_name() {
        let list = r#" [{"id":"a","layer":"app","source":"asgi","ttft_ms":1},{"layer":"edge"}]"#;
        let named = format!("{{\"facts\":{list}}}");
        let received = read(list.as_bytes(), "chat").unwrap();
        assert_eq!((received.facts.len(), received.refused), (1, 1));
        assert_eq!(received, read(named.as_bytes(), "chat").unwrap());
    }
}
