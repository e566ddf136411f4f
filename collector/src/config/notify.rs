//! Receivers of notifications about alerts.

use std::collections::BTreeSet;
use std::fmt;

use axum::http::Uri;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lettre::message::Mailbox;
use lettre::transport::smtp::{SmtpTransport, SmtpTransportBuilder};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::secret::Secret;
use super::severity::Severity;

/// One receiver of notifications.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// Form of the messages.
    pub kind: NotifyKind,
    /// Address of the webhook. For `email`, the mail server: `smtps://user:password@mail.example`, or `smtp://` for
    /// STARTTLS. It is in no log.
    pub url: Secret,
    /// Secret of the signature, for `webhook`: `whsec_` and base64. Default none: messages are not signed.
    #[serde(default)]
    pub secret: Option<Secret>,
    /// Sender of the mails, for `email`.
    #[serde(default)]
    pub from: Option<String>,
    /// Receivers of the mails, for `email`.
    #[serde(default)]
    pub to: Vec<String>,
    /// Severities that are sent. Default P1, page, P2 and incident.
    #[serde(default = "urgent")]
    pub on: Vec<Severity>,
    /// Sites whose alerts are sent. Default all.
    #[serde(default)]
    pub sites: Vec<String>,
    /// Time of the day during which only P1 and page are sent. The others wait until its end. Default none.
    #[serde(default)]
    pub quiet: Option<Quiet>,
}

/// Form of the messages to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotifyKind {
    /// JSON as in Standard Webhooks.
    Webhook,
    /// An incoming webhook of Slack.
    Slack,
    /// A workflow of Microsoft Teams.
    Teams,
    /// A webhook of Discord.
    Discord,
    /// Mail by SMTP.
    Email,
}

/// A time of the day, in minutes since midnight in its time zone. The end is exclusive.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Quiet {
    from: i16,
    to: i16,
    zone: TimeZone,
}

/// Why a text is no time of the day.
#[derive(Debug, thiserror::Error)]
pub enum QuietError {
    /// It has no two different times.
    #[error("it is not a time of the day: write it as `22:00-07:00` (UTC) or `22:00-07:00 Europe/Berlin`")]
    Time,
    /// The time zone database has no such name.
    #[error("it names no time zone: write its name as in `22:00-07:00 Europe/Berlin`")]
    Zone,
}

/// A mistake: field, problem, remedy.
pub(super) type NotifyMistake = (&'static str, String, &'static str);

impl NotifyKind {
    pub(crate) const ALL: [Self; 5] = [Self::Webhook, Self::Slack, Self::Teams, Self::Discord, Self::Email];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Slack => "slack",
            Self::Teams => "teams",
            Self::Discord => "discord",
            Self::Email => "email",
        }
    }
}

impl Notify {
    /// Identifies the receiver over restarts and changes of the other fields, without the secret URL.
    pub(crate) fn id(&self) -> String {
        let text = format!("{}\n{}\n{}", self.kind.as_str(), self.url.text(), self.to.join("\n"));
        fingerprint(&text)
    }

    /// The key of the signature. `None` without a valid secret.
    pub(crate) fn signing_key(&self) -> Option<Vec<u8>> {
        let encoded = self.secret.as_ref()?.text().strip_prefix("whsec_")?;
        STANDARD.decode(encoded).ok().filter(|key| (24..=64).contains(&key.len()))
    }

    /// The connection to the mail server. `None` if the address is not valid.
    pub(crate) fn smtp(&self) -> Option<SmtpTransportBuilder> {
        let url = self.url.text();
        let uri: Uri = url.parse().ok()?;
        if uri.path().len() > 1 || uri.query().is_some() {
            return None;
        }
        // A password never crosses a network without TLS.
        let is_local = matches!(uri.host()?, "localhost" | "127.0.0.1" | "[::1]");
        let tls = if uri.scheme_str() == Some("smtp") && !is_local { "?tls=required" } else { "" };
        SmtpTransport::from_url(&format!("{}{tls}", url.trim_end_matches('/'))).ok()
    }

    /// All mistakes, except duplicates of other receivers.
    pub(super) fn mistakes(&self, sites: &BTreeSet<&str>) -> Vec<NotifyMistake> {
        let mut found =
            if self.kind == NotifyKind::Email { self.mail_mistakes() } else { self.http_mistakes() };
        if self.on.is_empty() {
            let remedy = "write severities, such as `[\"P1\", \"page\"]`, or remove it for the default";
            found.push(("on", "is empty, so nothing is sent".to_owned(), remedy));
        }
        if let Some(unknown) = self.sites.iter().find(|site| !sites.contains(site.as_str())) {
            let problem = format!("contains `{unknown}`, which is the name of no site");
            found.push(("sites", problem, "write names of `[[sites]]`, or remove it for all"));
        }
        found
    }

    fn mail_mistakes(&self) -> Vec<NotifyMistake> {
        let mut found = Vec::new();
        if self.smtp().is_none() {
            let remedy = "write `smtps://user:password@mail.example`, or `smtp://` for STARTTLS, and encode special \
                          characters of the password by `%`";
            found.push(("url", "is not a valid address of a mail server".to_owned(), remedy));
        }
        let is_address = |text: &String| text.parse::<Mailbox>().is_ok();
        if !self.from.as_ref().is_some_and(is_address) {
            let problem = if self.from.is_some() { "is not a mail address" } else { "is needed for `email`" };
            found.push(("from", problem.to_owned(), "write one such as `llm-rum@shop.example`"));
        }
        if self.to.is_empty() || !self.to.iter().all(is_address) {
            let problem =
                if self.to.is_empty() { "is needed for `email`" } else { "contains no mail address" };
            found.push(("to", problem.to_owned(), "write a list such as `[\"oncall@shop.example\"]`"));
        }
        if self.secret.is_some() {
            found.push(("secret", "has no effect for `email`".to_owned(), "remove it"));
        }
        found
    }

