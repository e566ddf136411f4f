//! Writes JSON with keys in the order of the code, as providers send them.
//!
//! `serde_json::json!` sorts keys, and many readers of streams look at the first key.

use std::fmt::{self, Write};

/// A JSON value as text.
#[derive(Clone)]
pub(crate) struct Json(String);

/// `obj!("type": "ping", "index": 0)` writes an object and keeps the order of its keys.
macro_rules! obj {
    ($($key:literal : $value:expr),* $(,)?) => {
        $crate::json::Json::object(&[$(($key, $crate::json::Json::from($value))),*])
    };
}
pub(crate) use obj;

/// `null` in place of a value.
pub(crate) const NULL: Option<Json> = None;

impl Json {
    pub(crate) fn object(pairs: &[(&str, Self)]) -> Self {
        let mut text = String::from("{");
        for (at, (key, value)) in pairs.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(text, "{comma}\"{key}\":{value}").expect("a string takes what is written to it");
        }
        text.push('}');
        Self(text)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self(serde_json::to_string(text).expect("a string is always JSON"))
    }
}

impl From<&String> for Json {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        Self(number.to_string())
    }
}

/// Milliseconds, rounded to microseconds.
impl From<f64> for Json {
    fn from(ms: f64) -> Self {
        Self(format!("{ms:.3}"))
    }
}

impl From<bool> for Json {
    fn from(flag: bool) -> Self {
        Self(flag.to_string())
    }
}

impl<T: Into<Self>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| Self(String::from("null")), Into::into)
    }
}

impl<const N: usize> From<[Self; N]> for Json {
    fn from(items: [Self; N]) -> Self {
        let items: Vec<_> = items.into_iter().map(|item| item.0).collect();
        Self(format!("[{}]", items.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order_and_text_is_escaped() {
        let json = obj!("z": "a \"b\"\n", "a": [obj!("n": 1), obj!()], "none": NULL, "ms": 1.5);
        assert_eq!(json.to_string(), r#"{"z":"a \"b\"\n","a":[{"n":1},{}],"none":null,"ms":1.500}"#);
    }
}
