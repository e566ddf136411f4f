//! Decides which messages a receiver gets. Pure: the alerts and the time are arguments, and the state can be stored
//! between any two steps.

use serde::{Deserialize, Serialize};

use super::message::{Event, Message};
use crate::config::notify::{Notify, Quiet, fingerprint};
use crate::config::severity::Severity;
use crate::slo::alert::{Alert, GroupStates};
use crate::time::{HOUR_MS, MINUTE_MS};

/// The alerts that a receiver knows of, and the messages that it has yet to get.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReceiverState {
    firing: Vec<Firing>,
    /// Oldest first.
    pub(super) queue: Vec<Queued>,
}

/// An alert that the receiver was told of, and that has not ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Firing {
    site: String,
    use_case: String,
    subject: String,
    /// The most urgent one so far.
    severity: Severity,
    finding: String,
    minutes: i64,
    since_ms: i64,
    /// When the alert was first absent. `None` while it fires.
    absent_since_ms: Option<i64>,
}

/// A message that was not delivered yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Queued {
    pub(super) message: Message,
    /// Failed attempts.
    attempts: u32,
    /// Time of the first attempt. `None` before it.
    first_attempt_ms: Option<i64>,
    next_attempt_ms: i64,
}

/// What becomes of a message after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterFailure {
    Retry,
    GivenUp,
}

impl ReceiverState {
    /// Compares the alerts that fire now with those that the receiver knows of, and queues a message for each alert
    /// that started, became more severe, or ended. `cause` finds the likely cause of a new alert.
    pub(crate) fn observe(
        &mut self,
        receiver: &Notify,
        states: &GroupStates,
        now_ms: i64,
        mut cause: impl FnMut(&[String; 2], &Alert) -> Option<String>,
    ) {
        let id = receiver.id();
        let mut is_present = vec![false; self.firing.len()];
        let all =
            states.iter().flat_map(|(group, state)| state.alerts.iter().map(move |alert| (group, alert)));
        for (group, alert) in all.filter(|(group, alert)| concerns(receiver, group, alert)) {
            let known = self.firing.iter().position(|firing| firing.is_about(group, alert));
            let (mut event, at) = match known {
                None => {
                    self.firing.push(Firing::new(group, alert, now_ms));
                    (Event::Started, self.firing.len() - 1)
                }
                Some(at) => {
                    is_present[at] = true;
                    self.firing[at].absent_since_ms = None;
                    if self.firing[at].severity <= alert.severity {
                        continue;
                    }
                    self.firing[at].raise(alert);
                    (Event::Raised, at)
                }
            };
            let firing = &self.firing[at];
            // A message that still waits says less than this one, and would delay it.
            let superseded = |queued: &mut Queued| firing.is_subject_of(&queued.message);
            if self.queue.extract_if(.., superseded).any(|queued| queued.message.event == Event::Started) {
                event = Event::Started;
            }
            let message = firing.message(&id, event, cause(group, alert), now_ms);
            self.queue.push(Queued::new(message));
        }
        is_present.resize(self.firing.len(), true);
        self.end_absent(&id, &is_present, now_ms);
    }

    /// Number of alerts and messages about a site.
    pub(super) fn count_of_site(&self, site: &str) -> usize {
        let firing = self.firing.iter().filter(|firing| firing.site == site).count();
        firing + self.queue.iter().filter(|queued| queued.message.site == site).count()
    }

    /// Deletes all alerts and messages about a site. Nothing is sent about their end.
    pub(super) fn delete_site(&mut self, site: &str) {
        self.firing.retain(|firing| firing.site != site);
        self.queue.retain(|queued| queued.message.site != site);
    }

    /// Queues the end of alerts that have been absent long enough: an alert that comes and goes must not send a message
    /// each time.
    fn end_absent(&mut self, id: &str, is_present: &[bool], now_ms: i64) {
        let mut is_present = is_present.iter();
        let queue = &mut self.queue;
        self.firing.retain_mut(|firing| {
            if is_present.next() == Some(&true) {
                return true;
            }
            let since_ms = *firing.absent_since_ms.get_or_insert(now_ms);
            let has_ended = now_ms - since_ms >= END_AFTER_MS;
            if has_ended {
                queue.push(Queued::new(firing.message(id, Event::Ended, None, since_ms)));
            }
            !has_ended
        });
    }

