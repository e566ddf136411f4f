//! The last refusals of the ingest endpoint, so that the operator of a page that cannot send sees why.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use crate::http::error::Reason;

/// The last refusals of each reason. A flood of one reason evicts no refusal of another.
pub(crate) struct RecentRefusals([Mutex<Vec<Refusal>>; Reason::ALL.len()]);

/// Refused requests of the same sender for the same reason. Its texts are short and have only visible ASCII
/// characters, whatever the requests contained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: Reason,
    /// `None` if the request named none.
    pub(crate) origin: Option<String>,
    /// The beginning of the site key. `None` if the request named none.
    pub(crate) key_prefix: Option<String>,
    /// The site that the key belongs to. `None` if it belongs to none.
    pub(crate) site: Option<String>,
    pub(crate) count: u64,
    /// Time of the last of them.
    pub(crate) timestamp_ms: i64,
}

/// What a refused request says about its sender.
pub(crate) struct Sender<'a> {
    pub(crate) origin: Option<&'a [u8]>,
    pub(crate) key: Option<&'a str>,
    pub(crate) site: Option<&'a str>,
}

impl Default for RecentRefusals {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl RecentRefusals {
    pub(crate) fn record(&self, timestamp_ms: i64, reason: Reason, sender: &Sender<'_>) {
        let mut refusal = Refusal {
            reason,
            origin: sender.origin.map(|origin| visible(&String::from_utf8_lossy(origin), MAX_ORIGIN)),
            key_prefix: sender.key.map(key_prefix),
            site: sender.site.map(str::to_owned),
            count: 1,
            timestamp_ms,
        };
        let mut last = self.0[reason as usize].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = last.iter().position(|known| known.is_of_same_sender(&refusal)) {
            refusal.count += last.remove(at).count;
        } else if last.len() == PER_REASON {
            last.remove(0);
        }
        last.push(refusal);
    }

    /// All kept refusals, the newest first.
    pub(crate) fn list(&self) -> Vec<Refusal> {
        let of_reason =
            |last: &Mutex<Vec<Refusal>>| last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut all: Vec<_> = self.0.iter().flat_map(of_reason).collect();
        all.sort_by_key(|refusal| std::cmp::Reverse(refusal.timestamp_ms));
        all
    }
}

impl Refusal {
    fn is_of_same_sender(&self, other: &Self) -> bool {
        (&self.origin, &self.key_prefix, &self.site) == (&other.origin, &other.key_prefix, &other.site)
    }
}

/// Half of the key and at most eight characters. A page that shows an access token by mistake reveals no more.
fn key_prefix(key: &str) -> String {
    visible(key, MAX_KEY_PREFIX.min(key.chars().count() / 2))
}

/// The first characters of a foreign text. Others than visible ASCII could reorder or hide parts of a screen.
fn visible(text: &str, max: usize) -> String {
    let chars = text.chars().map(|char| if char.is_ascii_graphic() { char } else { '?' });
    let shown: String = chars.take(max).collect();
    let mark = if text.chars().nth(max).is_some() { Cow::Borrowed("…") } else { Cow::default() };
    shown + &mark
}

const PER_REASON: usize = 5;
const MAX_KEY_PREFIX: usize = 8;
/// A host name has at most 253 characters.
const MAX_ORIGIN: usize = 270;

#[cfg(test)]
mod tests {
    use super::*;

    fn sender<'a>(origin: &'a str, key: &'a str) -> Sender<'a> {
        Sender { origin: Some(origin.as_bytes()), key: Some(key), site: None }
    }

    #[test]
    fn a_flood_of_one_reason_evicts_no_other() {
        let recent = RecentRefusals::default();
        recent.record(1, Reason::ForeignOrigin, &sender("https://shop.example", "shop"));
        for at in 0..1_000 {
            recent.record(at, Reason::UnknownSite, &sender(&format!("https://{at}.example"), "guess"));
        }
        let all = recent.list();
        assert_eq!(all.len(), PER_REASON + 1);
        assert_eq!(all[0].origin.as_deref(), Some("https://999.example"));
        assert_eq!(all.last().unwrap().reason, Reason::ForeignOrigin);
    }

    #[test]
    fn repeated_refusals_share_one_entry() {
        let recent = RecentRefusals::default();
        for at in 0..10 {
            recent.record(at, Reason::ForeignOrigin, &sender("https://shop.example", "shop"));
            recent.record(at, Reason::ForeignOrigin, &sender("https://blog.example", "blog"));
        }
        let counts: Vec<_> =
            recent.list().iter().map(|refusal| (refusal.count, refusal.timestamp_ms)).collect();
        assert_eq!(counts, [(10, 9), (10, 9)]);
    }

    #[test]
    fn foreign_text_is_short_and_visible() {
        let recent = RecentRefusals::default();
        let origin = format!("https://\u{202e}<b>\n{}", "x".repeat(5_000));
        recent.record(1, Reason::UnknownSite, &sender(&origin, "secret-0123456789"));
        let refusal = recent.list().remove(0);
        let shown = refusal.origin.unwrap();
        assert!(shown.starts_with("https://?<b>?xxx") && shown.chars().count() == MAX_ORIGIN + 1, "{shown}");
        assert_eq!(refusal.key_prefix.as_deref(), Some("secret-0…"));
        for (key, prefix) in [("demo", "de…"), ("k", "…"), ("", "")] {
            assert_eq!(key_prefix(key), prefix, "{key}");
        }
    }
}
