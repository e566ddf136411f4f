//! Loads a [`Config`] from a TOML file and the environment, and reports all mistakes at once, each with its location.
//!
//! serde stops at the first mistake. So each mistake is noted and cut out, and the rest is read again until no mistake
//! is left.

mod messages;
#[cfg(test)]
mod tests;
mod toml_path;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::Config;
use super::error::{ConfigError, Mistake, SourceLocation};
use messages::{explain, in_a_line, is_secret, meant};
use toml_path::{TomlEntry, fill_in, is_part, take_out};

/// A configuration that may have mistakes. Arguments of the command line can still change it.
pub struct Draft {
    /// The values that were read, and defaults for missing and invalid ones.
    pub config: Config,
    path: Option<PathBuf>,
    notes: Notes,
    /// Location of every field that was set, by its name as in `sites[0].keys`.
    places: BTreeMap<String, SourceLocation>,
}

impl Draft {
    /// Reads a file, if there is one, and the environment variables whose names begin with `LLM_RUM__`:
    /// `LLM_RUM__INGEST__BODY_BYTES` is `ingest.body_bytes`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(
        path: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let read =
            |path: &Path| fs::read(path).map_err(|source| ConfigError::Read { path: path.into(), source });
        let bytes = path.map_or_else(|| Ok(Vec::new()), read)?;
        let draft = match str::from_utf8(&bytes) {
            Ok(text) => Self::parse(text, environment),
            Err(error) => Self::no_text(&bytes[..error.valid_up_to()]),
        };
        Ok(Self { path: path.map(Into::into), ..draft })
    }

    /// Draft of a file whose valid UTF-8 ends with `text`.
    fn no_text(text: &[u8]) -> Self {
        let line = text.iter().filter(|byte| **byte == b'\n').count() + 1;
        let mistake = Mistake {
            place: Some(SourceLocation::Line(line)),
            field: String::new(),
            problem: "the file is not valid UTF-8".to_owned(),
            remedy: "save it as UTF-8".to_owned(),
            beside: Vec::new(),
        };
        Self::unread(vec![mistake])
    }

    /// Draft of a configuration that cannot be read at all.
    fn unread(mistakes: Vec<Mistake>) -> Self {
        let notes = Notes { mistakes, unread: [String::new()].into(), ..Notes::default() };
        Self { config: Config::default(), path: None, notes, places: BTreeMap::new() }
    }

    /// The same from a file's text.
    pub fn parse(text: &str, environment: impl Iterator<Item = (String, String)>) -> Self {
        let scroll = Scroll::new(text, environment);
        let (mut table, errors) = DeTable::parse_recoverable(text);
        let mut mistakes: Vec<_> = errors.iter().map(|error| scroll.not_toml(error)).collect();
        // One typing error can make the parser report several errors on the same line.
        mistakes.dedup_by(|later, earlier| later.place == earlier.place);
        if !mistakes.is_empty() {
            return Self::unread(mistakes);
        }
        let mut notes = Notes::default();
        for variable in &scroll.variables {
            if let Err(mistake) = variable.put_into(&mut table) {
                notes.unread.insert(mistake.field.clone());
                notes.mistakes.push(mistake);
            }
        }
        let mut places = BTreeMap::new();
        each_entry(table.get_ref(), &mut |field, _, value| {
            places.insert(field.to_owned(), scroll.place(value.start));
        });
        let config = scroll.decode(table, &mut notes);
        Self { config, path: None, notes, places }
    }

    /// The configuration, if it has no mistakes.
    ///
    /// # Errors
    /// All mistakes, in the order of their locations.
    pub fn finish(self) -> Result<Config, ConfigError> {
        let Self { config, path, notes, places } = self;
        let mut mistakes = Vec::new();
        for mut mistake in config.mistakes() {
            mistake.field = notes.as_written(&mistake.field);
            let mut beside = mistake.beside.iter().map(|field| notes.as_written(field));
            // A value that could not be read was replaced: its mistakes are not the operator's.
            if notes.is_unread(&mistake.field) || beside.any(|field| notes.is_unread(&field)) {
                continue;
            }
            mistake.place = written(&places, &mistake.field);
            mistakes.push(mistake);
        }
        mistakes.splice(0..0, notes.mistakes);
        if mistakes.is_empty() {
            return Ok(config);
        }
        mistakes.sort_by(|one, other| one.place.cmp(&other.place));
        Err(ConfigError::Mistakes { path, mistakes })
    }
}

