//! A deserializer that counts fields which this version does not know. Their names are not stored, because senders
//! can make up any number of them.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Deserializes a value, and counts its fields that the type does not know. An unknown field counts once,
/// whatever it contains.
pub(crate) fn counting<'de, T, D>(from: D) -> Result<(T, u64), D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let ignored = Cell::new(0);
    let value = T::deserialize(Counting { inner: from, ignored: &ignored })?;
    Ok((value, ignored.get()))
}

/// Wraps any part of serde's machinery, and everything nested in it.
struct Counting<'a, T> {
    inner: T,
    ignored: &'a Cell<u64>,
}

/// Delegates types without fields to the inner deserializer.
macro_rules! leave {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method(visitor)
        })*
    };
}

macro_rules! look_into {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($argument,)* Counting { inner: visitor, ignored: self.ignored })
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Counting<'_, D> {
    type Error = D::Error;

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.ignored.set(self.ignored.get() + 1);
        self.inner.deserialize_ignored_any(visitor)
    }

    look_into! {
        deserialize_option()
        deserialize_seq()
        deserialize_map()
        deserialize_tuple(len: usize)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
    }

    leave! {
        deserialize_any deserialize_bool deserialize_char deserialize_str deserialize_string
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
        deserialize_bytes deserialize_byte_buf deserialize_unit deserialize_identifier
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_unit_struct(name, visitor)
    }

    // Enums are plain strings in reports.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_enum(name, variants, visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Counting<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Counting { inner: from, ignored: self.ignored })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Counting { inner: from, ignored: self.ignored })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(Counting { inner: items, ignored: self.ignored })
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Counting { inner: entries, ignored: self.ignored })
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Counting<'_, A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        let seed = Counting { inner: seed, ignored: self.ignored };
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Counting<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        let seed = Counting { inner: seed, ignored: self.ignored };
        self.inner.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Counting<'_, T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T::Value, D::Error> {
        self.inner.deserialize(Counting { inner: from, ignored: self.ignored })
    }
}

#[cfg(test)]
mod tests {
    use beacon::Batch;

    use super::*;

    const FULL: &str = include_str!("../../../beacon/tests/golden/v1-full.json");

    fn ignored_in(json: &str) -> u64 {
        counting::<Batch, _>(&mut serde_json::Deserializer::from_str(json)).unwrap().1
    }

    #[test]
    fn an_unknown_field_is_counted_in_every_object() {
        let batch = format!("{{\"reports\":[{FULL},{FULL}]}}");
        assert_eq!(ignored_in(&batch), 0);
        let unknown = r#"{"later":[{"deep":1},2],"#;
        let objects = batch.matches('{').count();
        // `defects` is an object too: an unknown key in it counts as in any other object.
        assert_eq!(ignored_in(&batch.replace('{', unknown)), objects as u64);
    }

    #[test]
    fn counting_unknown_fields_changes_no_report() {
        let batch = format!("{{\"reports\":[{FULL}]}}");
        let (counted, _) = counting::<Batch, _>(&mut serde_json::Deserializer::from_str(&batch)).unwrap();
        assert_eq!(counted, serde_json::from_str(&batch).unwrap());
    }
}
