//! Delivers one message: over HTTP or by mail. Receivers are foreign servers, so times and responses are bounded.

use std::time::Duration;

use lettre::message::header::ContentType;
use lettre::{Message as Mail, Transport};

use super::message::Message;
use super::payload;
use super::signature::signature;
use crate::config::notify::{Notify, NotifyKind};

/// Delivers messages.
pub(super) struct Courier {
    agent: ureq::Agent,
    public_url: Option<String>,
}

/// Why a message was not delivered. Neither text has the receiver's address, which is a secret.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// No response.
    #[error("cannot reach the receiver: {0}")]
    Unreachable(String),
    /// A response other than success.
    #[error("the receiver answered {status}")]
    Refused {
        /// Status of the response.
        status: u16,
        /// The delay that the receiver asks for.
        retry_after: Option<Duration>,
    },
    /// The mail server cannot be reached, or refused the message.
    #[error("the mail server did not accept the message: {0}")]
    Mail(String),
    /// An address is not valid in a mail.
    #[error("the message cannot be written as mail")]
    NoMail,
}

impl Courier {
    pub(super) fn new(public_url: Option<&str>) -> Self {
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .build();
        Self { agent: agent.into(), public_url: public_url.map(str::to_owned) }
    }

    /// Tries once.
    pub(super) fn deliver(
        &self,
        receiver: &Notify,
        message: &Message,
        now_ms: i64,
    ) -> Result<(), DeliveryError> {
        let link = self.public_url.as_ref().map(|url| message.link(url));
        match receiver.kind {
            NotifyKind::Email => mail(receiver, message, link.as_deref()),
            _ => self.post(receiver, message, link.as_deref(), now_ms),
        }
    }

    fn post(
        &self,
        receiver: &Notify,
        message: &Message,
        link: Option<&str>,
        now_ms: i64,
    ) -> Result<(), DeliveryError> {
        let body = payload::body(receiver.kind, message, link).to_string();
        let mut request = self.agent.post(receiver.url.text()).content_type("application/json");
        if receiver.kind == NotifyKind::Webhook {
            let timestamp_s = now_ms.div_euclid(1_000);
            request = request
                .header("webhook-id", &message.id)
                .header("webhook-timestamp", timestamp_s.to_string());
            if let Some(key) = receiver.signing_key() {
                request =
                    request.header("webhook-signature", signature(&key, &message.id, timestamp_s, &body));
            }
        }
        // The body of the response says nothing that is needed, so it is not read.
        let response = request.send(&body).map_err(|error| DeliveryError::Unreachable(reason(&error)))?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let seconds =
            response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after = seconds.map(|seconds: u32| Duration::from_secs(seconds.into()));
        Err(DeliveryError::Refused { status: status.as_u16(), retry_after })
    }
}

impl DeliveryError {
    /// The delay that the receiver asks for.
    pub(super) fn retry_after_ms(&self) -> Option<i64> {
        match self {
            Self::Refused { retry_after, .. } => {
                retry_after.and_then(|delay| delay.as_millis().try_into().ok())
            }
            _ => None,
        }
    }
}

fn mail(receiver: &Notify, message: &Message, link: Option<&str>) -> Result<(), DeliveryError> {
    let mail = written(receiver, message, link).ok_or(DeliveryError::NoMail)?;
    let server = receiver.smtp().ok_or(DeliveryError::NoMail)?.timeout(Some(TIMEOUT)).build();
    let sent = server.send(&mail).map_err(|error| DeliveryError::Mail(in_a_line(&error.to_string())));
    sent.map(|_response| ())
}

fn written(receiver: &Notify, message: &Message, link: Option<&str>) -> Option<Mail> {
    let from: lettre::message::Mailbox = receiver.from.as_ref()?.parse().ok()?;
    // The same for each attempt: mail programs show a repetition once.
    let id = format!("<{}@{}>", message.id, from.email.domain());
    let mut mail = Mail::builder().from(from).subject(message.title()).message_id(Some(id));
    for to in &receiver.to {
        mail = mail.to(to.parse().ok()?);
    }
    mail.header(ContentType::TEXT_PLAIN).body(payload::text(message, link)).ok()
}

/// Some errors of the HTTP client contain the URL.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => format!("no response within {TIMEOUT:?}"),
        ureq::Error::HostNotFound => "the host was not found".to_owned(),
        ureq::Error::ConnectionFailed => "the connection failed".to_owned(),
        ureq::Error::Io(error) => in_a_line(&error.to_string()),
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => "TLS failed".to_owned(),
        _ => "the request failed".to_owned(),
    }
}

fn in_a_line(text: &str) -> String {
    text.chars().take(LONGEST_REASON).flat_map(char::escape_debug).collect()
}

/// Limit for a request and its response, and for each step of the exchange with a mail server.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// In characters.
const LONGEST_REASON: usize = 200;