/// Findings from reading the configuration.
#[derive(Default)]
struct Notes {
    mistakes: Vec<Mistake>,
    /// Fields that differ from the operator's text or intent, because they were removed or filled in. The
    /// empty name means all fields.
    unread: BTreeSet<String>,
    /// Items that were removed from lists.
    taken: BTreeSet<String>,
}

impl Notes {
    fn is_unread(&self, field: &str) -> bool {
        self.unread.iter().any(|unread| is_part(field, unread) || is_part(unread, field))
    }

    /// The name of a field before any items were removed from lists.
    fn as_written(&self, field: &str) -> String {
        let mut name = String::new();
        for part in field.split_inclusive(']') {
            let (above, index) = part.rsplit_once('[').unwrap_or((part, ""));
            name.push_str(above);
            if let Ok(index) = index.trim_end_matches(']').parse::<usize>() {
                let mut left =
                    (0..).map(|at| format!("{name}[{at}]")).filter(|item| !self.taken.contains(item));
                name = left.nth(index).unwrap_or_default();
            } else if part.len() > above.len() {
                name.push_str(&part[above.len()..]);
            }
        }
        name
    }
}

/// The file's text followed by the variables. The position of a value tells which of them it comes from.
struct Scroll {
    /// Positions of the file's line ends, sorted.
    line_ends: Vec<usize>,
    variables: Vec<Variable>,
}

/// An environment variable that sets a field.
struct Variable {
    name: String,
    field: Vec<String>,
    /// Its value as TOML, padded to its position in the scroll.
    padded: String,
    /// Its text, if the value is a number, a boolean or a time in TOML.
    text: Option<String>,
    at: Range<usize>,
}

impl Scroll {
    fn new(text: &str, environment: impl Iterator<Item = (String, String)>) -> Self {
        let mut end = text.len() + 1;
        let mut ours: Vec<_> = environment.filter(|(name, _)| name.starts_with(PREFIX)).collect();
        ours.sort_unstable();
        let variables = ours.into_iter().map(|(name, value)| {
            let variable = Variable::new(name, &value, end);
            end = variable.at.end + 1;
            variable
        });
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { line_ends: ends.map(|(at, _)| at).collect(), variables: variables.collect() }
    }

    fn place(&self, position: usize) -> SourceLocation {
        match self.variables.iter().find(|variable| variable.at.contains(&position)) {
            Some(variable) => SourceLocation::Variable(variable.name.clone()),
            None => SourceLocation::Line(self.line_ends.partition_point(|end| *end < position) + 1),
        }
    }

    fn not_toml(&self, error: &toml::de::Error) -> Mistake {
        Mistake {
            place: error.span().map(|span| self.place(span.start)),
            field: String::new(),
            problem: format!("the file is not valid TOML: {}", in_a_line(error.message())),
            remedy: "see https://toml.io".to_owned(),
            beside: Vec::new(),
        }
    }

