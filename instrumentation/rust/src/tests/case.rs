//! Reads the contract and compares responses with it.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};

use super::scripted::{Act, Received, Step};

/// `instrumentation/contract.json`.
pub(super) static CONTRACT: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../contract.json")).expect("the contract is JSON")
});

/// The elements of a list in the contract, which has some.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    let list = value[name].as_array().unwrap_or_else(|| panic!("no list {name} in {value}"));
    list.as_slice()
}

pub(super) fn text_of(value: &Value) -> Vec<u8> {
    if let Some(text) = value.as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(texts) = value.as_array() {
        return texts.iter().flat_map(text_of).collect();
    }
    match value["base64"].as_str() {
        Some(text) => BASE64_STANDARD.decode(text).unwrap(),
        None => value["repeat"].as_str().unwrap().repeat(value["times"].as_u64().unwrap() as usize).into(),
    }
}

/// What the app does in a case.
pub(super) fn steps(case: &Value) -> Vec<Step> {
    let mut at_ms = 0.0;
    let step = |step: &Value| {
        at_ms = step["at_ms"].as_f64().unwrap_or(at_ms);
        let act = if let Some(text) = step.get("send") {
            Act::Send(text_of(text).into())
        } else if let Some(values) = step.get("mark") {
            // A count that is negative, broken or no number is no `u64`, and a string is no `f64`.
            Act::Mark {
                queue_ms: values["queue_ms"].as_f64(),
                output_tokens: values["output_tokens"].as_u64(),
            }
        } else if step.get("fail").is_some() {
            Act::Fail
        } else {
            assert_eq!(*step, json!({ "client_leaves": true }));
            Act::ClientLeaves
        };
        Step { at_ms, act }
    };
    list(case, "steps").iter().map(step).collect()
}

/// The steps with one more cut at each position of the body, and with each byte as a chunk.
pub(super) fn cuts(case: &Value) -> Vec<Vec<Step>> {
    let whole = steps(case);
    let mut found = Vec::new();
    for (at, step) in whole.iter().enumerate() {
        let Act::Send(bytes) = &step.act else { continue };
        for cut in 1..bytes.len() {
            let pieces = [bytes.slice(..cut), bytes.slice(cut..)];
            let pieces = pieces.map(|piece| Step { at_ms: step.at_ms, act: Act::Send(piece) });
            found.push([&whole[..at], &pieces, &whole[at + 1..]].concat());
        }
    }
    let in_bytes = whole.iter().flat_map(|step| match &step.act {
        Act::Send(bytes) => {
            let pieces = (0..bytes.len()).map(|at| bytes.slice(at..=at));
            pieces.map(|piece| Step { at_ms: step.at_ms, act: Act::Send(piece) }).collect()
        }
        _ => vec![step.clone()],
    });
    found.push(in_bytes.collect());
    found
}

/// Fails if the client did not receive what the contract says.
pub(super) fn check(case: &Value, client: &Value, sent: &[Step], received: &Received) {
    let is_unchanged = client["comments"] == false || case["expect"] == "unchanged";
    let own: Vec<u8> = sent.iter().flat_map(|step| step.sent().to_vec()).collect();
    assert_eq!(received.status, case["response"]["status"].as_u64().unwrap_or(200));
    let changed_headers = case.get("expect_headers").filter(|_| !is_unchanged);
    let headers = changed_headers.or_else(|| case["response"].get("headers"));
    assert_eq!(received.headers, headers.map_or_else(default_headers, headers_of));
    let fails = sent.iter().any(|step| matches!(step.act, Act::Fail));
    assert_eq!(received.has_failed, fails);
    let body = received.chunks.concat();
    if is_unchanged {
        assert_eq!(body, own);
        let chunks: Vec<&Bytes> = sent.iter().filter_map(Step::chunk).collect();
        assert_eq!(received.chunks.iter().collect::<Vec<_>>(), chunks);
    } else {
        let expected = Expected::new(list(case, "expect"));
        assert_eq!(expected.body, own);
        expected.check(body, sent);
    }
}

