//! Every recorded stream in `tests/fixtures/streams` gives its expected report, at every split of its bytes.

#[path = "../examples/replay/recording.rs"]
mod recording;

use std::fs;
use std::iter;
use std::ops::Range;
use std::path::{Path, PathBuf};

use beacon::StreamReport;
use serde_json::Value;

use recording::{Recorded, Recording, Response, without_durations};

fn streams() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/streams");
    let mut streams = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "body" || kind == "jsonl"))
        .collect::<Vec<_>>();
    streams.sort();
    assert!(streams.len() > 60, "the fixtures are there");
    streams
}

fn load(path: &Path) -> Recording {
    let bytes = fs::read(path).unwrap();
    match path.extension() {
        Some(kind) if kind == "jsonl" => Recording::timeline(&bytes).unwrap(),
        _ => Recording::body(bytes),
    }
}

/// The same response and end with these reads, without times.
fn with_reads(recording: &Recording, chunks: &[&[u8]]) -> Recording {
    let response = recording.response.clone().map(|response| Response { at_ms: 0.0, ..response });
    let reads = chunks.iter().map(|chunk| Recorded { at_ms: 0.0, bytes: chunk.to_vec() }).collect();
    Recording { response, reads, end: (recording.end.0, 0.0), timed: false }
}

/// The report without times and without counts of reads.
fn unsplit(report: StreamReport) -> StreamReport {
    StreamReport { chunks: 0, ..without_durations(report) }
}

