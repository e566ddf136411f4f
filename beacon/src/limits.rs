//! Checks a report against the field table. The collector refuses a report that fails.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use unicode_properties::{GeneralCategoryGroup as Group, UnicodeGeneralCategory};

use crate::field::{Field, Fields, MAX_BYTES, MAX_EVENTS, MAX_MS, MAX_OWN_TEXT_BYTES, Rule, Value};
use crate::{Histogram, MAX_MARKS, StreamReport};

/// A field with a value that its rule does not accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    field: Cow<'static, str>,
    problem: Cow<'static, str>,
}

impl Misfit {
    /// `problem` follows the name of the field in a sentence.
    #[must_use]
    pub fn new(field: &'static str, problem: impl Into<Cow<'static, str>>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }

    /// The same for a field inside a group.
    #[must_use]
    pub fn inside(self, group: &str) -> Self {
        Self { field: format!("{group}.{}", self.field).into(), ..self }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.problem)
    }
}

impl std::error::Error for Misfit {}

impl StreamReport {
    /// Checks every field, and the fields among each other.
    ///
    /// # Errors
    ///
    /// The first field that is outside its limits.
    pub fn check(&self) -> Result<(), Misfit> {
        check_fields(self)?;
        check_order(self)?;
        check_gaps(self)
    }

    /// Drops the texts from the app's options that do not fit: a zero-width space in a name must not hide a stream.
    /// Returns their number.
    pub fn drop_unfit_own_texts(&mut self) -> u64 {
        let release = self.page.as_mut().map(|page| &mut page.release);
        let own = [&mut self.use_case, &mut self.provider, &mut self.variant].into_iter().chain(release);
        let mut dropped = 0;
        for text in
            own.filter(|text| text.as_ref().is_some_and(|text| !fits_as_own(text, MAX_OWN_TEXT_BYTES)))
        {
            *text = None;
            dropped += 1;
        }
        dropped
    }

    /// Lowers amounts to their limits, and leaves out gaps if there are as many. Counts them in `left_out`.
    pub fn lower_amounts(&mut self) {
        let mut lowered = 0;
        let is_plausible = |gaps: &Histogram| gaps.count() <= u64::from(self.chunks);
        if self.gaps.as_ref().is_some_and(|gaps| gaps.count() > MAX_EVENTS && is_plausible(gaps)) {
            self.gaps = None;
            lowered += 1;
        }
        for count in [&mut self.chunks, &mut self.events, &mut self.deltas, &mut self.stalls] {
            *count = lower((*count).into(), MAX_EVENTS, &mut lowered) as u32;
        }
        self.bytes = lower(self.bytes, MAX_BYTES, &mut lowered);
        self.left_out = self.left_out.saturating_add(lowered);
    }
}

/// The smaller of a count and its limit. Adds one to `lowered` if that is the limit.
fn lower(count: u64, limit: u64, lowered: &mut u32) -> u64 {
    *lowered += u32::from(count > limit);
    count.min(limit)
}

/// Checks every field against its rule in the field table.
///
/// # Errors
///
/// The first field that does not fit.
pub fn check_fields(fields: &dyn Fields) -> Result<(), Misfit> {
    let mut checked = Ok(());
    fields.visit(&mut |field, value| {
        if checked.is_ok() {
            checked = check_field(field, value);
        }
    });
    checked
}

fn check_field(field: &'static Field, value: Value<'_>) -> Result<(), Misfit> {
    let name = field.name;
    match (field.rule, value) {
        (Rule::Milliseconds, Value::Float(ms)) if !(0.0..=MAX_MS).contains(&ms) => {
            Err(Misfit::new(name, "must be a duration from 0 to 24 hours"))
        }
        (Rule::Share, Value::Float(share)) if !(share > 0.0 && share <= 1.0) => {
            Err(Misfit::new(name, "must be greater than 0 and at most 1"))
        }
        (Rule::Count(most) | Rule::Amount(most), Value::Integer(count)) if count > most => {
            Err(Misfit::new(name, format!("must be at most {most}")))
        }
        (Rule::Between(least, most), Value::Integer(number)) if !(least..=most).contains(&number) => {
            Err(Misfit::new(name, format!("must be a number from {least} to {most}")))
        }
        (Rule::Text(longest), Value::Text(text)) if !fits(text, longest) => Err(Misfit::new(
            name,
            format!("is longer than {longest} bytes or contains non-printable characters"),
        )),
        (Rule::OwnText(longest), Value::Text(text)) if !fits_as_own(text, longest) => Err(Misfit::new(
            name,
            format!(
                "is longer than {longest} bytes, is blank at an end or contains non-printable characters"
            ),
        )),
        // An empty text counts as absent, unless the field is required.
        (Rule::Text(_), Value::Text("")) if field.required => Err(Misfit::new(name, "is empty")),
        // These names come from a request or a response, so another text could be part of a prompt.
        (Rule::Name(shape), Value::Text(text))
            if (field.required || !text.is_empty()) && !shape.fits(text.as_bytes()) =>
        {
            Err(Misfit::new(name, "is not a valid name"))
        }
        // The stream's own id is required, and checked where it is parsed.
        (Rule::Id, Value::Text(id)) if !(field.required || id.is_empty() || is_id(id)) => {
            Err(Misfit::new(name, "must be 32 hexadecimal digits in small letters"))
        }
        (Rule::Visit, Value::Text(number))
            if number.len() > 16 || !number.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            Err(Misfit::new(name, "must be at most 16 hexadecimal digits"))
        }
        (Rule::Marks, Value::List(marks)) => {
            let marks = marks.items();
            if marks.len() > MAX_MARKS {
                return Err(Misfit::new(name, format!("has more than {MAX_MARKS} marks")));
            }
            marks.into_iter().try_for_each(check_fields).map_err(|refused| refused.inside(name))
        }
        (Rule::Group(_), Value::Group(group)) => check_fields(group).map_err(|refused| refused.inside(name)),
        _ => Ok(()),
    }
}

