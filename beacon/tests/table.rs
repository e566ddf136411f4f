//! The table of fields is complete and free of contradictions.

use std::collections::BTreeSet;

use beacon::record::Record;
use beacon::{Field, Rule, StreamReport};

const FULL: &str = include_str!("golden/v1-full.json");

fn check(fields: &'static [Field], value: &serde_json::Value, path: &str) {
    let object = value.as_object().unwrap_or_else(|| panic!("{path} is an object"));
    let names: BTreeSet<_> = fields.iter().map(|field| field.name).collect();
    let numbers: BTreeSet<_> = fields.iter().map(|field| field.number).collect();
    assert_eq!(
        (names.len(), numbers.len()),
        (fields.len(), fields.len()),
        "{path}: a name or number is used twice"
    );
    for key in object.keys() {
        assert!(names.contains(key.as_str()), "{path}{key} is not in the table");
    }
    for (at, field) in fields.iter().enumerate() {
        let path = format!("{path}{}", field.name);
        for earlier in field.after {
            assert!(
                fields[..at].iter().any(|before| before.name == *earlier),
                "{path}: `{earlier}` stands behind it"
            );
        }
        assert!(field.about.trim().ends_with('.'), "{path} says what it means");
        match field.rule {
            Rule::Group(inner) => check(inner, &object[field.name], &format!("{path}.")),
            _ => assert!(field.privacy.ends_with('.'), "{path} says what it tells about a person"),
        }
    }
}

#[test]
fn a_full_report_has_only_fields_of_the_table() {
    check(StreamReport::FIELDS, &serde_json::from_str(FULL).unwrap(), "");
}

#[test]
fn a_full_report_comes_back_from_its_binary_form() {
    let report: StreamReport = serde_json::from_str(FULL).unwrap();
    let mut bytes = Vec::new();
    report.write_record(&mut bytes);
    assert!(bytes.len() * 2 < FULL.len(), "less than half of the JSON: {} of {}", bytes.len(), FULL.len());
    let mut again = StreamReport { id: report.id.clone(), ..StreamReport::default() };
    again.read_record(&mut bytes.as_slice()).unwrap();
    assert_eq!(again, report);
}