    fn http_mistakes(&self) -> Vec<NotifyMistake> {
        let mut found = Vec::new();
        let is_http = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some();
        if !self.url.text().parse().is_ok_and(|uri| is_http(&uri)) {
            found.push((
                "url",
                "is not a valid address".to_owned(),
                "write it as the service shows it: `https://…`",
            ));
        }
        if self.secret.is_some() && self.kind != NotifyKind::Webhook {
            let problem = format!("has no effect for `{}`", self.kind.as_str());
            found.push(("secret", problem, "remove it, or write `kind = \"webhook\"`"));
        } else if self.secret.is_some() && self.signing_key().is_none() {
            let remedy = "generate one with `echo whsec_$(openssl rand -base64 32)`";
            found.push(("secret", "is not `whsec_` and 24 to 64 bytes in base64".to_owned(), remedy));
        }
        if self.from.is_some() {
            found.push(("from", "has no effect without `kind = \"email\"`".to_owned(), "remove it"));
        }
        if !self.to.is_empty() {
            found.push(("to", "has no effect without `kind = \"email\"`".to_owned(), "remove it"));
        }
        found
    }
}

impl Quiet {
    /// Whether a moment is quiet.
    pub(crate) fn contains(&self, now_ms: i64) -> bool {
        let Ok(now) = Timestamp::from_millisecond(now_ms) else { return false };
        let now = self.zone.to_datetime(now);
        let minute = i16::from(now.hour()) * 60 + i16::from(now.minute());
        if self.from < self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

impl TryFrom<String> for Quiet {
    type Error = QuietError;

    fn try_from(text: String) -> Result<Self, QuietError> {
        let (hours, zone) =
            text.split_once(' ').map_or((text.as_str(), None), |(hours, zone)| (hours, Some(zone)));
        let (from, to) = hours.split_once('-').ok_or(QuietError::Time)?;
        let (from, to) = (minutes(from).ok_or(QuietError::Time)?, minutes(to).ok_or(QuietError::Time)?);
        if from == to {
            return Err(QuietError::Time);
        }
        let zone =
            zone.map_or(Ok(TimeZone::UTC), |zone| TimeZone::get(zone).map_err(|_| QuietError::Zone))?;
        Ok(Self { from, to, zone })
    }
}

impl fmt::Display for NotifyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn minutes(text: &str) -> Option<i16> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, below: i16| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is_number && (0..below).contains(number))
    };
    Some(number(hours, 24)? * 60 + number(minutes, 60)?)
}

/// The first 16 bytes of the SHA-256 hash, in hexadecimal digits.
pub(crate) fn fingerprint(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn urgent() -> Vec<Severity> {
    vec![Severity::P1, Severity::Page, Severity::P2, Severity::Incident]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_hours_reach_over_midnight() {
        let is_quiet = |quiet: &str, at: &str| is_quiet(quiet, &format!("2026-11-27T{at}:00Z"));
        let night = "22:00-07:00";
        for inside in ["22:00", "23:59", "00:00", "06:59"] {
            assert!(is_quiet(night, inside), "{inside}");
        }
        for outside in ["07:00", "12:00", "21:59"] {
            assert!(!is_quiet(night, outside), "{outside}");
        }
        assert!(is_quiet("12:00-13:00", "12:00") && !is_quiet("12:00-13:00", "00:00"));
        for wrong in ["", "22:00", "22:00-22:00", "24:00-07:00", "22:60-07:00", "22-07", "+2:00-07:00"] {
            assert!(matches!(Quiet::try_from(wrong.to_owned()), Err(QuietError::Time)), "{wrong}");
        }
        for wrong in ["22:00-07:00 ", "22:00-07:00 Mars/Base", "22:00-07:00  Europe/Berlin"] {
            assert!(matches!(Quiet::try_from(wrong.to_owned()), Err(QuietError::Zone)), "{wrong}");
        }
    }

    #[test]
    fn quiet_hours_follow_the_clock_of_their_time_zone() {
        let night = "22:00-07:00 Europe/Berlin";
        for (at, expected) in [
            ("2026-01-15T20:59:00Z", false),
            ("2026-01-15T21:00:00Z", true),
            ("2026-07-15T19:59:00Z", false),
            ("2026-07-15T20:00:00Z", true),
            // Summer time begins in this night.
            ("2026-03-29T04:59:00Z", true),
            ("2026-03-29T05:00:00Z", false),
        ] {
            assert_eq!(is_quiet(night, at), expected, "{at}");
        }
        assert!(is_quiet("22:00-07:00 Asia/Kolkata", "2026-01-15T16:30:00Z"), "a zone with half an hour");
    }

    fn is_quiet(quiet: &str, at: &str) -> bool {
        let at: Timestamp = at.parse().unwrap();
        Quiet::try_from(quiet.to_owned()).unwrap().contains(at.as_millisecond())
    }
}