    /// The first message that may be sent now. The messages about one alert keep their order.
    pub(crate) fn next_due(&self, quiet: Option<&Quiet>, now_ms: i64) -> Option<&Queued> {
        let is_quiet = quiet.is_some_and(|quiet| quiet.contains(now_ms));
        let is_first = |at: usize| {
            !self.queue[..at].iter().any(|earlier| earlier.message.is_same_alert(&self.queue[at].message))
        };
        let due = self.queue.iter().enumerate().find(|(at, queued)| {
            let waits = is_quiet && !queued.message.severity.is_immediate();
            // A next attempt beyond the longest delay was set before the clock went back.
            let is_due = queued.next_attempt_ms <= now_ms || queued.next_attempt_ms > now_ms + HOUR_MS;
            !waits && is_due && is_first(*at)
        });
        due.map(|(_, queued)| queued)
    }

    pub(crate) fn delivered(&mut self, message_id: &str) {
        self.queue.retain(|queued| queued.message.id != message_id);
    }

    /// Sets the next attempt. Gives the message up after an attempt that was an hour after the first. `asked_ms` is the
    /// delay that the receiver asked for.
    pub(crate) fn failed(&mut self, message_id: &str, now_ms: i64, asked_ms: Option<i64>) -> AfterFailure {
        let Some(at) = self.queue.iter().position(|queued| queued.message.id == message_id) else {
            return AfterFailure::GivenUp;
        };
        let queued = &mut self.queue[at];
        let first_ms = *queued.first_attempt_ms.get_or_insert(now_ms);
        let delay_ms = FIRST_DELAY_MS << queued.attempts.min(MOST_DOUBLINGS);
        queued.attempts += 1;
        let last_ms = first_ms + HOUR_MS;
        if now_ms < last_ms {
            // Whatever the receiver asks for, the last attempt is after an hour.
            queued.next_attempt_ms = (now_ms + delay_ms.max(asked_ms.unwrap_or(0))).min(last_ms);
            return AfterFailure::Retry;
        }
        self.queue.remove(at);
        AfterFailure::GivenUp
    }
}

impl Firing {
    fn new([site, use_case]: &[String; 2], alert: &Alert, now_ms: i64) -> Self {
        Self {
            site: site.clone(),
            use_case: use_case.clone(),
            subject: alert.subject().to_owned(),
            severity: alert.severity,
            finding: alert.finding(),
            minutes: alert.minutes,
            since_ms: now_ms,
            absent_since_ms: None,
        }
    }

    fn is_about(&self, [site, use_case]: &[String; 2], alert: &Alert) -> bool {
        self.site == *site && self.use_case == *use_case && self.subject == alert.subject()
    }

    /// Whether the message is about this firing of the alert.
    fn is_subject_of(&self, message: &Message) -> bool {
        self.since_ms == message.since_ms
            && self.subject == message.subject
            && self.site == message.site
            && self.use_case == message.use_case
    }

    fn raise(&mut self, alert: &Alert) {
        self.severity = alert.severity;
        self.finding = alert.finding();
        self.minutes = alert.minutes;
    }

    fn message(&self, receiver: &str, event: Event, cause: Option<String>, at_ms: i64) -> Message {
        let Self { site, use_case, subject, severity, finding, minutes, since_ms, .. } = self.clone();
        let (event_name, severity_name) = (event.as_str(), severity.as_str());
        let parts = [receiver, &since_ms.to_string(), &site, &use_case, &subject, event_name, severity_name]
            .join("\n");
        let id = format!("msg_{}", fingerprint(&parts));
        Message { id, event, site, use_case, subject, severity, finding, cause, minutes, since_ms, at_ms }
    }
}

impl Queued {
    const fn new(message: Message) -> Self {
        Self { message, attempts: 0, first_attempt_ms: None, next_attempt_ms: i64::MIN }
    }
}

impl Message {
    /// Whether both are about the same alert, from its start to its end.
    fn is_same_alert(&self, other: &Self) -> bool {
        self.since_ms == other.since_ms
            && self.subject == other.subject
            && self.site == other.site
            && self.use_case == other.use_case
    }
}

/// Whether the receiver wants to know of the alert.
fn concerns(receiver: &Notify, [site, _]: &[String; 2], alert: &Alert) -> bool {
    receiver.on.contains(&alert.severity) && (receiver.sites.is_empty() || receiver.sites.contains(site))
}

/// How long an alert must be absent before its end is sent.
const END_AFTER_MS: i64 = 10 * MINUTE_MS;

/// Delay after the first failed attempt; each further one doubles it.
const FIRST_DELAY_MS: i64 = 10_000;

/// More would be beyond an hour.
const MOST_DOUBLINGS: u32 = 9;

#[cfg(test)]
mod tests;
