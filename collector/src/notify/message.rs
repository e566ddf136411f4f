//! What a notification says: what, where, since when, the likely cause, and a link to the dashboard.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::config::severity::Severity;
use crate::time::{HOUR_MINUTES, MINUTE_MS, rfc3339};

/// A message about one alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Message {
    /// The same for each attempt to deliver it, so that a receiver can discard repetitions.
    pub(crate) id: String,
    pub(crate) event: Event,
    pub(crate) site: String,
    pub(crate) use_case: String,
    /// The objective, or `wait`.
    pub(crate) subject: String,
    pub(crate) severity: Severity,
    /// A sentence without its full stop.
    pub(crate) finding: String,
    /// A sentence without its full stop. `None` if no cause is known, and at the end.
    pub(crate) cause: Option<String>,
    /// Length of the alert's window.
    pub(crate) minutes: i64,
    /// When the alert was first seen.
    pub(crate) since_ms: i64,
    /// When the message was made; for the end, when the alert stopped firing.
    pub(crate) at_ms: i64,
}

/// Why a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    Started,
    /// The alert became more severe.
    Raised,
    Ended,
    /// Sent by hand.
    Test,
}

impl Event {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Raised => "raised",
            Self::Ended => "ended",
            Self::Test => "test",
        }
    }
}

impl Message {
    /// A message to try out a receiver.
    pub(crate) fn test(now_ms: i64) -> Self {
        Self {
            id: format!("msg_test_{now_ms}"),
            event: Event::Test,
            site: "demo".to_owned(),
            use_case: "chat".to_owned(),
            subject: "wait".to_owned(),
            severity: Severity::Ticket,
            finding: "this is a test, no alert fires".to_owned(),
            cause: None,
            minutes: HOUR_MINUTES,
            since_ms: now_ms,
            at_ms: now_ms,
        }
    }

    /// One line.
    pub(crate) fn title(&self) -> String {
        let Self { severity, site, use_case, subject, .. } = self;
        let what = match self.event {
            Event::Started => "alert started",
            Event::Raised => "alert became more severe",
            Event::Ended => "alert ended",
            Event::Test => "test of notifications",
        };
        one_line(&format!("[{}] {site} {use_case}: {subject} {what}", severity.as_str()))
    }

    /// The sentences below the title, without the link.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let period = match self.event {
            Event::Ended => format!("From {} to {}", minute(self.since_ms), minute(self.at_ms)),
            _ => format!("Since {}", minute(self.since_ms)),
        };
        let finding = match self.event {
            Event::Ended => format!("It was: {}", self.finding),
            _ => capitalised(&self.finding),
        };
        let sentences = [Some(finding), Some(period), self.cause.clone()];
        sentences.into_iter().flatten().map(|sentence| one_line(&format!("{sentence}."))).collect()
    }

    /// Address of the dashboard with the range and the filter of the alert.
    pub(crate) fn link(&self, public_url: &str) -> String {
        let from = self.since_ms - self.minutes.max(HOUR_MINUTES) * MINUTE_MS;
        let (from, to) = (from.div_euclid(MINUTE_MS), self.at_ms.div_euclid(MINUTE_MS) + 1);
        format!(
            "{}/?from={}&to={}&site={}&use_case={}",
            public_url.trim_end_matches('/'),
            from * MINUTE_MS,
            to * MINUTE_MS,
            percent_encoded(&self.site),
            percent_encoded(&self.use_case)
        )
    }
}

/// `2026-11-25 20:12 UTC`.
fn minute(ms: i64) -> String {
    let text = rfc3339(ms);
    format!("{} {} UTC", &text[..10], &text[11..16])
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Pages choose the names of use cases: none may begin a new line of a message.
fn one_line(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(byte.into());
        } else {
            write!(encoded, "%{byte:02X}").expect("a String takes every text");
        }
        encoded
    })
}
