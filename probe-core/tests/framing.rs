//! Bodies that are not server-sent events: their framing, and the same events at every split.

use probe_core::framing::{Frame, Framing, MAX_EVENT_BYTES};

/// All results of a framing for a body in the given chunks.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    kind: &'static str,
    /// Name and data.
    events: Vec<(String, String)>,
    text: Vec<u8>,
    broken_text: bool,
    oversize: usize,
    html: usize,
    /// Pending bytes at the end, the data of the unfinished event, and whether an array is open.
    pending: (usize, Option<String>, bool),
}

fn listen<'a>(content_type: &str, chunks: impl IntoIterator<Item = &'a [u8]>) -> Heard {
    let (mut heard, mut start, mut framing) = (Heard::default(), Vec::new(), None);
    for chunk in chunks {
        start.extend_from_slice(chunk);
        framing = framing.or_else(|| Framing::of(content_type, &start));
        if let Some(framing) = &mut framing {
            heard.take(framing, &std::mem::take(&mut start));
        }
    }
    let mut framing = framing.unwrap_or_else(|| Framing::named(content_type));
    heard.take(&mut framing, &start);
    heard.kind = match &framing {
        Framing::Sse(_) => "sse",
        Framing::Json(json) if json.are_lines() => "ndjson",
        Framing::Json(_) => "values",
        Framing::PlainText(_) => "text",
        Framing::NeedsFullWasm => "needs the full Wasm",
    };
    let pending = framing.finish();
    heard.pending = (pending.bytes, pending.event.map(|event| text(event.data)), pending.unclosed);
    heard
}

impl Heard {
    fn take(&mut self, framing: &mut Framing, mut chunk: &[u8]) {
        while let Some(frame) = framing.next(&mut chunk) {
            match frame {
                Frame::Event(event) => self.events.push((text(event.name), text(event.data))),
                Frame::Text { bytes, is_utf8 } => {
                    self.text.extend_from_slice(bytes);
                    self.broken_text |= !is_utf8;
                }
                Frame::Oversize => self.oversize += 1,
                Frame::Html => self.html += 1,
                Frame::Comment(_) => {}
            }
        }
    }

    fn data(&self) -> Vec<&str> {
        self.events.iter().map(|(_, data)| data.as_str()).collect()
    }
}