/// Fails if the body for the collector is not what the contract says, or the stream has another id.
pub(super) fn check_fact(case: &Value, client: &Value, sent: &[Step], text: &str, body: &Value) {
    let own: Vec<u8> = sent.iter().flat_map(|step| step.sent().to_vec()).collect();
    let is_comment = |event: &&str| event.starts_with(": llm-rum ");
    let (comments, rest): (Vec<_>, Vec<_>) = text.split_inclusive("\n\n").partition(is_comment);
    assert_eq!(rest.concat().as_bytes(), own);
    let ids = comments.iter().map(|comment| {
        let values: Value = serde_json::from_str(comment.trim_start_matches(": llm-rum ")).unwrap();
        values["id"].as_str().map(str::to_owned)
    });
    let ids: Vec<_> = ids.collect();
    let facts = body["facts"].as_array().unwrap();
    let Some(expected) = case.get("fact").filter(|_| client["comments"] == true) else {
        assert_eq!((facts.len(), ids.len()), (0, 0));
        return;
    };
    let [fact] = &facts[..] else { panic!("{facts:?}") };
    let id = fact["id"].as_str().unwrap();
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    assert!((16..=64).contains(&id.len()) && id.bytes().all(is_allowed), "{id}");
    assert_eq!(fact["source"], "llm-rum-tower");
    let told = fact.as_object().unwrap().iter();
    let told = told.filter(|(name, value)| !value.is_null() && *name != "id" && *name != "source");
    let with_floats = |(name, value): (&String, &Value)| {
        (name.clone(), value.as_f64().map_or_else(|| value.clone(), Value::from))
    };
    let expected: Value = expected.as_object().unwrap().iter().map(with_floats).collect();
    assert_eq!(told.map(with_floats).collect::<Value>(), expected);
    assert!(ids.iter().enumerate().all(|(at, own)| own.as_deref() == (at == 0).then_some(id)), "{ids:?}");
}

/// Names in lower case, with their values, sorted.
pub(super) fn headers_of(object: &Value) -> Vec<(String, String)> {
    let header = |(name, value): (&String, &Value)| (name.to_lowercase(), value.as_str().unwrap().to_owned());
    let mut headers: Vec<_> = object.as_object().unwrap().iter().map(header).collect();
    headers.sort();
    headers
}

pub(super) fn default_headers() -> Vec<(String, String)> {
    vec![("content-type".to_owned(), "text/event-stream".to_owned())]
}

/// The app's own body, with the comments that the layer adds.
#[derive(Default)]
struct Expected {
    body: Vec<u8>,
    comments: Vec<Comment>,
}

struct Comment {
    name: String,
    values: Value,
    end: String,
    place: usize,
    late_place: Option<usize>,
}

impl Expected {
    fn new(parts: &[Value]) -> Self {
        let mut expected = Self::default();
        let place = |body: &[u8]| body.len();
        for part in parts {
            if let Some(name) = part.get("comment") {
                expected.comments.push(Comment {
                    name: name.as_str().unwrap().to_owned(),
                    values: part["values"].clone(),
                    end: part["end"].as_str().unwrap().to_owned(),
                    place: place(&expected.body),
                    late_place: None,
                });
            } else if let Some(name) = part.get("late") {
                let of_name = |comment: &&mut Comment| Some(&*comment.name) == name.as_str();
                let comment = expected.comments.iter_mut().find(of_name).expect("the comment before");
                comment.late_place = Some(place(&expected.body));
            } else {
                expected.body.extend(text_of(part));
            }
        }
        expected
    }

    fn check(&self, mut body: Vec<u8>, sent: &[Step]) {
        let ends = sent.iter().scan(0, |at, step| {
            *at += step.sent().len();
            Some(*at)
        });
        let cuts: Vec<usize> = ends.collect();
        let mut own = 0;
        for Comment { name, values, end, place, late_place } in &self.comments {
            let found = memchr::memmem::find(&body[own..], b": llm-rum ");
            let start =
                own + found.unwrap_or_else(|| panic!("no {name} comment in {:?}", Bytes::from(body.clone())));
            let rest = &body[start + ": llm-rum ".len()..];
            let json = &rest[..memchr::memchr2(b'\n', b'\r', rest).expect("the end of the comment")];
            let after = &rest[json.len()..];
            assert!(after.starts_with(end.as_bytes()), "{name}: {:?}", Bytes::from(after.to_vec()));
            assert_eq!(in_f64(serde_json::from_slice(json).unwrap()), in_f64(values.clone()), "{name}");
            let length = ": llm-rum ".len() + json.len() + end.len();
            assert!(length <= 120, "{length} bytes");
            let is_cut =
                late_place.is_some_and(|late| cuts.iter().any(|cut| (*place + 1..late).contains(cut)));
            let is_late = is_cut && Some(start) == *late_place;
            assert!(start == *place || is_late, "{name} at {start}, not at {place} or {late_place:?}");
            body.drain(start..start + length);
            own = start;
        }
        assert_eq!(Bytes::from(body), self.body);
    }
}

/// An object whose numbers are all floats: 50 and 50.0 are the same in JSON.
fn in_f64(object: Value) -> Value {
    let Value::Object(fields) = object else { panic!("no object: {object}") };
    fields.into_iter().map(|(name, value)| (name, value.as_f64())).collect()
}
