//! A configured secret, which no log prints.

use std::fmt;

use serde::Deserialize;

/// A configured secret. Its value is never printed.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The secret's bytes, for comparing.
    #[must_use]
    pub const fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The secret as text, for sending it.
    pub(crate) const fn text(&self) -> &str {
        self.0.as_str()
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
