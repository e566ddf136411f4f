//! A format that the app describes in the probe's options: where its events have text, and which of them end the answer
//! or report an error. `docs/custom-formats.md` explains the rules.

mod condition;

use crate::build_variant::ALL_DIALECTS;
use crate::framing::Event;
use crate::json::{Json, Word};
use crate::text_kinds::TextKinds;

use condition::Condition;

/// The name in reports.
pub(crate) const NAME: &str = "custom";

/// The rules of a custom format. A stream without one has none.
#[derive(Debug, Clone)]
pub(crate) struct CustomFormat {
    rules: Vec<Rule>,
    /// Each event has the whole text so far.
    is_cumulative: bool,
}

/// One custom format in a build with all dialects, none in the build that a page loads first.
pub(crate) type OptionalFormat = [CustomFormat; ALL_DIALECTS as usize];

/// A value to take from events.
#[derive(Debug, Clone)]
struct Rule {
    role: Role,
    value: Condition,
    /// Conditions on the same event.
    only_if: Vec<Condition>,
    /// The longest text so far.
    longest: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Role {
    Text(TextKinds),
    End,
    Error,
    Id,
    /// Input or output.
    Tokens(usize),
}

/// What the rules took from one event.
#[derive(Debug, Clone, Default)]
pub(crate) struct CustomValues<'a> {
    pub(crate) text: TextKinds,
    pub(crate) ended: bool,
    pub(crate) failed: bool,
    pub(crate) id: &'a [u8],
    /// Tokens as the server counted them: input and output.
    pub(crate) tokens: [Option<f64>; 2],
    /// The data begins like JSON, and is not valid JSON.
    pub(crate) malformed: bool,
}

impl CustomFormat {
    pub(crate) const NONE: Self = Self { rules: Vec::new(), is_cumulative: false };

    /// Reads the address of the response and, on the next line, a description or a list of them. The first one for this
    /// address is used. A rule that cannot be read is ignored: the development build warns of it.
    pub(crate) fn of(text: &[u8]) -> Self {
        let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
        let (address, descriptions) = (&text[..end], text.get(end + 1..).unwrap_or_default());
        let mut json = Json::new(descriptions);
        let is_list = json.is_array() && json.enter(b'[');
        let mut chosen = Self::NONE;
        while !is_list || json.element() {
            let described = Self::described(&mut json, address);
            if !chosen.is_some() {
                chosen = described;
            }
            if !is_list {
                break;
            }
        }
        chosen
    }

    /// Reads a description: an object with a rule, or a list of rules, for each role. Without rules if it is for another
    /// address.
    fn described(json: &mut Json<'_>, address: &[u8]) -> Self {
        let (mut format, mut is_meant) = (Self::NONE, true);
        if !json.enter(b'{') {
            return format;
        }
        while let Some(key) = json.key() {
            if key == CUMULATIVE {
                format.is_cumulative = json.is_something();
            } else if key == ADDRESS {
                is_meant = contains(address, json.string().unwrap_or_default());
            } else if let Some(&(_, role)) = ROLES.iter().find(|&&(name, _)| name == key) {
                format.read_rules(json, role);
            }
        }
        if is_meant { format } else { Self::NONE }
    }

    pub(crate) fn is_some(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether an event says the end.
    pub(crate) fn has_end(&self) -> bool {
        self.rules.iter().any(|rule| rule.role == Role::End)
    }

    /// Takes from an event what the rules name.
    pub(crate) fn read<'a>(&mut self, event: &Event<'a>) -> CustomValues<'a> {
        let looks_like_json = matches!(event.data.trim_ascii_start(), [b'{' | b'[', ..]);
        let malformed = looks_like_json && !Json::new(event.data).finish();
        let mut taken = CustomValues { malformed, ..CustomValues::default() };
        let mut whole_data = TextKinds::NONE;
        for rule in &mut self.rules {
            if malformed && rule.value.is_in_json()
                || !rule.only_if.iter().all(|condition| condition.holds(event))
            {
                continue;
            }
            match rule.role {
                Role::Text(kinds) => {
                    let length = longest_text(&rule.value, event);
                    let is_new = length > if self.is_cumulative { rule.longest } else { 0 };
                    rule.longest = rule.longest.max(length);
                    if is_new {
                        let text = if rule.value.is_in_json() { &mut taken.text } else { &mut whole_data };
                        *text = text.and(kinds);
                    }
                }
                Role::End => taken.ended |= rule.value.holds(event),
                Role::Error => taken.failed |= rule.value.holds(event),
                Role::Id => rule.value.each(event, &mut |value| taken.id = value.text.unwrap_or(taken.id)),
                Role::Tokens(at) => {
                    rule.value.each(event, &mut |value| {
                        taken.tokens[at] =
                            Some(value.count).filter(|count| !count.is_nan()).or(taken.tokens[at]);
                    });
                }
            }
        }
        // The data of an end marker or an error is not text.
        if !taken.ended && !taken.failed {
            taken.text = taken.text.and(whole_data);
        }
        taken
    }

    /// Reads a rule, or a list of them.
    fn read_rules(&mut self, json: &mut Json<'_>, role: Role) {
        let is_list = json.is_array() && json.enter(b'[');
        while !is_list || json.element() {
            self.add_rule(role, json.string());
            if !is_list {
                break;
            }
        }
    }

    fn add_rule(&mut self, role: Role, rule: Option<&[u8]>) {
        if self.rules.len() == MAX_RULES {
            return;
        }
        let mut conditions = split(rule.unwrap_or_default(), b" if ").map(Condition::of);
        if let Some(Some(value)) = conditions.next()
            && let Some(only_if) = conditions.take(MAX_RULES).collect()
        {
            self.rules.push(Rule { role, value, only_if, longest: 0 });
        }
    }
}

/// The bytes of the longest string.
fn longest_text(value: &Condition, event: &Event<'_>) -> usize {
    let mut longest = 0;
    value.each(event, &mut |value| longest = longest.max(value.text.unwrap_or_default().len()));
    longest
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

/// The parts between separators.
fn split<'a>(text: &'a [u8], separator: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let at = text.windows(separator.len()).position(|window| window == separator);
        rest = at.map(|at| &text[at + separator.len()..]);
        Some(&text[..at.unwrap_or(text.len())])
    })
}

const ADDRESS: Word = Word::of(b"url");
const CUMULATIVE: Word = Word::of(b"cumulative");

/// The keys of a description.
const ROLES: [(Word, Role); 8] = [
    (Word::of(b"text"), Role::Text(TextKinds::ANSWER)),
    (Word::of(b"reasoning"), Role::Text(TextKinds::REASONING)),
    (Word::of(b"tool"), Role::Text(TextKinds::TOOL)),
    (Word::of(b"end"), Role::End),
    (Word::of(b"error"), Role::Error),
    (Word::of(b"id"), Role::Id),
    (Word::of(b"inputTokens"), Role::Tokens(0)),
    (Word::of(b"outputTokens"), Role::Tokens(1)),
];

/// A format has a handful.
const MAX_RULES: usize = 32;