/// Frames a body as a whole, and checks that every split into two and into small chunks gives the same.
fn hear(content_type: &str, body: impl AsRef<[u8]>) -> Heard {
    let body = body.as_ref();
    let whole = listen(content_type, [body]);
    for at in 0..=body.len() {
        let (left, right) = body.split_at(at);
        let shown = String::from_utf8_lossy(body);
        assert_eq!(listen(content_type, [left, right]), whole, "split at {at} of {shown:?}");
    }
    for bytes in 1..9 {
        assert_eq!(listen(content_type, body.chunks(bytes)), whole, "{bytes} at a time");
    }
    whole
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const SSE: &str = "text/event-stream; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

#[test]
fn the_first_bytes_decide_the_kind_of_a_body() {
    for (content_type, body, kind) in [
        (SSE, "data: a\n\n", "sse"),
        (SSE, "\n\ndata: a\n\n", "sse"),
        (SSE, "a: b\ndata: a\n\n", "sse"),
        (SSE, "d", "sse"),
        (SSE, "", "sse"),
        (SSE, "{\"error\":1}", "values"),
        (SSE, "\u{feff}{\"error\":1}", "values"),
        (SSE, "<!DOCTYPE html>", "sse"),
        (SSE, "<!-- 502 -->", "sse"),
        (SSE, "<html lang=\"en\">", "sse"),
        (SSE, "<HTML>", "sse"),
        (SSE, "<head>", "sse"),
        (SSE, "<body class=\"a\">", "sse"),
        (SSE, "0:\"Hi\"\n", "ndjson"),
        ("", "data: a\n\n", "sse"),
        ("", "[{}]", "values"),
        ("", "f:{\"messageId\":\"m\"}\n0:\"Hi\"\n", "ndjson"),
        ("application/json", " [{}]", "values"),
        ("application/json", "{\n \"a\": 1\n}", "values"),
        ("application/x-ndjson", "[1]\n", "ndjson"),
        ("Application/JSONL; charset=utf-8", "{}\n", "ndjson"),
        ("application/json-seq", "\u{1e}{}\n", "ndjson"),
        ("text/plain", "\u{1e}{}\n", "ndjson"),
        (PLAIN, "data: a\n\n", "sse"),
        (PLAIN, ": ping\n\n", "sse"),
        (PLAIN, "data or not", "text"),
        (PLAIN, "data", "text"),
        (PLAIN, "id", "text"),
        (PLAIN, "a: b", "text"),
        (PLAIN, "<think>hm", "text"),
        (PLAIN, "<", "text"),
        (PLAIN, "9:{\"toolCallId\":\"t\"}\n", "ndjson"),
        ("text/html", "<html>", "sse"),
    ] {
        assert_eq!(hear(content_type, body).kind, kind, "{content_type} {body:?}");
    }
}

#[test]
fn bare_text_in_an_event_stream_is_plain_text() {
    for body in [
        "yes, the moon",
        "data is what the moon sends",
        "data; event",
        "the error: none",
        "i'm not sure",
        "naïve",
        "don't",
        "a b: c",
        "e.g. the moon",
        "id est",
        "as-is it_is so: yes",
        "<think>hm</think>data: a\n\n",
        "<b>bold</b>",
        "<h1>The moon</h1>",
        "<3",
        "Once: upon a time",
        "- one\n- two\n",
        "_so_: it is",
        "\u{feff} \n yes, it is",
    ] {
        let heard = hear(SSE, body);
        assert_eq!((heard.kind, heard.text.len()), ("text", body.len()), "{body:?}");
    }
}

#[test]
fn lines_of_unknown_fields_are_events_and_no_text() {
    for body in [
        "note: the moon\n\n",
        "x-trace_id: 7\ndata: a\n\n",
        "error: boom\n\n",
        "ok\ndata: a\n\n",
        "ok\r\ndata: a\r\n\r\n",
        "ok\rdata: a\r\r",
        "yes",
        "a:",
        "<",
        "<bod",
    ] {
        let heard = hear(SSE, body);
        assert_eq!((heard.kind, heard.text.len()), ("sse", 0), "{body:?}");
    }
}

#[test]
fn a_word_without_an_end_is_not_held_back_forever() {
    for (letters, rest, kind) in
        [(64, ": a", "sse"), (64, "", "sse"), (65, "", "text"), (65, ": a", "text"), (300, "\n", "text")]
    {
        assert_eq!(hear(SSE, "a".repeat(letters) + rest).kind, kind, "{letters} {rest:?}");
    }
}

#[test]
fn a_body_of_blanks_is_not_held_back_forever() {
    let blanks = " ".repeat(100);
    assert_eq!(hear(PLAIN, &blanks).text.len(), 100);
    assert_eq!(hear(SSE, &blanks).kind, "sse");
    assert_eq!(hear(PLAIN, blanks + "{}").kind, "text");
}

#[test]
fn an_array_is_told_apart_by_its_brackets() {
    for (body, data, pending) in [
        ("[{\"a\":1},{\"b\":[2]}]", &["{\"a\":1}", "{\"b\":[2]}"][..], (0, None, false)),
        (
            "[{\n  \"a\": \"}]\\\"\"\n}\n,\r\n{\n}\n]\n",
            &["{\n  \"a\": \"}]\\\"\"\n}", "{\n}"],
            (0, None, false),
        ),
        ("[]", &[], (0, None, false)),
        ("[", &[], (0, None, true)),
        ("[{\"a\":1}", &["{\"a\":1}"], (0, None, true)),
        ("[{\"a\":1},{\"b\"", &["{\"a\":1}"], (4, Some("{\"b\""), true)),
        ("[\"a,b\",2,null,[3,[4]]]", &["\"a,b\"", "2", "null", "[3,[4]]"], (0, None, false)),
        ("[1]\n[DONE]\n", &["1", "[DONE]"], (0, None, false)),
    ] {
        let heard = hear("application/json", body);
        assert_eq!(heard.data(), data, "{body:?}");
        assert_eq!(heard.pending, (pending.0, pending.1.map(str::to_owned), pending.2), "{body:?}");
    }
}

#[test]
fn values_follow_each_other_with_or_without_line_ends() {
    for (body, data) in [
        ("{\"a\":1}\n{\"b\":2}\n", &["{\"a\":1}", "{\"b\":2}"][..]),
        ("{\"a\":1}{\"b\":2}", &["{\"a\":1}", "{\"b\":2}"]),
        (
            "{\r\n  \"error\": {\r\n    \"code\": 1\r\n  }\r\n}\r\n",
            &["{\r\n  \"error\": {\r\n    \"code\": 1\r\n  }\r\n}"],
        ),
        ("{}\noops\n{}", &["{}", "oops", "{}"]),
    ] {
        assert_eq!(hear("", body).data(), data, "{body:?}");
    }
}

#[test]
fn the_value_after_a_broken_one_is_found() {
    for (body, data) in [
        ("{\"a\":\n{\"b\":2}\n", &["{\"a\":\n", "{\"b\":2}"][..]),
        ("{\"a\":\"x\n{\"b\":2}\n", &["{\"a\":\"x", "{\"b\":2}"]),
        ("{\"a\":1}}\n{\"b\":2}\n", &["{\"a\":1}", "}", "{\"b\":2}"]),
    ] {
        assert_eq!(hear("", body).data(), data, "{body:?}");
    }
}

#[test]
fn lines_may_have_a_code_a_mark_or_a_separator_before_them() {
    let heard =
        hear("", "f:{\"messageId\":\"m\"}\n0:\"Hi\"\r\n\n0:\" there\"\nd:{\"finishReason\":\"stop\"}");
    let names = heard.events.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["f", "0", "0"]);
    assert_eq!(heard.data(), ["{\"messageId\":\"m\"}", "\"Hi\"", "\" there\""]);
    assert_eq!(heard.pending, (25, Some("{\"finishReason\":\"stop\"}".to_owned()), false));
    assert_eq!(
        hear("application/json-seq", "\u{1e}{\"a\":1}\n\u{1e}{\"b\":2}\n").data(),
        ["{\"a\":1}", "{\"b\":2}"]
    );
    assert_eq!(
        hear("application/jsonl", "\u{feff}{\"a\":1}\r\n\r\n{\"b\":2}\n").data(),
        ["{\"a\":1}", "{\"b\":2}"]
    );
}

