//! The lists in the code are those of the contract.

use super::case::{CONTRACT, list};
use crate::event_kind::{DELTA_PREFIXES, END_TYPES, NO_TEXT_TYPES, SILENT_FIELDS, TEXT_PARTS};

#[test]
fn the_lists_are_those_of_the_contract() {
    let lists = [
        ("end_types", &END_TYPES[..]),
        ("no_text_types", &NO_TEXT_TYPES[..]),
        ("delta_prefixes", &DELTA_PREFIXES[..]),
        ("text_parts", &TEXT_PARTS[..]),
        ("silent_fields", &SILENT_FIELDS[..]),
    ];
    for (name, texts) in lists {
        assert_eq!(list(&CONTRACT, name), texts, "{name}");
    }
}