#[test]
fn each_stream_gives_its_expected_report() {
    let mut wrong = Vec::new();
    for path in streams() {
        let expected = path.with_extension("expected.json");
        let expected: Value = serde_json::from_slice(&fs::read(&expected).unwrap()).unwrap();
        let report = load(&path).report();
        assert_eq!(report.check(), Ok(()), "{}", path.display());
        let mut report = serde_json::to_value(report).unwrap();
        report.as_object_mut().unwrap().remove("id");
        if report != expected {
            wrong.push(format!("{}: {report}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_report_depends_on_how_the_bytes_are_split() {
    for path in streams() {
        let recording = load(&path);
        let body = recording.reads.iter().flat_map(|read| read.bytes.clone()).collect::<Vec<_>>();
        let report = |chunks: &[&[u8]]| unsplit(with_reads(&recording, chunks).report());
        let whole = report(&[&body]);
        // Every offset in a stream of usual size, and a prime step through the few long ones.
        let step = if body.len() > 8192 { 97 } else { 1 };
        for at in (0..=body.len()).step_by(step) {
            let (left, right) = body.split_at(at);
            assert_eq!(report(&[left, right]), whole, "{} split at {at}", path.display());
        }
        let bytes = body.chunks(1).collect::<Vec<_>>();
        assert_eq!(report(&bytes), whole, "{} byte by byte", path.display());
    }
}

#[test]
fn a_stream_cut_before_its_end_is_never_complete() {
    for name in ["llamaserver_chat", "aimock_chat", "aimock_anthropic", "aimock_responses", "ollama_chat"] {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/fixtures/streams/{name}.body"));
        let body = fs::read(path).unwrap();
        let outcome = |at: usize| Recording::body(body[..at].to_vec()).report().outcome.as_str();
        let first_end = (0..=body.len()).find(|&at| outcome(at) == "complete").unwrap();
        // From the finish reason on, which is in the last but one event at the earliest.
        assert!(first_end > body.len() * 7 / 10, "{name}: complete after {first_end} of {}", body.len());
        for at in 0..first_end {
            assert!(matches!(outcome(at), "empty" | "truncated"), "{name} cut at {at}: {}", outcome(at));
        }
        for at in first_end..=body.len() {
            assert_eq!(outcome(at), "complete", "{name} cut at {at}");
        }
    }
}

#[test]
fn a_secret_at_any_place_of_any_stream_stays_out_of_reports() {
    for path in streams() {
        let recording = load(&path);
        let body = recording.reads.iter().flat_map(|read| read.bytes.clone()).collect::<Vec<_>>();
        let body = String::from_utf8_lossy(&body);
        // The first places in a long stream: later events have the shape of earlier ones.
        for place in places(&body).take(300) {
            for secret in SECRETS {
                let planted = format!("{}{secret}{}", &body[..place.start], &body[place.end..]);
                let report = with_reads(&recording, &[planted.as_bytes()]).report();
                let report = serde_json::to_string(&report).unwrap();
                for part in ["medical", "geheim", "\u{79d8}"] {
                    assert!(!report.contains(part), "{}: {planted} gave {report}", path.display());
                }
            }
        }
    }
}

/// A secret with the shape of a name, in the place of every value that the report does not have, and of an object with
/// keys that hold names elsewhere.
#[test]
fn a_secret_like_a_name_is_read_at_known_places_only() {
    let below = format!("{{{}}}", NAMING_KEYS.map(|key| format!("\"{key}\":\"{SECRET_NAME}\"")).join(","));
    let mut planted_in = 0;
    for path in streams() {
        let name = path.file_name().unwrap().to_string_lossy();
        // Their known places hold no names, so the report does not have these values either.
        if ["chat_azure", "chat_hostile_values"].iter().any(|nameless| name.starts_with(nameless)) {
            continue;
        }
        let recording = load(&path);
        let body = recording.reads.iter().flat_map(|read| read.bytes.clone()).collect::<Vec<_>>();
        let body = String::from_utf8_lossy(&body);
        let report =
            |body: &str| serde_json::to_string(&with_reads(&recording, &[body.as_bytes()]).report()).unwrap();
        let reported = report(&body);
        for place in places(&body).take(300) {
            let Some(key) = key_of(&body, place.start) else { continue };
            // A stream may be cut within a string.
            let Some(after) = body.get(place.end + 1..) else { continue };
            if reported.contains(&format!("\"{}\"", &body[place.clone()])) {
                continue;
            }
            planted_in += 1;
            for value in [&format!("\"{SECRET_NAME}\""), &below] {
                let report = report(&format!("{}{value}{after}", &body[..place.start - 1]));
                assert!(!report.contains(SECRET_NAME), "{name}: `{key}` with {value} gave {report}");
            }
        }
    }
    assert!(planted_in > 1_000, "{planted_in}");
}

/// The key of the string that begins at `start`. `None` for a key itself, and for an item of a list.
fn key_of(body: &str, start: usize) -> Option<&str> {
    let before =
        body[..start].strip_suffix('"')?.trim_end().strip_suffix(':')?.trim_end().strip_suffix('"')?;
    Some(&before[before.rfind('"')? + 1..])
}

const SECRET_NAME: &str = "jane.roe-medical-history";

/// Keys whose values are names in one dialect or another.
const NAMING_KEYS: [&str; 6] = ["id", "model", "finish_reason", "stop_reason", "responseId", "modelVersion"];

/// No name has blanks, letters outside ASCII or quotes.
const SECRETS: [&str; 3] = ["my medical history", "\u{79d8}\u{5bc6}", r#"geheim\",\"model\":\"geheim!"#];

/// The contents of all JSON strings, of `event:` and `id:` fields and of comments, from the front.
fn places(body: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    iter::from_fn(move || {
        let rest = &body[from..];
        let quote = rest.find('"').map(|at| (at + 1, string_len(&rest[at + 1..])));
        let field = ["event: ", "id: ", "\n: "].iter().filter_map(|name| {
            let at = rest.find(name)? + name.len();
            Some((at, rest[at..].find('\n').unwrap_or(rest.len() - at)))
        });
        let (at, len) = quote.into_iter().chain(field).min()?;
        let start = from + at;
        from = (start + len + 1).min(body.len());
        Some(start..start + len)
    })
}

/// Bytes up to the quote that ends a string.
fn string_len(text: &str) -> usize {
    let mut escaped = false;
    let end = |byte: u8| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    };
    text.bytes().position(end).unwrap_or(text.len())
}

#[test]
fn no_text_of_an_answer_is_in_any_report() {
    const SECRET: &str = "my medical history";
    for body in [
        r#"data: {"id":"a","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"TEXT","reasoning":"TEXT","refusal":"TEXT","tool_calls":[{"id":"TEXT","function":{"name":"TEXT","arguments":"TEXT"}}]},"finish_reason":null}],"error":{"message":"TEXT"}}"#,
        r#"data: {"type":"response.completed","delta":"TEXT","response":{"id":"a","output":[{"content":[{"text":"TEXT"}]}],"instructions":"TEXT","error":{"message":"TEXT"}}}"#,
        r#"data: {"type":"content_block_delta","delta":{"text":"TEXT","thinking":"TEXT","partial_json":"TEXT"},"error":{"message":"TEXT"}}"#,
        r#"{"model":"m","created_at":"x","message":{"content":"TEXT","thinking":"TEXT"},"response":"TEXT","done":false,"error":"TEXT"}"#,
        r#"data: {"candidates":[{"content":{"parts":[{"text":"TEXT"},{"functionCall":{"args":{"a":"TEXT"}}}]}}]}"#,
        r#"data: {"event_type":"step.delta","delta":{"type":"text","text":"TEXT","arguments":"TEXT"}}"#,
        r#"data: {"type":"message.output.delta","content":[{"text":"TEXT"}],"arguments":"TEXT"}"#,
        r#"data: {"type":"content-delta","delta":{"message":{"content":{"text":"TEXT"},"tool_plan":"TEXT"}}}"#,
        r#"data: {"type":"text-delta","delta":"TEXT","input":{"a":"TEXT"},"errorText":"TEXT"}"#,
        r#"data: {"type":"TEXT_MESSAGE_CONTENT","delta":"TEXT","message":"TEXT"}"#,
        r#"data: {"token":{"text":"TEXT"},"generated_text":"TEXT"}"#,
        "event: messages\ndata: [{\"content\":\"TEXT\"},{}]",
        "id: 1\nevent: text\ndata: \"TEXT\"",
        "0:\"TEXT\"\ng:\"TEXT\"\n3:\"TEXT\"\n",
        r#"{"type":"stream","token":"TEXT"}"#,
        "data: TEXT",
        ": llm-rum {\"note\":\"TEXT\"}",
        ": llm-rum {\"ttft_ms\":1,\"id\":\"TEXT\"}",
        "event: TEXT\nid: TEXT\ndata: {}",
    ] {
        let body = format!("{}\n\n", body.replace("TEXT", SECRET));
        let report = serde_json::to_string(&Recording::body(body.clone().into_bytes()).report()).unwrap();
        assert!(!report.contains(SECRET), "{body} gave {report}");
    }
}
