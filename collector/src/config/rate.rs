//! A rate limit as the operator writes it.

use serde::Deserialize;

/// A configured rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Long-term rate per second, 1 to 1,000,000.
    pub per_second: u32,
    /// Number allowed at once after a pause. Default ten seconds' worth.
    pub burst: Option<u32>,
}

impl Rate {
    /// Problem of an invalid rate. `None` if it is valid.
    pub(crate) fn mistake(self) -> Option<&'static str> {
        match self {
            Self { per_second: 1..=1_000_000, burst: None | Some(1..=100_000_000) } => None,
            Self { per_second: 1..=1_000_000, .. } => Some("has a `burst` that is not from 1 to 100000000"),
            Self { .. } => Some("has a `per_second` that is not from 1 to 1000000"),
        }
    }
}
