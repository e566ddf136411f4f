//! Hands over the items of a list in JSON one by one, unread. A body of a few bytes for each of millions of items takes no
//! memory that way.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Calls `each` with every item of the list that an object has under `key`. `null` and an absent key have none.
pub(super) fn each_of<'a>(
    object: &'a [u8],
    key: &str,
    each: &mut dyn FnMut(&'a RawValue),
) -> Result<(), serde_json::Error> {
    let mut from = serde_json::Deserializer::from_slice(object);
    from.deserialize_map(ObjectVisitor { key, each })?;
    from.end()
}

/// Calls `each` with every item of a list.
pub(super) fn each<'a>(list: &'a [u8], each: &mut dyn FnMut(&'a RawValue)) -> Result<(), serde_json::Error> {
    let mut from = serde_json::Deserializer::from_slice(list);
    Items(each).deserialize(&mut from)?;
    from.end()
}

struct ObjectVisitor<'k, 'f, 'a> {
    key: &'k str,
    each: &'f mut dyn FnMut(&'a RawValue),
}

impl<'a> Visitor<'a> for ObjectVisitor<'_, '_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(key)) = map.next_key()? {
            if key == self.key {
                map.next_value_seed(Items(&mut *self.each))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// A key, which is copied only if it has escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

struct Items<'f, 'a>(&'f mut dyn FnMut(&'a RawValue));

impl<'a> DeserializeSeed<'a> for Items<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Items<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(item) = list.next_element()? {
            (self.0)(item);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(json: &str) -> Option<Vec<&str>> {
        let mut found = Vec::new();
        each_of(json.as_bytes(), "list", &mut |item| found.push(item.get())).ok()?;
        Some(found)
    }

    #[test]
    fn the_items_of_a_list_come_unread() {
        assert_eq!(
            items(r#"{"a":[1],"list":[ {"b":[2]} ,"c",null],"d":{}}"#),
            Some(vec!["{\"b\":[2]}", "\"c\"", "null"])
        );
        assert_eq!(items(r#"{"l\u0069st":[1]}"#), Some(vec!["1"]), "a key with an escape");
        for none in ["{}", r#"{"list":null}"#, r#"{"list":[]}"#, r#"{"a":{"list":[1]}}"#] {
            assert_eq!(items(none), Some(vec![]), "{none}");
        }
        for wrong in ["", "[]", r#"{"list":{}}"#, r#"{"list":"x"}"#, r#"{"list":[1,"#, r#"{"list":[]} x"#] {
            assert_eq!(items(wrong), None, "{wrong}");
        }
    }
}
