//! Providers repeat themselves: one delta is like the one before but for its text. An event comes in,
//! and what it means goes out if it differs from the last one only where that changes nothing.
//!
//! Then most of it is only compared, which takes a fifth of the time that reading it anew does.

use std::ops::Range;

use crate::dialect::{Text, written_bytes};
use crate::json::{Json, same, whole};

/// The last event, if another like it would mean the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    /// Its data. Empty while there is none.
    data: Vec<u8>,
    name: Vec<u8>,
    /// Where its like may differ, in order.
    places: Vec<Place>,
    text: Text,
    /// The event that is being read now may not be kept.
    vetoed: bool,
}

/// A value that may be another in the next event.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: usize,
    end: usize,
    free: Free,
}

/// Which other values mean the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Free {
    /// Every string: nobody reads it.
    Unread,
    /// Generated text, if it says something where this one did.
    Text(bool),
    /// The place of the event in its stream.
    Sequence,
}

/// What an event says that is like the last one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Repeated {
    /// The text that it brought.
    pub(crate) text: Text,
    /// Its place in the stream.
    pub(crate) sequence: Option<u64>,
}

impl Layout {
    /// What the event means, if it is like the last one. `None` says nothing about it.
    pub(crate) fn repeated(&self, name: &[u8], data: &[u8]) -> Option<Repeated> {
        if self.data.is_empty() || !same(&self.name, name) {
            return None;
        }
        let mut repeated = Repeated { text: self.text, sequence: None };
        let (mut json, mut compared, mut unread) = (Json::new(data), 0, 0);
        for (index, &Place { start, end, free }) in self.places.iter().enumerate() {
            if free == Free::Unread {
                continue;
            }
            self.pass(&mut json, compared..start, &self.places[unread..index])?;
            (compared, unread) = (end, index + 1);
            match free {
                Free::Sequence => repeated.sequence = Some(json.plain_number().and_then(whole)?),
                Free::Text(said) if (written_bytes(json.quoted_utf8()?) > 0) == said => {}
                _ => return None,
            }
        }
        self.pass(&mut json, compared..self.data.len(), &self.places[unread..])?;
        json.is_at_end().then_some(repeated)
    }

    /// Steps over the same bytes as in `span` of the last event, where only the `unread` strings may
    /// be others. Mostly they are not, and one comparison tells.
    fn pass(&self, json: &mut Json<'_>, span: Range<usize>, unread: &[Place]) -> Option<()> {
        if json.pass(&self.data[span.clone()]).is_some() {
            return Some(());
        }
        let mut compared = span.start;
        for place in unread {
            json.pass(&self.data[compared..place.start])?;
            json.quoted_utf8()?;
            compared = place.end;
        }
        json.pass(&self.data[compared..span.end])
    }

    /// An event is read anew.
    pub(crate) fn begin(&mut self) {
        self.forget();
        self.vetoed = false;
    }

    /// The value between `start` and `end` may be another. Places come in the order of the text.
    pub(crate) fn may_differ(&mut self, start: usize, end: usize, free: Free) {
        if self.places.len() == MAX_PLACES {
            return self.veto();
        }
        self.places.push(Place { start, end, free });
    }

    /// The event that is being read would mean something else the second time.
    pub(crate) fn veto(&mut self) {
        self.vetoed = true;
    }

    /// The event was read, was JSON and UTF-8, and brought this text.
    pub(crate) fn learn(&mut self, name: &[u8], data: &[u8], text: Text) {
        if self.vetoed || data.len() > MAX_BYTES {
            return;
        }
        self.data.extend_from_slice(data);
        self.name.extend_from_slice(name);
        self.text = text;
    }

    /// The next event is like no other.
    pub(crate) fn forget(&mut self) {
        self.data.clear();
        self.name.clear();
        self.places.clear();
    }
}

/// A delta has two or three: the text, padding, an id that nobody reads.
const MAX_PLACES: usize = 8;

/// Longer events are too few to matter, and their like would have to be held.
const MAX_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = r#"{"id":"a","pad":"","n":4,"delta":"Hi"}"#;

    fn learnt() -> Layout {
        let place = |value: &str, free| {
            let start = DATA.find(value).unwrap();
            (start, start + value.len(), free)
        };
        let mut layout = Layout::default();
        layout.begin();
        let places =
            [place("\"\"", Free::Unread), place("4", Free::Sequence), place("\"Hi\"", Free::Text(true))];
        for (start, end, free) in places {
            layout.may_differ(start, end, free);
        }
        layout.learn(b"delta", DATA.as_bytes(), Text::ANSWER);
        layout
    }

    #[test]
    fn only_what_means_the_same_is_repeated() {
        for (name, data, sequence) in [
            ("delta", DATA, Some(4)),
            ("delta", r#"{"id":"a","pad":"xyz","n":17,"delta":"\u00e9 \"x\""}"#, Some(17)),
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
            assert_eq!(repeated.map(|it| it.sequence), sequence.map(Some), "{data}");
        }
    }

    #[test]
    fn broken_characters_are_read_anew() {
        let broken = [&DATA.as_bytes()[..DATA.len() - 4], b"\xFF\"}"].concat();
        assert_eq!(learnt().repeated(b"delta", &broken), None);
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