/// Checks that no moment is earlier than one that it has to follow: all were read from one clock.
fn check_order(report: &StreamReport) -> Result<(), Misfit> {
    let mut moments: Vec<(&str, f64)> = Vec::with_capacity(StreamReport::FIELDS.len());
    let mut checked = Ok(());
    report.visit(&mut |field, value| {
        let Value::Float(ms) = value else { return };
        for earlier in field.after {
            let is_late = |(name, moment): &&(&str, f64)| name == earlier && ms + TOLERANCE_MS < *moment;
            if checked.is_ok() && moments.iter().any(|moment| is_late(&moment)) {
                checked = Err(Misfit::new(field.name, format!("is earlier than `{earlier}`")));
            }
        }
        moments.push((field.name, ms));
    });
    checked
}

fn check_gaps(report: &StreamReport) -> Result<(), Misfit> {
    let Some(gaps) = &report.gaps else { return Ok(()) };
    if gaps.count() > u64::from(report.chunks) {
        return Err(Misfit::new("gaps", "has more gaps than the stream has chunks"));
    }
    if gaps.sum() > MAX_MS {
        return Err(Misfit::new("gaps", "adds up to more than 24 hours"));
    }
    Ok(())
}

fn fits(text: &str, longest: usize) -> bool {
    text.len() <= longest && is_printable(text)
}

/// Whether a text of the app's options is a name. An empty one counts as absent.
fn fits_as_own(text: &str, longest: usize) -> bool {
    fits(text, longest) && (text.is_empty() || is_name(text))
}

/// Whether it is an id as the probe and W3C's trace context write it.
fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Accepts visible text of any script on one line, emoji included. Refuses characters that could break a
/// line, a log or the writing direction.
fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        || text.chars().all(|c| match c.general_category_group() {
            _ if UNSEEN.iter().any(|unseen| unseen.contains(&c)) => false,
            Group::Letter | Group::Mark | Group::Number | Group::Punctuation | Group::Symbol => true,
            Group::Separator => c == ' ',
            Group::Other => matches!(c, JOINER | NON_JOINER),
        })
}

/// Refuses printable texts that show nothing, or that look like another name: blank at an end, or with a joiner where
/// it joins nothing.
fn is_name(text: &str) -> bool {
    if text.starts_with(' ') || text.ends_with(' ') {
        return false;
    }
    if text.is_ascii() {
        return true;
    }
    // The text is printable, so only blanks, marks and joiners show nothing by themselves.
    let is_visible = |c: char| c != ' ' && !matches!(c.general_category_group(), Group::Mark | Group::Other);
    let mut rest = text.chars().peekable();
    let (mut before, mut has_visible) = (None, false);
    while let Some(c) = rest.next() {
        if !joins(before, c, rest.peek().copied()) {
            return false;
        }
        has_visible |= is_visible(c);
        before = Some(c);
    }
    has_visible
}

/// Whether `c` is seen, or changes how its neighbours are drawn.
fn joins(before: Option<char>, c: char, after: Option<char>) -> bool {
    match c {
        JOINER | NON_JOINER => [before, after].into_iter().all(|beside| beside.is_some_and(is_joinable)),
        EMOJI_STYLE => {
            after == Some(KEYCAP)
                || before.is_some_and(|c| !c.is_ascii() && c.general_category_group() != Group::Mark)
        }
        _ => true,
    }
}

/// Letters of the scripts that need joiners, and emoji.
fn is_joinable(c: char) -> bool {
    c >= FIRST_JOINABLE && matches!(c.general_category_group(), Group::Letter | Group::Mark | Group::Symbol)
}

