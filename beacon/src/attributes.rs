//! Facts that the app names, such as the plan of the user: short identifiers by key.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum number of attributes of a site, and so of a stream.
pub const MAX_ATTRIBUTES: usize = 5;

/// Longest key and longest value of an attribute, in bytes.
pub const MAX_ATTRIBUTE_BYTES: usize = 32;

/// Attributes of a stream, sorted by key. What a page sends may be of any shape: the collector keeps those that its
/// configuration names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes(Vec<(String, String)>);

impl Attributes {
    /// The attributes in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether the stream has no attribute.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// Keeps those attributes that pass the test, and counts the others.
    pub fn retain(&mut self, keep: impl Fn(&str, &str) -> bool) -> u64 {
        let before = self.0.len();
        self.0.retain(|(key, value)| keep(key, value));
        (before - self.0.len()) as u64
    }

    fn insert(&mut self, key: String, value: String) {
        match self.0.binary_search_by(|(known, _)| known.cmp(&key)) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (key, value)),
        }
    }
}

/// Whether this may be the key of an attribute: a word in small letters, with digits and `_` after the first.
#[must_use]
pub fn is_attribute_key(key: &str) -> bool {
    let mut bytes = key.bytes();
    key.len() <= MAX_ATTRIBUTE_BYTES
        && bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Whether this may be the value of an attribute: letters, digits and `._-` without blanks. Many digits are the id of a
/// person or of a thing.
#[must_use]
pub fn is_attribute_value(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    (1..=MAX_ATTRIBUTE_BYTES).contains(&value.len())
        && digits <= MOST_DIGITS
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Enough for a date.
const MOST_DIGITS: usize = 8;

/// Maximum number of attributes that are read of one report; the rest is skipped.
const MOST_READ: usize = 64;

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut attributes = Self::default();
        pairs.into_iter().for_each(|(key, value)| attributes.insert(key.into(), value.into()));
        attributes
    }
}

impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Sent::deserialize(deserializer)? {
            Sent::Object(pairs) => {
                pairs.into_iter().take(MOST_READ).map(|(key, value)| (key, value.into_text())).collect()
            }
            Sent::Tag(text) => {
                let pairs = text.split_whitespace().take(MOST_READ);
                pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect()
            }
            Sent::Nothing(()) => Self::default(),
            Sent::Other(_) => [("", "")].into_iter().collect(),
        })
    }
}

/// What a page sends. Every JSON is accepted, because a mistake of the app must not cost the report.
#[derive(Deserialize)]
#[serde(untagged)]
enum Sent {
    Object(BTreeMap<String, Scalar>),
    /// The text of a tag, such as `plan=pro tier=gold`.
    Tag(String),
    Nothing(()),
    /// Becomes a pair that no attribute can be, so that it is dropped and counted.
    Other(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Flag(bool),
    Integer(i64),
    Number(f64),
    Other(IgnoredAny),
}

impl Scalar {
    /// The value as text. Empty for a list or an object, so that no attribute can have it.
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Flag(flag) => flag.to_string(),
            Self::Integer(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Other(_) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// Any JSON, nested up to three levels.
    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,40}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 100, 80, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..80).prop_map(Value::from),
                prop::collection::hash_map(".{0,8}", inner, 0..80).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_gives_bounded_attributes(sent in json()) {
            let mut attributes: Attributes = serde_json::from_str(&sent.to_string()).unwrap();
            prop_assert!(attributes.iter().count() <= MOST_READ);
            let keys: Vec<_> = attributes.iter().map(|(key, _)| key.to_owned()).collect();
            prop_assert!(keys.is_sorted_by(|one, next| one < next), "{keys:?}");
            let before = attributes.iter().count() as u64;
            let dropped = attributes.retain(|key, value| is_attribute_key(key) && is_attribute_value(value));
            prop_assert_eq!(before - dropped, attributes.iter().count() as u64);
            let again: Attributes = serde_json::from_value(serde_json::to_value(&attributes).unwrap()).unwrap();
            prop_assert_eq!(again, attributes);
        }
    }

    fn parsed(json: &str) -> Vec<(String, String)> {
        let attributes: Attributes = serde_json::from_str(json).unwrap();
        attributes.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_object_and_a_tag_give_the_same_attributes() {
        let same = pairs(&[("plan", "pro"), ("seats", "5"), ("trial", "true")]);
        assert_eq!(parsed(r#"{"seats":5,"plan":"pro","trial":true}"#), same);
        assert_eq!(parsed(r#"" plan=pro  seats=5 trial=true""#), same);
    }

    #[test]
    fn no_json_is_an_error() {
        for json in ["null", "\"\"", "{}"] {
            assert_eq!(parsed(json), [], "{json}");
        }
        for json in ["7", "-7", "1.5", "true", "[{}]", "[]"] {
            assert_eq!(parsed(json), pairs(&[("", "")]), "{json}");
        }
        let odd = r#"{"a":{"b":[1]},"b":[{"c":1}],"c":null,"d":"x","d":"y"}"#;
        assert_eq!(parsed(odd), pairs(&[("a", ""), ("b", ""), ("c", ""), ("d", "y")]));
        let many: Vec<_> = (0..1000).map(|at| format!("\"k{at}\":1")).collect();
        assert_eq!(parsed(&format!("{{{}}}", many.join(","))).len(), MOST_READ);
    }

    #[test]
    fn keys_and_values_are_short_identifiers() {
        for key in ["plan", "ab_test_2"] {
            assert!(is_attribute_key(key), "{key}");
        }
        for key in ["", "Plan", "2nd", "a-b", "_a", "a b", "é", &"a".repeat(33)] {
            assert!(!is_attribute_key(key), "{key}");
        }
        for value in ["pro", "v2.1", "EU-west_1", "2026-11-28", "5"] {
            assert!(is_attribute_value(value), "{value}");
        }
        for value in ["", "jo@example.org", "two words", "Grüße", "123456789", "a/b", &"a".repeat(33)] {
            assert!(!is_attribute_value(value), "{value}");
        }
    }
}
