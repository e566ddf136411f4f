//! Edits a TOML table by paths such as `sites[0].keys[1]`: removes entries that cannot be read and fills in missing
//! ones.

use std::borrow::Cow;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, Deserializer};

use crate::config::Config;

/// Location of a field in a TOML table.
pub(super) enum TomlEntry<'t, 'a> {
    Entry(&'t mut DeTable<'a>, String),
    Item(&'t mut DeArray<'a>, usize),
}

impl<'t, 'a> TomlEntry<'t, 'a> {
    pub(super) fn of(table: &'t mut DeTable<'a>, field: &str) -> Option<Self> {
        // Names may contain dots.
        let names = table.keys().map(|name| name.get_ref().as_ref());
        let name = names.filter(|name| is_part(field, name)).max_by_key(|name| name.len())?.to_owned();
        let rest = &field[name.len()..];
        if rest.is_empty() {
            return Some(Self::Entry(table, name));
        }
        Self::below(table.get_mut(name.as_str())?.get_mut(), rest)
    }

    fn below(value: &'t mut DeValue<'a>, rest: &str) -> Option<Self> {
        match value {
            DeValue::Table(table) => Self::of(table, rest.strip_prefix('.')?),
            DeValue::Array(array) => {
                let (index, rest) = rest.strip_prefix('[')?.split_once(']')?;
                let index = index.parse().ok().filter(|index| *index < array.len())?;
                if rest.is_empty() {
                    return Some(Self::Item(array, index));
                }
                Self::below(array.get_mut(index)?.get_mut(), rest)
            }
            _ => None,
        }
    }
}

/// Removes a field. `false` if it does not exist.
pub(super) fn take_out(table: &mut DeTable<'_>, field: &str) -> bool {
    match TomlEntry::of(table, field) {
        Some(TomlEntry::Entry(table, name)) => table.remove(name.as_str()).is_some(),
        Some(TomlEntry::Item(array, index)) => {
            let left = array.iter().enumerate().filter(|(at, _)| *at != index);
            *array = left.map(|(_, value)| value.clone()).collect();
            true
        }
        None => false,
    }
}

/// Fills in a missing field with a value that fits, so that the rest of the table can be checked. `false` if
/// no value fits.
pub(super) fn fill_in(table: &mut Spanned<DeTable<'_>>, field: &str, name: &str) -> bool {
    let nowhere = usize::MAX..usize::MAX;
    let number = || DeTable::parse("v = 0").ok().and_then(|mut table| table.get_mut().remove("v"));
    let stand_ins = [
        Some(DeValue::String(Cow::Borrowed(""))),
        Some(DeValue::Array(std::iter::empty().collect())),
        number().map(Spanned::into_inner),
    ];
    for stand_in in stand_ins.into_iter().flatten() {
        let mut filled = table.clone();
        let inside = match TomlEntry::of(filled.get_mut(), field) {
            Some(TomlEntry::Entry(table, name)) => table.get_mut(name.as_str()),
            Some(TomlEntry::Item(array, index)) => array.get_mut(index),
            None => None,
        };
        let Some(DeValue::Table(inside)) = inside.map(Spanned::get_mut) else { return false };
        let name = Spanned::new(nowhere.clone(), Cow::Owned(name.to_owned()));
        inside.insert(name, Spanned::new(nowhere.clone(), stand_in));
        let read = Config::deserialize(Deserializer::from(filled.clone()));
        if read.err().and_then(|error| error.span()) != Some(nowhere.clone()) {
            *table = filled;
            return true;
        }
    }
    false
}

/// Whether `part` is the field `whole`, or lies inside it.
pub(super) fn is_part(part: &str, whole: &str) -> bool {
    let rest = part.strip_prefix(whole);
    rest.is_some_and(|rest| whole.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']))
}
