//! Fast path for deltas: if an event differs from the previous one only in its text and its number, it is compared
//! instead of parsed. That takes less than half the time.

use crate::absent::ABSENT;
use crate::build_variant::IN_PAGE;
use crate::json::{Json, same, written_bytes};
use crate::text_kinds::TextKinds;

/// The last event, if an event that matches it means the same.
#[derive(Debug, Clone)]
pub(crate) struct DeltaTemplate {
    /// The event's data, followed by its name. Empty while there is none.
    bytes: Vec<u8>,
    data_bytes: usize,
    /// The spans where another event may differ, in order.
    spans: [Span; MAX_SPANS],
    /// The number of spans. More than there is room for: no event matches.
    span_count: usize,
    text: TextKinds,
}

/// A value that may be another in the next event.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    wildcard: Wildcard,
}

/// Which other values of a span mean the same.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wildcard {
    /// Every string: no dialect reads it.
    AnyString,
    /// Generated text, empty only if this one is empty.
    GeneratedText,
    /// The sequence number of the event.
    SequenceNumber,
}

/// What an event means that matches the last one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RepeatedDelta {
    /// The text that it brought.
    pub(crate) text: TextKinds,
    /// Its sequence number, where it has one.
    pub(crate) sequence: f64,
}

impl DeltaTemplate {
    /// For no event.
    pub(crate) const NONE: Self = Self {
        bytes: Vec::new(),
        data_bytes: 0,
        spans: [Span { start: 0, end: 0, wildcard: Wildcard::AnyString }; _],
        span_count: 0,
        text: TextKinds::NONE,
    };

    /// What the event means if it matches the last one and is UTF-8. `None`: it must be parsed.
    pub(crate) fn match_event(&self, name: &[u8], data: &[u8]) -> Option<RepeatedDelta> {
        let (last, last_name) = self.bytes.split_at_checked(self.data_bytes)?;
        if last.is_empty() || !same(last_name, name) {
            return None;
        }
        let spans = self.spans.get(..self.span_count)?;
        let mut repeated = RepeatedDelta { text: self.text, sequence: ABSENT };
        let (mut json, mut compared, mut index) = (Json::new(data), 0, 0);
        while let Some(&Span { start, end, wildcard }) = spans.get(index) {
            // Strings that no dialect reads are mostly the same again: one comparison steps over several.
            let next = if IN_PAGE { index } else { next_compared(spans, index) };
            let until = spans.get(next).map_or(last.len(), |span| span.start);
            if next > index && json.pass(&last[compared..until]).is_some() {
                (compared, index) = (until, next);
                continue;
            }
            index += 1;
            json.pass(&last[compared..start])?;
            compared = end;
            if matches!(wildcard, Wildcard::SequenceNumber) {
                repeated.sequence = json.count();
                if repeated.sequence.is_nan() {
                    return None;
                }
                continue;
            }
            let text = json.string().filter(|text| str::from_utf8(text).is_ok())?;
            let has_text = |text| written_bytes(text) > 0;
            if matches!(wildcard, Wildcard::GeneratedText)
                && has_text(text) != has_text(&last[start + 1..end - 1])
            {
                return None;
            }
        }
        json.pass(&last[compared..])?;
        json.finish().then_some(repeated)
    }

    /// Forgets the last event, as the next one is parsed.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        (self.data_bytes, self.span_count) = (0, 0);
    }

    /// The value between `start` and `end` may differ. Spans come in the order of the text.
    pub(crate) fn add_wildcard(&mut self, start: usize, end: usize, wildcard: Wildcard) {
        if let Some(span) = self.spans.get_mut(self.span_count) {
            *span = Span { start, end, wildcard };
        }
        self.span_count += 1;
    }

    /// The event that is being parsed would mean something else the second time.
    pub(crate) fn reject(&mut self) {
        self.span_count = MAX_SPANS + 1;
    }

    /// Keeps the event, which was JSON and UTF-8 and brought this text.
    pub(crate) fn store(&mut self, name: &[u8], data: &[u8], text: TextKinds) {
        if data.len() > MAX_BYTES {
            return;
        }
        self.bytes.extend_from_slice(data);
        self.bytes.extend_from_slice(name);
        (self.data_bytes, self.text) = (data.len(), text);
    }
}