/// Clocks with a resolution of up to 1 ms may round two moments apart.
const TOLERANCE_MS: f64 = 1.0;
/// Unicode letters and marks that are drawn as nothing: two names that differ only by them look the same.
const UNSEEN: [RangeInclusive<char>; 9] = [
    '\u{34f}'..='\u{34f}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    // U+FE0F is allowed, see [`EMOJI_STYLE`].
    '\u{fe00}'..='\u{fe0e}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{e0100}'..='\u{e01ef}',
];
/// Joins emoji, and letters of some scripts. The non-joiner keeps letters apart.
const JOINER: char = '\u{200d}';
const NON_JOINER: char = '\u{200c}';
/// Begin of the first block behind Latin, Greek, Cyrillic and Armenian, which need no joiners.
const FIRST_JOINABLE: char = '\u{590}';
/// Turns a symbol, or a digit before a keycap, into an emoji.
const EMOJI_STYLE: char = '\u{fe0f}';
const KEYCAP: char = '\u{20e3}';

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Page;

    #[test]
    fn unfit_texts_of_the_app_are_dropped_and_no_others() {
        let unfit = [
            "two\nlines",
            "zero\u{200b}width",
            "no\u{a0}break",
            &"x".repeat(129),
            " ",
            "   ",
            " chat",
            "chat ",
            "गप ",
            "gp\u{200d}t",
            "gpt\u{200c}",
            "\u{200d}",
            "é\u{200d}é",
            "ч\u{200d}ат",
            "می\u{200c}",
            "می\u{200c}\u{200c}شود",
            "👩\u{200d}a",
            "gpt\u{fe0f}",
            "\u{fe0f}",
            "❤\u{fe0f}\u{fe0f}",
            "\u{301}",
            "\u{301} \u{301}",
        ];
        for text in unfit {
            let own = || Some(Cow::Owned(text.to_owned()));
            let page = Some(Page { release: own(), ..Page::default() });
            let id = "0".repeat(32);
            let report = StreamReport {
                use_case: own(),
                provider: own(),
                variant: own(),
                page,
                ..StreamReport::new(id)
            };
            assert!(report.check().is_err());
            let mut dropped = report;
            assert_eq!(dropped.drop_unfit_own_texts(), 4, "{text}");
            assert_eq!(dropped.check(), Ok(()));
        }
    }

    #[test]
    fn names_of_any_script_are_kept() {
        for text in [
            "",
            "a b",
            "चैट 🦙",
            "通义千问-max",
            "👩\u{200d}👩\u{200d}👧",
            "❤\u{fe0f}\u{200d}🔥",
            "👩🏽\u{200d}⚕\u{fe0f} chat",
            "हिन्दी",
            "क\u{94d}\u{200d}ष",
            "می\u{200c}شود",
            "cafe\u{301}",
            "1\u{fe0f}\u{20e3}",
            "©\u{fe0f}",
        ] {
            let own = Some(Cow::Owned(text.to_owned()));
            let mut fits = StreamReport { use_case: own.clone(), ..StreamReport::new("0".repeat(32)) };
            assert_eq!((fits.check(), fits.drop_unfit_own_texts()), (Ok(()), 0), "{text}");
            assert_eq!(fits.use_case, own);
        }
    }

    #[test]
    fn every_amount_is_one_that_can_be_lowered() {
        let amounts = StreamReport::FIELDS.iter().filter(|field| matches!(field.rule, Rule::Amount(_)));
        let names: Vec<_> = amounts.map(|field| field.name).collect();
        assert_eq!(names, ["chunks", "events", "deltas", "bytes", "stalls"]);
        let most = u32::MAX;
        let gaps = Histogram::from_dense(0, 1.0, 0, vec![MAX_EVENTS, 1]).unwrap();
        let sent = StreamReport {
            chunks: most,
            events: most,
            deltas: most,
            stalls: most,
            bytes: u64::MAX,
            gaps: Some(gaps),
            left_out: 2,
            ..StreamReport::new("0".repeat(32))
        };
        assert!(sent.check().is_err());
        let mut lowered = sent.clone();
        lowered.lower_amounts();
        assert_eq!((lowered.check(), lowered.left_out), (Ok(()), 8));
        assert_eq!((lowered.deltas, lowered.bytes, &lowered.gaps), (10_000_000, 1 << 40, &None));
        let mut forged = StreamReport { chunks: 7, ..sent };
        forged.lower_amounts();
        assert!(forged.check().is_err(), "more gaps than reads");
    }

    #[test]
    fn amounts_within_their_limits_stay() {
        let gaps = Histogram::from_dense(0, 1.0, 0, vec![MAX_EVENTS]).unwrap();
        let chunks = MAX_EVENTS as u32;
        let sent = StreamReport { chunks, gaps: Some(gaps), ..StreamReport::new("0".repeat(32)) };
        let mut lowered = sent.clone();
        lowered.lower_amounts();
        assert_eq!(lowered, sent);
    }

    #[test]
    fn every_text_of_the_app_is_one_that_can_be_dropped() {
        let own = |fields: &[Field]| {
            let own = fields.iter().filter(|field| matches!(field.rule, Rule::OwnText(MAX_OWN_TEXT_BYTES)));
            own.map(|field| field.name).collect::<Vec<_>>()
        };
        assert_eq!(own(StreamReport::FIELDS), ["use_case", "provider", "variant"]);
        assert_eq!(own(Page::FIELDS), ["release"]);
    }
}
