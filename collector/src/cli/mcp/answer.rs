//! The text of an answer: lines up to a limit, with foreign names as quoted data.

use std::fmt::Write as _;

use jiff::Timestamp;

/// An answer of at most [`MAX_BYTES`].
#[derive(Default)]
pub(super) struct Answer {
    text: String,
    left_out: usize,
}

impl Answer {
    /// Adds a line, or counts it as left out once the answer is full.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if self.left_out > 0 || self.text.len() + line.len() >= MAX_BYTES - ROOM_FOR_END {
            self.left_out += 1;
        } else {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// The text, which says how much it lacks.
    pub(super) fn finish(mut self) -> String {
        if self.left_out > 0 {
            // A write to a string cannot fail.
            let _infallible = writeln!(
                self.text,
                "{} more lines are left out: narrow the range or the filters.",
                self.left_out
            );
        }
        self.text
    }
}

/// A name that a page or an operator chose: quoted, escaped and short.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", shortened(name, MOST_NAME_CHARS))
}

/// A sentence of the collector, which may contain names: on one line, and short.
pub(super) fn plain(text: &str) -> String {
    shortened(text, MOST_TEXT_CHARS)
}

fn shortened(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).flat_map(escaped).collect();
    if text.chars().nth(most).is_some() {
        short.push('…');
    }
    short
}

/// Apostrophes stay as they are; quotation marks and invisible characters are escaped.
fn escaped(char: char) -> impl Iterator<Item = char> {
    let plain = (char == '\'').then_some(char);
    plain.into_iter().chain(plain.is_none().then(|| char.escape_debug()).into_iter().flatten())
}

/// A time as text. A time out of range is not shown as another one.
pub(super) fn time(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map_or_else(|_| "unknown time".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

/// The most that an agent should have to read for one question.
pub(super) const MAX_BYTES: usize = 8_000;

/// For the line about what is left out.
const ROOM_FOR_END: usize = 100;

const MOST_NAME_CHARS: usize = 80;
const MOST_TEXT_CHARS: usize = 400;