/// The index of the first span from here on whose value is read.
fn next_compared(spans: &[Span], from: usize) -> usize {
    from + spans[from..].iter().take_while(|span| matches!(span.wildcard, Wildcard::AnyString)).count()
}

/// A delta has two or three spans that change, and some that do not.
const MAX_SPANS: usize = 8;

/// Longer events are too few to be worth their memory.
const MAX_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use beacon::Defect;

    use super::*;
    use crate::{Meter, Timestamp};

    const DATA: &str = r#"{"id":"a","pad":"","n":4,"delta":"Hi"}"#;

    fn stored() -> DeltaTemplate {
        let span = |value: &str, wildcard| {
            let start = DATA.find(value).unwrap();
            (start, start + value.len(), wildcard)
        };
        let mut template = DeltaTemplate::NONE;
        template.clear();
        let spans = [
            span("\"\"", Wildcard::AnyString),
            span("4", Wildcard::SequenceNumber),
            span("\"Hi\"", Wildcard::GeneratedText),
        ];
        for (start, end, wildcard) in spans {
            template.add_wildcard(start, end, wildcard);
        }
        template.store(b"delta", DATA.as_bytes(), TextKinds::ANSWER);
        template
    }

    #[test]
    fn only_events_with_the_same_meaning_match() {
        for (name, data, sequence) in [
            ("delta", DATA, Some(4.0)),
            ("delta", r#"{"id":"a","pad":"xyz","n":17,"delta":"\u00e9 \"x\""}"#, Some(17.0)),
            ("", DATA, None),
            ("delta", r#"{"id":"b","pad":"","n":4,"delta":"Hi"}"#, None),
            ("delta", r#"{"id":"a","pad":"","n":4,"delta":""}"#, None),
            ("delta", r#"{"id":"a","pad":"","n":4,"delta":null}"#, None),
            ("delta", r#"{"id":"a","pad":"","n":-4,"delta":"Hi"}"#, None),
            ("delta", r#"{"id":"a","pad":"","n":4.5,"delta":"Hi"}"#, None),
            ("delta", r#"{"id":"a","pad":{},"n":4,"delta":"Hi"}"#, None),
            ("delta", r#"{"id":"a","pad":"","n":4,"delta":"Hi"},"#, None),
            ("delta", r#"{"id":"a","pad":"","n":4,"delta":"Hi"#, None),
            ("delta", r#"{"id":"a","pad":"","n":4,"delta":"\x"}"#, None),
        ] {
            let repeated = stored().match_event(name.as_bytes(), data.as_bytes());
            assert_eq!(repeated.map(|it| it.sequence), sequence, "{data}");
        }
    }

    #[test]
    fn invalid_utf8_is_found_in_an_event_that_matches() {
        let mut meter = Meter::new("", Timestamp::from_ms(0.0));
        for text in [&b"Hi"[..], b"Hi", b"\xFF"] {
            let event = [b"data: {\"choices\":[{\"delta\":{\"content\":\"", text, b"\"}}]}\n\n"].concat();
            meter.on_chunk(Timestamp::from_ms(1.0), &event);
        }
        let report = meter.report();
        assert_eq!((report.deltas, report.defects.get(Defect::InvalidUtf8)), (3, 1));
    }

    #[test]
    fn rejected_long_and_many_span_events_are_not_stored() {
        let mut template = stored();
        template.clear();
        template.reject();
        template.store(b"delta", DATA.as_bytes(), TextKinds::ANSWER);
        assert_eq!(template.match_event(b"delta", DATA.as_bytes()), None);
        template.clear();
        let long = [b' '; MAX_BYTES + 1];
        template.store(b"", &long, TextKinds::ANSWER);
        assert_eq!(template.match_event(b"", &long), None);
        template.clear();
        (0..=MAX_SPANS).for_each(|at| template.add_wildcard(at, at, Wildcard::AnyString));
        template.store(b"", b"[]", TextKinds::ANSWER);
        assert_eq!(template.match_event(b"", b"[]"), None);
    }
}
