//! Receivers of notifications about alerts.

use std::collections::BTreeSet;
use std::fmt;

use axum::http::Uri;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
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
    /// Time of the day (UTC) during which only P1 and page are sent. The others wait until its end. Default none.
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

/// A time of the day, in minutes since midnight (UTC). The end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Quiet {
    from: i64,
    to: i64,
}

/// Why a text is no time of the day.
#[derive(Debug, thiserror::Error)]
#[error("it is not a time of the day: write it as `22:00-07:00`, in UTC")]
pub struct QuietError;

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
    /// Whether a minute of the day is quiet.
    pub(crate) fn contains(self, minute_of_day: i64) -> bool {
        if self.from < self.to {
            (self.from..self.to).contains(&minute_of_day)
        } else {
            minute_of_day >= self.from || minute_of_day < self.to
        }
    }
}

impl TryFrom<String> for Quiet {
    type Error = QuietError;

    fn try_from(text: String) -> Result<Self, QuietError> {
        let (from, to) = text.split_once('-').ok_or(QuietError)?;
        let quiet = Self { from: minutes(from).ok_or(QuietError)?, to: minutes(to).ok_or(QuietError)? };
        if quiet.from == quiet.to { Err(QuietError) } else { Ok(quiet) }
    }
}

impl fmt::Display for NotifyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn minutes(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, below: i64| {
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
        let quiet = |text: &str| Quiet::try_from(text.to_owned());
        let night = quiet("22:00-07:00").unwrap();
        let is_quiet = |hour: i64, minute: i64| night.contains(hour * 60 + minute);
        assert!(is_quiet(22, 0) && is_quiet(23, 59) && is_quiet(0, 0) && is_quiet(6, 59));
        assert!(!is_quiet(7, 0) && !is_quiet(12, 0) && !is_quiet(21, 59));
        assert!(
            quiet("12:00-13:00").unwrap().contains(12 * 60) && !quiet("12:00-13:00").unwrap().contains(0)
        );
        for wrong in ["", "22:00", "22:00-22:00", "24:00-07:00", "22:60-07:00", "22-07", "+2:00-07:00"] {
            assert!(quiet(wrong).is_err(), "{wrong}");
        }
    }
}
