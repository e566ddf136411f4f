//! Providers repeat themselves: one delta is like the one before but for its text. An event comes in,
//! and what it means goes out if it differs from the last one only where that changes nothing.
//!
//! Then most of it is only compared, which takes less than half the time that reading it anew does.

use crate::IN_PAGE;
use crate::dialect::{Text, written_bytes};
use crate::json::{Json, same};
use crate::report_builder::ABSENT;
use crate::utf8::is_utf8;

/// The last event, if another like it would mean the same.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// Its data, and behind that its name. Empty while there is none.
    held: Vec<u8>,
    data_bytes: usize,
    /// Where its like may differ, in order.
    places: [Place; MAX_PLACES],
    /// How many of them there are. More than there is room for: the event is like no other.
    free_places: usize,
    text: Text,
}

/// A value that may be another in the next event.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: usize,
    end: usize,
    free: Free,
}

/// Which other values mean the same.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Free {
    /// Every string: nobody reads it.
    Unread,
    /// Generated text, if it says something where this one did.
    Text,
    /// The place of the event in its stream.
    Sequence,
}

/// What an event says that is like the last one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Repeated {
    /// The text that it brought.
    pub(crate) text: Text,
    /// Its place in the stream, where it has one.
    pub(crate) sequence: f64,
}

impl Layout {
    /// Of no event.
    pub(crate) const NONE: Self = Self {
        held: Vec::new(),
        data_bytes: 0,
        places: [Place { start: 0, end: 0, free: Free::Unread }; _],
        free_places: 0,
        text: Text::NONE,
    };

    /// What the event means, if it is like the last one and UTF-8 as that was. `None` says nothing about it.
    pub(crate) fn repeated(&self, name: &[u8], data: &[u8]) -> Option<Repeated> {
        let (last, last_name) = self.held.split_at_checked(self.data_bytes)?;
        if last.is_empty() || !same(last_name, name) {
            return None;
        }
        let places = self.places.get(..self.free_places)?;
        let mut repeated = Repeated { text: self.text, sequence: ABSENT };
        let (mut json, mut compared, mut index) = (Json::new(data), 0, 0);
        while let Some(&Place { start, end, free }) = places.get(index) {
            // Strings that nobody reads are mostly the same again: one comparison steps over several.
            let next = if IN_PAGE { index } else { next_read(places, index) };
            let until = places.get(next).map_or(last.len(), |place| place.start);
            if next > index && json.pass(&last[compared..until]).is_some() {
                (compared, index) = (until, next);
                continue;
            }
            index += 1;
            json.pass(&last[compared..start])?;
            compared = end;
            if matches!(free, Free::Sequence) {
                repeated.sequence = json.count();
                if repeated.sequence.is_nan() {
                    return None;
                }
                continue;
            }
            let text = json.string().filter(|text| is_utf8(text))?;
            let said = |text| written_bytes(text) > 0;
            if matches!(free, Free::Text) && said(text) != said(&last[start + 1..end - 1]) {
                return None;
            }
        }
        json.pass(&last[compared..])?;
        json.finish().then_some(repeated)
    }

    /// An event is read anew.
    pub(crate) fn begin(&mut self) {
        self.held.clear();
        (self.data_bytes, self.free_places) = (0, 0);
    }

    /// The value between `start` and `end` may be another. Places come in the order of the text.
    pub(crate) fn may_differ(&mut self, start: usize, end: usize, free: Free) {
        if let Some(place) = self.places.get_mut(self.free_places) {
            *place = Place { start, end, free };
        }
        self.free_places += 1;
    }

    /// The event that is being read would mean something else the second time.
    pub(crate) fn veto(&mut self) {
        self.free_places = MAX_PLACES + 1;
    }

    /// The event was read, was JSON and UTF-8, and brought this text.
    pub(crate) fn learn(&mut self, name: &[u8], data: &[u8], text: Text) {
        if data.len() > MAX_BYTES {
            return;
        }
        self.held.extend_from_slice(data);
        self.held.extend_from_slice(name);
        (self.data_bytes, self.text) = (data.len(), text);
    }
}

/// The first place from here on that somebody reads.
fn next_read(places: &[Place], from: usize) -> usize {
    from + places[from..].iter().take_while(|place| matches!(place.free, Free::Unread)).count()
}

/// A delta has two or three that change, and some that do not.
const MAX_PLACES: usize = 8;

/// Longer events are too few to matter, and their like would have to be held.
const MAX_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use beacon::Defect;

    use super::*;
    use crate::{Meter, Timestamp};

    const DATA: &str = r#"{"id":"a","pad":"","n":4,"delta":"Hi"}"#;

    fn learnt() -> Layout {
        let place = |value: &str, free| {
            let start = DATA.find(value).unwrap();
            (start, start + value.len(), free)
        };
        let mut layout = Layout::NONE;
        layout.begin();
        let places = [place("\"\"", Free::Unread), place("4", Free::Sequence), place("\"Hi\"", Free::Text)];
        for (start, end, free) in places {
            layout.may_differ(start, end, free);
        }
        layout.learn(b"delta", DATA.as_bytes(), Text::ANSWER);
        layout
    }

    #[test]
    fn only_what_means_the_same_is_repeated() {
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
            let repeated = learnt().repeated(name.as_bytes(), data.as_bytes());
            assert_eq!(repeated.map(|it| it.sequence), sequence, "{data}");
        }
    }

    #[test]
    fn broken_characters_are_seen_in_an_event_like_the_last() {
        let mut meter = Meter::new("", Timestamp::from_ms(0.0));
        for text in [&b"Hi"[..], b"Hi", b"\xFF"] {
            let event = [b"data: {\"choices\":[{\"delta\":{\"content\":\"", text, b"\"}}]}\n\n"].concat();
            meter.on_chunk(Timestamp::from_ms(1.0), &event);
        }
        let report = meter.report();
        assert_eq!((report.deltas, report.defects.get(Defect::InvalidUtf8)), (3, 1));
    }

    #[test]
    fn what_is_vetoed_long_or_full_of_places_is_not_learnt() {
        let mut layout = learnt();
        layout.begin();
        layout.veto();
        layout.learn(b"delta", DATA.as_bytes(), Text::ANSWER);
        assert_eq!(layout.repeated(b"delta", DATA.as_bytes()), None);
        layout.begin();
        let long = [b' '; MAX_BYTES + 1];
        layout.learn(b"", &long, Text::ANSWER);
        assert_eq!(layout.repeated(b"", &long), None);
        layout.begin();
        (0..=MAX_PLACES).for_each(|at| layout.may_differ(at, at, Free::Unread));
        layout.learn(b"", b"[]", Text::ANSWER);
        assert_eq!(layout.repeated(b"", b"[]"), None);
    }
}
