//! Bodies that the contract has no case for.

use std::time::Duration;

use crate::comment_writer::CommentWriter;
use crate::marks::Marks;

/// The body with comments, for chunks that arrive a millisecond apart.
fn commented(chunks: &[&[u8]]) -> String {
    let mut writer = CommentWriter::new(Marks::default(), None);
    let mut body = Vec::new();
    for (chunk, at_ms) in chunks.iter().zip(1..) {
        match writer.feed(chunk, Duration::from_millis(at_ms)) {
            Some(with_comments) => body.extend(with_comments),
            None => body.extend_from_slice(chunk),
        }
    }
    body.extend(writer.end().into_iter().flatten());
    String::from_utf8_lossy(&body).into_owned()
}

fn commented_texts(chunks: &[&str]) -> String {
    commented(&chunks.iter().map(|chunk| chunk.as_bytes()).collect::<Vec<_>>())
}

fn has_comment(chunks: &[&str]) -> bool {
    commented_texts(chunks).contains(": llm-rum ")
}

fn first(ttft_ms: u32) -> String {
    format!(": llm-rum {{\"ttft_ms\":{ttft_ms}}}")
}

fn second(generation_ms: u32) -> String {
    format!(": llm-rum {{\"generation_ms\":{generation_ms}}}")
}

#[test]
fn fields_behind_a_byte_order_mark_are_fields() {
    let (id, text) = ("\u{feff}id: 1\n\n", "data: A\n\n");
    assert_eq!(commented_texts(&[id, text]), format!("{id}{}\n{text}", first(2)));
    assert!(!has_comment(&["\u{feff}data:\n\n"]));
    assert!(!has_comment(&["\u{feff}event: ping\ndata: A\n\n"]));
    assert!(!has_comment(&[&format!("\u{feff}: {}\ndata:\n\n", "x".repeat(20_000))]));
}

#[test]
fn a_later_event_may_begin_with_a_byte_order_mark() {
    let events = ["data: [1]\n\n", "\u{feff}id: 1\n\n", "data: B\n\n"];
    let expected = format!("{}\n\n{}{}\n\n", first(1), events.concat(), second(2));
    assert_eq!(commented_texts(&events), expected);
}

#[test]
fn a_character_that_chunks_cut_is_one_character() {
    let event = "data: {\"type\":\"é\"}\n\n".as_bytes();
    let cut = event.iter().position(|byte| !byte.is_ascii()).unwrap() + 1;
    assert!(commented(&[&event[..cut], &event[cut..]]).contains("ttft_ms"));
}

#[test]
fn a_long_event_has_data_only_if_one_of_its_lines_has() {
    let long = format!(": {}\n", "x".repeat(20_000));
    let without = ["data:\n\n", "data: \n\n", "id: data: A\n\n"].map(|end| format!("{long}{end}"));
    assert!(!has_comment(&without.each_ref().map(String::as_str)));
    assert!(has_comment(&[&format!("data: A\n{long}\n")]));
    // A later event does not have the data of an earlier one.
    assert!(!has_comment(&["event: ping\ndata: A\n\n", &without[0]]));
}

#[test]
fn a_long_events_name_counts_only_if_it_is_kept_whole() {
    let kept = 16_384 - "event: ping".len() - 3;
    assert!(has_comment(&[&format!(": {}\nevent: pingpong\ndata: A\n\n", "x".repeat(kept))]));
    assert!(!has_comment(&[&format!(": {}\nevent: ping\ndata: A\n\n", "x".repeat(kept - 1))]));
}

#[test]
fn fields_need_no_blank_behind_the_colon() {
    assert!(!has_comment(&["data:[DONE]\n\n", "data: A\n\n"]));
    assert!(!has_comment(&["event:ping\ndata:A\n\n"]));
}

#[test]
fn a_comment_that_waits_for_a_line_feed_is_written() {
    assert_eq!(commented_texts(&["data: A", "\r\r"]), format!("data: A\r\r{}\r\r", first(2)));
    let with_empty = commented_texts(&["data: A", "\r\n\r", "", "\n"]);
    assert_eq!(with_empty, format!("data: A\r\n\r\n{}\r\n\r\n", first(2)));
    let next = commented_texts(&["data: A", "\r\r", "data: [DONE]\r\r"]);
    assert_eq!(next, format!("data: A\r\r{}\r\rdata: [DONE]\r\r", first(2)));
}

#[test]
fn an_end_event_in_pieces_gets_a_comment_behind_returns() {
    let events = ["data: A\r\r", "data: B\r\r", "data: [DONE", "]\r\r"];
    let body = commented_texts(&events);
    assert_eq!(body, format!("{}\r\r{}{}\r\r", first(1), events.concat(), second(1)));
    let more = commented_texts(&[&events[..], &["\ndata: C\r\r"]].concat());
    assert!(more.ends_with(&format!("]\r\r\n{}\r\rdata: C\r\r", second(1))));
}

#[test]
fn a_body_ends_once() {
    let marks = Marks::default();
    marks.mark(None, Some(1));
    let mut writer = CommentWriter::new(marks, None);
    assert_eq!(writer.end().as_deref(), Some(&b": llm-rum {\"output_tokens\":1}\n\n"[..]));
    assert_eq!(writer.end(), None);
}

#[test]
fn times_have_whole_microseconds() {
    let mut writer = CommentWriter::new(Marks::default(), None);
    let body = writer.feed(b"data: A\n\n", Duration::from_nanos(200_499)).unwrap();
    assert_eq!(body, ": llm-rum {\"ttft_ms\":0.2}\n\ndata: A\n\n");
}

#[test]
fn half_a_character_in_an_event_leaves_its_type() {
    for half in ["\\ud83d", "\\uDE00", "\\ud83d\\ude00", "\\\\ud83d"] {
        assert!(!has_comment(&[&format!("data: {{\"type\":\"ping\",\"text\":\"{half}\"}}\n\n")]), "{half}");
        assert!(has_comment(&[&format!("data: {{\"type\":\"delta\",\"delta\":\"{half}\"}}\n\n")]), "{half}");
    }
}

#[test]
fn data_that_is_no_json_is_text() {
    let deep = format!("data: {}{}\n\n", "[".repeat(8_000), "]".repeat(8_000));
    for event in
        [&*deep, "data: {\"type\":\"ping\"\n\n", "data: {\"a\":\"\\ud8\u{2003}\"}\n\n", "data: []\n\n"]
    {
        assert!(has_comment(&[event]), "{}", &event[..20.min(event.len())]);
    }
    assert!(commented(&[b"data: {\"type\":\"delta\",\"text\":\"\xff\"}\n\n"]).contains("ttft_ms"));
    assert!(!commented(&[b"data: {\"type\":\"ping\",\"text\":\"\xff\"}\n\n"]).contains("ttft_ms"));
}

#[test]
fn a_line_feed_after_a_cut_crlf_ends_the_event() {
    let chunks = ["data: A\r", "\n", "\n", "data: B\n\n"];
    let expected = format!("data: A\r\n\n{}\r\n\r\ndata: B\n\n{}\n\n", first(3), second(1));
    assert_eq!(commented_texts(&chunks), expected);
}
