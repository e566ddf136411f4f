//! The streams that are compared, with the values of each.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// The streams of a range.
#[derive(Default)]
pub(crate) struct Streams {
    /// Numbers of the streams with each value of each dimension, in rising order.
    pub(super) by_value: BTreeMap<Cow<'static, str>, HashMap<String, Vec<u32>>>,
    pub(super) all: Vec<Stream>,
}

pub(super) struct Stream {
    pub(super) ended_ms: i64,
    pub(super) is_affected: bool,
    pub(super) cause: Option<&'static str>,
}

impl Streams {
    /// Adds a stream. `cause` is why it is affected, as far as that is known.
    pub(crate) fn add<'a, Name: Into<Cow<'static, str>>>(
        &mut self,
        ended_ms: i64,
        is_affected: bool,
        cause: Option<&'static str>,
        values: impl IntoIterator<Item = (Name, &'a str)>,
    ) {
        let number = self.all.len() as u32;
        for (dimension, value) in values {
            let by_value = self.by_value.entry(dimension.into()).or_default();
            match by_value.get_mut(value) {
                Some(numbers) => numbers.push(number),
                None => _ = by_value.insert(value.to_owned(), vec![number]),
            }
        }
        self.all.push(Stream { ended_ms, is_affected, cause });
    }

    pub(crate) fn len(&self) -> u64 {
        self.all.len() as u64
    }

    pub(crate) fn affected(&self) -> u64 {
        self.all.iter().filter(|stream| stream.is_affected).count() as u64
    }
}
