//! Strings at one place of the events, and whether they are text of an answer.

use crate::hash::{hash, hash_on};
use crate::json::written_bytes;
use crate::text_kinds::TextKinds;

/// The strings at one place of the events so far. Only counts and hashes are kept.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Which place this is.
    pub(super) place: u64,
    pub(super) kinds: TextKinds,
    verdict: Verdict,
    /// The key says that it is text.
    is_named: bool,
    /// An event with a value says that it is of the user.
    pub(super) is_users: bool,
    /// Values that are not empty and that go on from the one before.
    values: u32,
    bytes: u32,
    /// Letters, and bytes of characters beyond ASCII.
    letters: u32,
    beyond_ascii: u32,
    blanks: u32,
    /// Values that begin or end with a blank: pieces of text, and no names.
    open_edges: u32,
    shortest: u32,
    longest: u32,
    /// A bit for the hash of each value.
    vocabulary: u64,
    /// Length and hash of the latest value.
    latest: (usize, u64),
    /// Values that are the one before and more.
    grown: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    Open,
    Pieces,
    Whole,
    /// It was watched for long enough.
    NoText,
}

impl Candidate {
    pub(super) const fn new(place: u64) -> Self {
        Self {
            place,
            kinds: TextKinds::NONE,
            verdict: Verdict::Open,
            is_named: false,
            is_users: false,
            values: 0,
            bytes: 0,
            letters: 0,
            beyond_ascii: 0,
            blanks: 0,
            open_edges: 0,
            shortest: u32::MAX,
            longest: 0,
            vocabulary: 0,
            latest: (0, 0),
            grown: 0,
        }
    }

    /// Adds a value. True if it brings something: it is not empty, and not the same text whole again.
    pub(super) fn observe(&mut self, text: &[u8], is_named: bool) -> bool {
        let text = &text[..written_bytes(text)];
        if text.is_empty() || self.verdict == Verdict::NoText {
            return false;
        }
        match self.verdict {
            Verdict::Pieces => return true,
            Verdict::Whole => return std::mem::replace(&mut self.latest.0, text.len()) != text.len(),
            Verdict::Open | Verdict::NoText => {}
        }
        let (before_len, before_hash) = self.latest;
        let start = hash(&text[..before_len.min(text.len())]);
        let goes_on = self.values > 0 && start == before_hash && before_len <= text.len();
        let whole = hash_on(start, &text[before_len.min(text.len())..]);
        let is_again = goes_on && text.len() == before_len;
        self.latest = (text.len(), whole);
        self.is_named = is_named;
        // A repeated value is no growth, but may be a word of the text.
        self.grown += u32::from(goes_on && !is_again);
        self.add(text, whole);
        true
    }

    fn add(&mut self, text: &[u8], hash: u64) {
        let count = |test: fn(&u8) -> bool| text.iter().filter(|byte| test(byte)).count() as u32;
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.values = self.values.saturating_add(1);
        self.bytes = self.bytes.saturating_add(length);
        self.letters = self.letters.saturating_add(count(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80));
        self.beyond_ascii = self.beyond_ascii.saturating_add(count(|byte| *byte >= 0x80));
        self.blanks = self.blanks.saturating_add(blanks(text));
        self.open_edges += u32::from(has_open_edge(text));
        self.shortest = self.shortest.min(length);
        self.longest = self.longest.max(length);
        self.vocabulary |= 1 << (hash >> 58);
        if self.verdict == Verdict::Open && self.values > MAX_VALUES && !self.has_become_text() {
            self.verdict = Verdict::NoText;
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self.verdict, Verdict::Pieces | Verdict::Whole)
    }

    /// Whether it was watched for long enough.
    pub(super) fn is_no_text(&self) -> bool {
        self.verdict == Verdict::NoText
    }

    pub(super) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Whether its values so far show that they are text.
    pub(super) fn has_become_text(&self) -> bool {
        self.verdict == Verdict::Open
            && (self.grows(2) || (self.values >= FEWEST_PIECES && self.is_in_pieces()))
    }

    /// Whether a short answer may be in its two or three values.
    pub(super) fn may_be_short_text(&self) -> bool {
        let pieces = self.values >= 2 && self.open_edges > 0 && self.has_letters();
        self.verdict == Verdict::Open && (pieces || self.grows(1))
    }

    /// Whether its only value may be a whole answer: the key says that it is text, and it has several words.
    pub(super) fn may_be_only_text(&self) -> bool {
        let is_open = self.verdict == Verdict::Open && !self.is_users;
        is_open && self.values == 1 && self.is_named && self.blanks > 0 && self.has_letters()
    }

    pub(super) fn set_text(&mut self) {
        self.verdict = if self.grows(1) { Verdict::Whole } else { Verdict::Pieces };
    }

    /// Whether nearly every value is the one before and more, as text that comes whole each time.
    fn grows(&self, fewest: u32) -> bool {
        let steps = self.values.saturating_sub(1);
        self.grown >= fewest && self.grown * 4 >= steps * 3 && self.has_letters()
    }

    /// Whether the values are pieces of text: of letters, of many lengths, not the same few words again, and cut
    /// at blanks.
    fn is_in_pieces(&self) -> bool {
        let varied = self.vocabulary.count_ones() >= 3 && self.longest > self.shortest;
        let open = self.open_edges * 8 >= self.values || self.beyond_ascii * 2 >= self.bytes;
        let named = self.is_named && (self.blanks > 0 || self.is_in_words());
        varied && self.has_letters() && (open || named || self.is_in_words())
    }

    /// Whether the values are single words without blanks, of a large vocabulary.
    fn is_in_words(&self) -> bool {
        let short = self.bytes <= self.values * LONGEST_WORD;
        let wordy = self.letters * 10 >= self.bytes * 8 && self.longest >= self.shortest + 3;
        self.values >= FEWEST_WORDS && self.vocabulary.count_ones() >= 6 && wordy && short
    }

    fn has_letters(&self) -> bool {
        self.letters * 3 >= self.bytes
    }
}

/// Whether a string begins or ends with a blank or a line end, as JSON writes it.
fn has_open_edge(text: &[u8]) -> bool {
    let starts = [&b" "[..], br"\n", b"\n"].iter().any(|blank| text.starts_with(blank));
    starts || [&b" "[..], br"\n", b"\n"].iter().any(|blank| text.ends_with(blank))
}

fn blanks(text: &[u8]) -> u32 {
    text.iter().filter(|&&byte| byte == b' ').count() as u32
}

/// Pieces that show that they are text.
const FEWEST_PIECES: u32 = 4;
/// Words without a blank that show that they are text.
const FEWEST_WORDS: u32 = 8;
/// The mean length of words, in bytes.
const LONGEST_WORD: u32 = 12;
/// Values after which it is known that they are no text.
const MAX_VALUES: u32 = 64;