#[test]
fn a_blank_line_in_pieces_takes_nothing_with_it() {
    assert_eq!(hear("application/jsonl", "{}\n \n \"a\"\n").data(), ["{}", "\"a\""]);
}

#[test]
fn a_value_over_the_cap_is_skipped_and_the_next_is_read() {
    let long = "x".repeat(MAX_EVENT_BYTES);
    for (content_type, body) in [
        ("", format!("{{\"a\":\"{long}\"}}\n{{}}\n")),
        ("", format!("[{{\"a\":\"{long}\"}},{{}}]")),
        ("application/x-ndjson", format!("{{\"a\":\"{long}\"}}\n{{}}\n")),
    ] {
        for bytes in [usize::MAX, 1, 4096, MAX_EVENT_BYTES, MAX_EVENT_BYTES + 1] {
            let heard = listen(content_type, body.as_bytes().chunks(bytes));
            assert_eq!((heard.oversize, heard.data()), (1, vec!["{}"]), "{bytes} at a time");
        }
    }
}

#[test]
fn text_is_whole_when_its_characters_are() {
    for (body, broken, pending) in [
        ("Once upon a time: \u{1f40c}".as_bytes(), false, 0),
        (b"a\xF0\x9F\x90", false, 3),
        (b"a\xFFb", true, 0),
        (b"a\xF0\x9Fb", true, 0),
        (b"a\xE6\x97", false, 2),
    ] {
        let heard = hear(PLAIN, body);
        assert_eq!((heard.broken_text, heard.pending.0), (broken, pending), "{body:?}");
        assert_eq!(heard.text, body);
    }
}
