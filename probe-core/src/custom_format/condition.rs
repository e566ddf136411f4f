//! A condition on an event: a value at a path, or the event's name or data.

use crate::framing::Event;
use crate::json::{Json, Word};

/// A place in an event, and the value that it must have. Without a value, any that is not null, false, zero or empty
/// will do.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    place: Place,
    value: Option<Vec<u8>>,
}

#[derive(Debug, Clone)]
enum Place {
    /// The name of the SSE event.
    EventName,
    /// The data as it is.
    Data,
    /// A value in the JSON of the data.
    Json(Vec<Step>),
}

/// One step into a value.
#[derive(Debug, Clone)]
enum Step {
    Any,
    Key(Word, Option<u32>),
}

/// The value at a place.
pub(super) struct Value<'a> {
    /// A string as it is between its quotes, with escapes.
    pub(super) text: Option<&'a [u8]>,
    /// A whole number of zero or more, else absent.
    pub(super) count: f64,
    /// As JSON writes it.
    written: &'a [u8],
}

impl Condition {
    /// Reads `path` or `path=value`. `None` without a path.
    pub(super) fn of(rule: &[u8]) -> Option<Self> {
        let at = rule.iter().position(|&byte| byte == b'=');
        let (path, value) = (rule[..at.unwrap_or(rule.len())].trim_ascii(), at.map(|at| &rule[at + 1..]));
        let place = match path {
            b"" => return None,
            b"@event" => Place::EventName,
            b"@data" => Place::Data,
            path => Place::Json(path.split(|&byte| byte == b'.').take(MAX_STEPS).map(Step::of).collect()),
        };
        Some(Self { place, value: value.map(<[u8]>::to_vec) })
    }

    /// Whether it is a value in JSON.
    pub(super) fn is_in_json(&self) -> bool {
        matches!(self.place, Place::Json(_))
    }

    pub(super) fn holds(&self, event: &Event<'_>) -> bool {
        let mut holds = false;
        self.each(event, &mut |_| holds = true);
        holds
    }

    /// Calls `show` with each value at the place that meets the condition: several if a step is `*`.
    pub(super) fn each<'a>(&self, event: &Event<'a>, show: &mut dyn FnMut(Value<'a>)) {
        let mut check = |value: Value<'a>| {
            if value.is(self.value.as_deref()) {
                show(value);
            }
        };
        match &self.place {
            Place::EventName => check(Value::bare(event.name)),
            Place::Data => check(Value::bare(event.data)),
            Place::Json(steps) => visit(&mut Json::new(event.data), event.data, steps, &mut check),
        }
    }
}

impl Step {
    fn of(text: &[u8]) -> Self {
        if text == b"*" {
            return Self::Any;
        }
        let index = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        Self::Key(Word::of(text), index)
    }

    fn leads_to_key(&self, word: Word) -> bool {
        matches!(self, Self::Any) || matches!(self, Self::Key(key, _) if *key == word)
    }

    fn leads_to_element(&self, at: u32) -> bool {
        matches!(self, Self::Any) || matches!(self, Self::Key(_, Some(index)) if *index == at)
    }
}

impl<'a> Value<'a> {
    /// A text without quotes.
    fn bare(text: &'a [u8]) -> Self {
        Self { text: Some(text), count: f64::NAN, written: text.trim_ascii() }
    }

    fn take(json: &mut Json<'a>, data: &'a [u8]) -> Self {
        let start = json.start();
        if json.is_string() {
            let text = json.string();
            return Self { text, count: f64::NAN, written: text.unwrap_or_default() };
        }
        let count = json.count();
        Self { text: None, count, written: data.get(start..json.end()).unwrap_or_default() }
    }

    fn is(&self, value: Option<&[u8]>) -> bool {
        match value {
            Some(value) => self.written == value,
            None => self.count != 0.0 && !matches!(self.written, b"null" | b"false" | b"{}" | b"[]" | b""),
        }
    }
}

fn visit<'a>(json: &mut Json<'a>, data: &'a [u8], steps: &[Step], show: &mut dyn FnMut(Value<'a>)) {
    let Some((step, rest)) = steps.split_first() else {
        return show(Value::take(json, data));
    };
    if json.is_array() {
        json.enter(b'[');
        for at in 0.. {
            if !json.element() {
                return;
            }
            if step.leads_to_element(at) {
                visit(json, data, rest, show);
            }
        }
    }
    if !json.is_object() {
        return json.skip();
    }
    json.enter(b'{');
    while let Some(key) = json.key() {
        if step.leads_to_key(key) {
            visit(json, data, rest, show);
        }
    }
}

/// The longest path.
const MAX_STEPS: usize = 16;
