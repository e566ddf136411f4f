//! How fast each token may post and delete markers.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::Config;
use crate::config::rate::Rate;
use crate::http::error::{ApiError, Reason};
use crate::http::rate_limit::{RateLimit, RetryAfter};

/// A limit for each token, and one for requests without a token.
pub(crate) struct MarkerRates {
    by_token: BTreeMap<String, RateLimit>,
    without_token: RateLimit,
}

impl MarkerRates {
    pub(crate) fn new(config: &Config) -> Self {
        let of_token = |name: &String| (name.clone(), RateLimit::new(CHANGES));
        Self {
            by_token: config.tokens.iter().map(|token| of_token(&token.name)).collect(),
            without_token: RateLimit::new(CHANGES),
        }
    }

    /// Charges one change of the token with this name.
    pub(crate) fn take(&self, token: Option<&str>, now: Duration) -> Result<(), ApiError> {
        let limit = token.and_then(|name| self.by_token.get(name)).unwrap_or(&self.without_token);
        limit.take(now).map_err(|RetryAfter(wait)| {
            let message =
                "the token posts or deletes too many markers: at most 60 at once, then one per second";
            ApiError::new(Reason::MarkersLimited, message).retry_after(wait)
        })
    }
}

/// A run of several services posts its markers at once. A program in a loop must not push out all others.
const CHANGES: Rate = Rate { per_second: 1, burst: Some(60) };