    /// Decodes every field that can be decoded, and notes the others.
    fn decode<'a>(&'a self, mut table: Spanned<DeTable<'a>>, notes: &mut Notes) -> Config {
        loop {
            let error = match Config::deserialize(Deserializer::from(table.clone())) {
                Ok(config) => return config,
                Err(error) => error,
            };
            let (message, span) = (error.message(), error.span());
            if let Some(as_text) = span.as_ref().and_then(|span| self.as_text(&table, span)) {
                table = as_text;
                continue;
            }
            let missing = message.strip_prefix("missing field `").map(|name| name.trim_end_matches('`'));
            let field = span.as_ref().and_then(|span| innermost(table.get_ref(), span, missing.is_some()));
            let field = field.unwrap_or_default();
            let (field, span) =
                culprit(&table, &field, message).map_or((field.clone(), span), |(item, at)| (item, Some(at)));
            let written = notes.as_written(&field);
            let unread = missing.map_or_else(|| written.clone(), |name| format!("{written}.{name}"));
            // A field that was removed, or is present under a misspelt name, is missing now. That mistake is
            // noted already.
            if missing.is_none() || !notes.is_unread(&unread) {
                let place = span.map(|span| self.place(span.start));
                notes.mistakes.push(explain(place, &written, message));
            }
            notes.unread.insert(unread);
            if let Some(name) = meant(&field, message)
                && TomlEntry::of(table.get_mut(), &name).is_none()
            {
                notes.unread.insert(notes.as_written(&name));
            }
            let goes_on = match missing {
                Some(name) => fill_in(&mut table, &field, name),
                None => take_out(table.get_mut(), &field),
            };
            // Every round removes or adds something for good, so the loop ends.
            if notes.mistakes.len() >= MOST_MISTAKES || !goes_on {
                notes.unread.insert(String::new());
                return Config::default();
            }
            if missing.is_none() && field.ends_with(']') {
                notes.taken.insert(written);
            }
        }
    }

    /// The table with a variable's value as text, if the operator meant text: `7` and `true` can be names
    /// too. `None` if the text would be no better.
    fn as_text<'a>(
        &'a self,
        table: &Spanned<DeTable<'a>>,
        wrong: &Range<usize>,
    ) -> Option<Spanned<DeTable<'a>>> {
        let variable = self.variables.iter().find(|variable| variable.at.contains(&wrong.start))?;
        let text = variable.text.as_ref()?;
        let mut table = table.clone();
        // A removed field stays removed.
        TomlEntry::of(table.get_mut(), &variable.field.join("."))?;
        variable.put(Spanned::new(wrong.clone(), DeValue::String(Cow::Borrowed(text))), &mut table).ok()?;
        match Config::deserialize(Deserializer::from(table.clone())) {
            Err(error) if error.span().as_ref() == Some(wrong) => None,
            _ => Some(table),
        }
    }
}

impl Variable {
    fn new(name: String, value: &str, start: usize) -> Self {
        let field =
            name[PREFIX.len()..].to_ascii_lowercase().split("__").map(str::to_owned).collect::<Vec<_>>();
        let padding = "\n".repeat(start);
        let as_toml = format!("{padding}v = {value}");
        // Most values are plain text. Values that are TOML may be numbers, lists and tables. A secret is
        // text, even if it consists of digits.
        let is_one_secret = field != ["notify"] && is_secret(&field.join("."));
        let table =
            DeTable::parse(&as_toml).ok().filter(|table| !is_one_secret && table.get_ref().len() == 1);
        let is_word = |value: &Spanned<DeValue<'_>>| {
            !matches!(value.get_ref(), DeValue::String(_) | DeValue::Array(_) | DeValue::Table(_))
        };
        let text = table.as_ref().and_then(|table| table.get_ref().get("v")).filter(|value| is_word(value));
        let text = text.map(|_| value.to_owned());
        let is_toml = table.is_some();
        let padded = if is_toml { as_toml } else { format!("{padding}v = {}", toml::Value::from(value)) };
        let at = start..padded.len();
        Self { name, field, padded, text, at }
    }

    fn put_into<'a>(&'a self, table: &mut Spanned<DeTable<'a>>) -> Result<(), Mistake> {
        let value = DeTable::parse(&self.padded).ok().and_then(|mut table| table.get_mut().remove("v"));
        self.put(value.ok_or_else(|| self.refuse("is not a valid value", "write it as in the file"))?, table)
    }

    fn put<'a>(&self, value: Spanned<DeValue<'a>>, table: &mut Spanned<DeTable<'a>>) -> Result<(), Mistake> {
        let (last, above) = self
            .field
            .split_last()
            .ok_or_else(|| self.refuse("names no field", "add the name of a field"))?;
        let mut at = table.get_mut();
        for name in above {
            let empty = || Spanned::new(self.at.clone(), DeValue::Table(DeTable::new()));
            let next = at.entry(self.key(name)).or_insert_with(empty);
            let DeValue::Table(next) = next.get_mut() else {
                return Err(self.refuse("is inside a field that is not a table", "set the whole field"));
            };
            at = next;
        }
        at.remove(last.as_str());
        at.insert(self.key(last), value);
        Ok(())
    }

    fn refuse(&self, problem: &str, remedy: &str) -> Mistake {
        Mistake {
            place: Some(SourceLocation::Variable(self.name.clone())),
            field: self.field.join("."),
            problem: problem.to_owned(),
            remedy: remedy.to_owned(),
            beside: Vec::new(),
        }
    }

    fn key<'a>(&self, name: &str) -> Spanned<Cow<'a, str>> {
        Spanned::new(self.at.clone(), Cow::Owned(name.to_owned()))
    }
}

