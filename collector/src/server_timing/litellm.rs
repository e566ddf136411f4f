//! Batches that the proxy of LiteLLM sends with its callback `generic_api`: one payload, an array of them, or one in each
//! line. Only the fields below are decoded: a payload can have whole prompts and answers.

use std::borrow::Cow;

use beacon::{LayerEnd, LayerTiming};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::json_items;
use super::received_fact::{Invalid, ReceivedFacts, checked};
use crate::http::error::{ApiError, Reason};
use crate::report::server_fact::{Layer, ServerFact};

/// The fields of LiteLLM's `StandardLoggingPayload` that say something about a stream. Times are seconds since 1970.
#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(rename = "startTime")]
    start_s: Option<f64>,
    #[serde(rename = "endTime")]
    end_s: Option<f64>,
    #[serde(rename = "completionStartTime")]
    first_chunk_s: Option<f64>,
    stream: Option<bool>,
    cache_hit: Option<bool>,
    completion_tokens: Option<u64>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
}

/// Reads a body of payloads of streams of this site.
pub(crate) fn read(body: &[u8], site: &str) -> Result<ReceivedFacts, ApiError> {
    let mut received = ReceivedFacts::default();
    let mut add = |payload: &RawValue| match serde_json::from_str::<Payload<'_>>(payload.get()) {
        Ok(payload) => match payload.fact(site) {
            Some(fact) => received.add(fact),
            None => received.skipped += 1,
        },
        Err(_) => {
            received.add(Err(Invalid::new("", "is not a payload, or has a field of a wrong type")));
        }
    };
    if body.trim_ascii_start().starts_with(b"[") {
        json_items::each(body, &mut add).map_err(|error| not_json(&error))?;
    } else {
        let payloads = serde_json::Deserializer::from_slice(body).into_iter::<&RawValue>();
        for payload in payloads {
            add(payload.map_err(|error| not_json(&error))?);
        }
    }
    Ok(received)
}

/// The message of serde may quote a text of the body.
fn not_json(error: &serde_json::Error) -> ApiError {
    let place = format!("see line {}, column {}", error.line(), error.column());
    ApiError::new(Reason::BadJson, format!("the body is not one payload, an array or lines of them: {place}"))
}

impl Payload<'_> {
    /// `None` if it has no id of a response.
    fn fact(self, site: &str) -> Option<Result<ServerFact, Invalid>> {
        let id = self.id.filter(|id| !id.is_empty())?;
        let cached = self.cache_hit == Some(true);
        // LiteLLM adds `_cache_hit` and the time to the id that the browser gets.
        let response_id = if cached { id.split("_cache_hit").next().unwrap_or(&id) } else { &id };
        let is_stream = self.stream == Some(true);
        let since_start_ms = |s: f64| Some((s - self.start_s?) * 1_000.0);
        // Where LiteLLM saw no first chunk, it writes the end.
        let first_chunk_s =
            self.first_chunk_s.filter(|first| is_stream && self.end_s.is_none_or(|end| *first < end));
        let timing = LayerTiming {
            source: "litellm".into(),
            ttft_ms: first_chunk_s.and_then(since_start_ms),
            duration_ms: self.end_s.and_then(since_start_ms),
            output_tokens: self.completion_tokens.filter(|tokens| *tokens > 0),
            ended: self.status.and_then(|status| match &*status {
                "success" => Some(LayerEnd::Complete),
                "failure" => Some(LayerEnd::Error),
                _ => None,
            }),
            cached,
            ..LayerTiming::default()
        };
        Some(checked(site, Some(response_id), Layer::Gateway, timing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written after LiteLLM 1.110.2, `types/utils.py`.
    fn payload(id: &str, more: &str) -> String {
        format!(
            r#"{{"id":"{id}","trace_id":"t","call_type":"acompletion","cache_hit":null,"stream":true,"status":"success",
            "startTime":1764000000.25,"completionStartTime":1764000000.75,"endTime":1764000002.25,
            "completion_tokens":41,"model":"gpt-5","messages":[{{"role":"user","content":"SECRET"}}],
            "response":{{"choices":["SECRET"]}},"end_user":"SECRET","requester_ip_address":"192.0.2.1"{more}}}"#
        )
    }

    fn facts(body: &str) -> Vec<ServerFact> {
        let received = read(body.as_bytes(), "chat").unwrap();
        assert!(!format!("{received:?}").contains("SECRET"));
        received.facts
    }

    #[test]
    fn one_payload_an_array_and_lines_are_read() {
        let (one, two) = (payload("chatcmpl-1", ""), payload("chatcmpl-2", ""));
        let lines = |text: &str| text.replace('\n', " ");
        assert_eq!(facts(&one).len(), 1);
        assert_eq!(facts(&format!("[{one},{two}]")).len(), 2);
        assert_eq!(facts(&format!("{}\n{}\n", lines(&one), lines(&two))).len(), 2);
        assert_eq!(facts(""), []);
        let timing = &facts(&one)[0].timing;
        assert_eq!((timing.ttft_ms, timing.duration_ms), (Some(500.0), Some(2_000.0)));
        assert_eq!((timing.output_tokens, timing.ended), (Some(41), Some(LayerEnd::Complete)));
    }

    #[test]
    fn a_first_chunk_that_was_not_seen_is_absent() {
        let twice = |more| facts(&payload("chatcmpl-1", more).replacen("1764000000.75", "1764000002.25", 1));
        assert_eq!(twice("")[0].timing.ttft_ms, None);
        let whole = payload("chatcmpl-1", "").replace("\"stream\":true", "\"stream\":false");
        assert_eq!(facts(&whole)[0].timing.ttft_ms, None);
    }

    #[test]
    fn failures_and_cached_answers_are_told_apart() {
        let failed = payload("chatcmpl-1", "").replace("success", "failure");
        assert_eq!(facts(&failed)[0].timing.ended, Some(LayerEnd::Error));
        let id = "chatcmpl-1_cache_hit1795892834.3912773";
        let cached = payload(id, "").replace("\"cache_hit\":null", "\"cache_hit\":true");
        let facts_of =
            |payload| facts(payload).into_iter().map(|fact| (fact.response_id, fact.timing.cached));
        assert_eq!(facts_of(&cached).collect::<Vec<_>>(), [("chatcmpl-1".into(), true)]);
        assert_eq!(facts_of(&payload(id, "")).collect::<Vec<_>>(), [(id.into(), false)]);
    }

    #[test]
    fn a_wrong_payload_costs_no_other() {
        let wrong = payload("chatcmpl-1", "").replace("1764000000.25", "\"SECRET\"");
        let body = format!("[{wrong},{},{{\"id\":\"SECRET words\"}},5,{{}}]", payload("chatcmpl-2", ""));
        let received = read(body.as_bytes(), "chat").unwrap();
        assert_eq!((received.facts.len(), received.refused, received.skipped), (1, 3, 1));
        assert!(!format!("{received:?}").contains("SECRET"));
        assert_eq!(read(b"[{]", "chat").unwrap_err().reason, Reason::BadJson);
        assert_eq!(read(b"{\"id\":", "chat").unwrap_err().reason, Reason::BadJson);
    }
}