/// Calls `each` for every field, outer ones first, with the positions of its name and of its value.
fn each_entry(table: &DeTable<'_>, each: &mut impl FnMut(&str, Range<usize>, Range<usize>)) {
    fn inside(field: &str, value: &DeValue<'_>, each: &mut impl FnMut(&str, Range<usize>, Range<usize>)) {
        match value {
            DeValue::Table(table) => {
                for (name, value) in table {
                    let field = if field.is_empty() {
                        name.get_ref().to_string()
                    } else {
                        format!("{field}.{}", name.get_ref())
                    };
                    each(&field, name.span(), value.span());
                    inside(&field, value.get_ref(), each);
                }
            }
            DeValue::Array(array) => {
                for (index, value) in array.iter().enumerate() {
                    let field = format!("{field}[{index}]");
                    each(&field, value.span(), value.span());
                    inside(&field, value.get_ref(), each);
                }
            }
            _ => {}
        }
    }
    inside("", &DeValue::Table(table.clone()), each);
}

/// The innermost field whose name or value contains an error. If a field is missing, the table that lacks it.
fn innermost(table: &DeTable<'_>, error: &Range<usize>, is_missing: bool) -> Option<String> {
    let mut found = None;
    each_entry(table, &mut |field, name, value| {
        let holds = |range: Range<usize>| range.start <= error.start && error.end <= range.end;
        // A variable is the position of every name and table above its value.
        if holds(value) || !is_missing && holds(name) {
            found = Some(field.to_owned());
        }
    });
    found
}

/// The item of a list that causes the error: without it, the error changes. serde names only the list.
fn culprit(table: &Spanned<DeTable<'_>>, field: &str, message: &str) -> Option<(String, Range<usize>)> {
    let mut items = Vec::new();
    each_entry(table.get_ref(), &mut |item, _, value| {
        if item.strip_prefix(field).is_some_and(|rest| rest.starts_with('[') && rest.ends_with(']')) {
            items.push((item.to_owned(), value));
        }
    });
    items.into_iter().take(MOST_ITEMS).find(|(item, _)| {
        let mut without = table.clone();
        take_out(without.get_mut(), item);
        Config::deserialize(Deserializer::from(without))
            .map_or_else(|error| error.message() != message, |_| true)
    })
}

/// Location of a field, or of the nearest field that contains it.
fn written(places: &BTreeMap<String, SourceLocation>, field: &str) -> Option<SourceLocation> {
    let mut field = field;
    loop {
        if let Some(place) = places.get(field) {
            return Some(place.clone());
        }
        field = &field[..field.rfind(['.', '['])?];
    }
}

const PREFIX: &str = "LLM_RUM__";

/// More mistakes at once help no reader, and each costs another round of decoding.
const MOST_MISTAKES: usize = 50;

/// In a longer list, the mistake is reported for the whole list.
const MOST_ITEMS: usize = 100;
