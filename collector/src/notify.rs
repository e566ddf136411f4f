//! Notifications about alerts by webhook, chat and mail. A thread of its own evaluates the alerts every 30 s, stores
//! which messages are due, and delivers them.

pub(crate) mod delivery;
pub(crate) mod file_outbox;
mod message;
pub(crate) mod outbox;
mod payload;
mod shared_outbox;
mod signature;
mod state;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use tracing::{debug, error, info, warn};

use crate::aggregate::dimension::Dimension;
use crate::background_thread::Background;
use crate::config::Config;
use crate::config::notify::Notify;
use crate::config::token::AllowedSites;
use crate::http::counters::{NotificationResult, RequestCounters};
use crate::slo::alert::{Alert, AlertCache, GroupStates};
use crate::slo::verdict::likely_cause;
use crate::store::backend::Backend;
use crate::store::clickhouse::notifier_table::NotifierTable;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::WindowsQuery;
use crate::store::reader_pool::ReaderPool;
use crate::store::rollups::MinutesFrom;
use crate::time::{self, DAY_MINUTES, minute_of};
use delivery::{Courier, DeliveryError};
use file_outbox::FileOutbox;
use message::Message;
use outbox::{Claim, Outbox, OutboxError, ReceiverStates};
use shared_outbox::SharedOutbox;
use state::AfterFailure;

/// What the thread reads and counts with.
pub(crate) struct Sources {
    pub(crate) config: Arc<Config>,
    pub(crate) reader: Arc<ReaderPool>,
    pub(crate) minutes_from: MinutesFrom,
    pub(crate) alerts: Arc<AlertCache>,
    pub(crate) counters: Arc<RequestCounters>,
}

/// Starts the thread. `None` if there is no receiver.
pub(crate) fn start(sources: Sources) -> Result<Option<Background>, StoreError> {
    let config = &sources.config;
    if config.notify.is_empty() {
        return Ok(None);
    }
    let outbox: Box<dyn Outbox> = match config.store.clickhouse.clone() {
        Some(clickhouse) => Box::new(SharedOutbox::new(NotifierTable::open(config, clickhouse)?)),
        None => Box::new(FileOutbox::new(&config.data)),
    };
    let mut notifier = Notifier::new(config.clone(), sources.counters.clone(), outbox);
    let run = move |stop: &Receiver<()>| {
        loop {
            let now_ms = time::now_ms();
            notifier.round(|states| sources.observe(states, now_ms), now_ms, stop);
            if stop.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                return notifier.outbox.release(&notifier.states);
            }
        }
    };
    Background::start("notify", run).map(Some).map_err(StoreError::Thread)
}

/// Sends a test message to one receiver.
///
/// # Errors
/// The reason, without the receiver's address.
pub(crate) fn send_test(config: &Config, receiver: &Notify) -> Result<(), DeliveryError> {
    let now_ms = time::now_ms();
    Courier::new(config.public_url.as_deref()).deliver(receiver, &Message::test(now_ms), now_ms)
}

impl Sources {
    /// The states of all receivers after they have seen the alerts that fire now.
    fn observe(&self, states: &ReceiverStates, now_ms: i64) -> Result<ReceiverStates, StoreError> {
        self.reader.run_here(|store| {
            let alerts = self.alerts.get(store, &self.config, self.minutes_from.get(), now_ms)?;
            Ok(observe(&self.config, states, store, &alerts, now_ms))
        })
    }
}

/// Stores the receivers' states, and delivers to them.
struct Notifier {
    config: Arc<Config>,
    counters: Arc<RequestCounters>,
    outbox: Box<dyn Outbox>,
    courier: Courier,
    states: ReceiverStates,
}

impl Notifier {
    fn new(config: Arc<Config>, counters: Arc<RequestCounters>, outbox: Box<dyn Outbox>) -> Self {
        let courier = Courier::new(config.public_url.as_deref());
        Self { config, counters, outbox, courier, states: ReceiverStates::new() }
    }

    /// Stores new messages and delivers the messages that are due, unless another collector sends.
    fn round(
        &mut self,
        observe: impl FnOnce(&ReceiverStates) -> Result<ReceiverStates, StoreError>,
        now_ms: i64,
        stop: &Receiver<()>,
    ) {
        match self.claim() {
            Ok(true) => {}
            Ok(false) => return debug!("Notifications: another collector of the cluster sends"),
            Err(error) => {
                return error!(%error, "Notifications: cannot read what is to be sent; trying again");
            }
        }
        match observe(&self.states) {
            Ok(states) => self.store(states),
            // Without the alerts nothing starts or ends. What is queued is still delivered.
            Err(error) => warn!(%error, "Notifications: cannot evaluate the alerts"),
        }
        self.deliver_due(now_ms, stop);
    }

    /// Returns whether this collector sends.
    fn claim(&mut self) -> Result<bool, OutboxError> {
        match self.outbox.claim(&self.states)? {
            Claim::Held => {}
            Claim::Elsewhere => return Ok(false),
            Claim::Taken(states) => {
                self.states = states;
                let is_configured =
                    |id: &String| self.config.notify.iter().any(|receiver| receiver.id() == *id);
                self.states.retain(|id, _| is_configured(id));
            }
        }
        Ok(true)
    }

    /// Stores new states before they take effect: a message that is sent must be known after a restart.
    fn store(&mut self, states: ReceiverStates) {
        if states == self.states {
            return;
        }
        match self.outbox.save(&states) {
            Ok(()) => self.states = states,
            Err(error) => error!(%error, "Notifications: cannot store what is to be sent; trying again"),
        }
    }

    fn deliver_due(&mut self, now_ms: i64, stop: &Receiver<()>) {
        let config = self.config.clone();
        for (index, receiver) in config.notify.iter().enumerate() {
            let id = receiver.id();
            // After a failure, the receiver's other messages wait for the next round as well.
            while stop.try_recv() == Err(TryRecvError::Empty)
                && self.outbox.may_send()
                && let Some(due) =
                    self.states.get(&id).and_then(|state| state.next_due(receiver.quiet.as_ref(), now_ms))
            {
                let message = due.message.clone();
                if !self.deliver(index, receiver, &message, now_ms) {
                    break;
                }
            }
        }
    }

    /// Tries once, and stores the result. Returns whether the receiver took the message.
    fn deliver(&mut self, index: usize, receiver: &Notify, message: &Message, now_ms: i64) -> bool {
        let result = self.courier.deliver(receiver, message, now_ms);
        let state = self.states.entry(receiver.id()).or_default();
        let (kind, counted) = (receiver.kind, &self.counters);
        let is_delivered = result.is_ok();
        match result {
            Ok(()) => {
                state.delivered(&message.id);
                counted.notification(kind, NotificationResult::Sent);
                info!(receiver = index, %kind, "Notification sent: {}", message.title());
            }
            Err(error) => {
                let after = state.failed(&message.id, now_ms, error.retry_after_ms());
                counted.notification(kind, NotificationResult::Failed);
                warn!(%error, receiver = index, %kind, "Notification to `notify[{index}]` ({kind}) failed: {error}");
                if after == AfterFailure::GivenUp {
                    counted.notification(kind, NotificationResult::GivenUp);
                    error!(receiver = index, %kind, "Notification given up after an hour: {}", message.title());
                }
            }
        }
        if let Err(error) = self.outbox.save(&self.states) {
            error!(%error, "Notifications: cannot store that a message was sent; a restart would repeat it");
        }
        is_delivered
    }
}

/// The states of all receivers after they have seen the alerts.
fn observe(
    config: &Config,
    states: &ReceiverStates,
    store: &Backend<'_>,
    alerts: &GroupStates,
    now_ms: i64,
) -> ReceiverStates {
    let mut states = states.clone();
    for receiver in &config.notify {
        let cause = |group: &[String; 2], alert: &Alert| {
            // A message without a cause is better than none.
            cause_of(store, group, alert, now_ms)
                .inspect_err(|error| warn!(%error, "Notifications: cannot read the cause of an alert"))
                .unwrap_or_default()
        };
        states.entry(receiver.id()).or_default().observe(receiver, alerts, now_ms, cause);
    }
    states
}

/// The likely cause, from the streams in the alert's window.
fn cause_of(
    store: &Backend<'_>,
    [site, use_case]: &[String; 2],
    alert: &Alert,
    now_ms: i64,
) -> Result<Option<String>, StoreError> {
    let filter =
        Filter::of_sites(AllowedSites::All).with(Dimension::Site, site).with(Dimension::UseCase, use_case);
    let end = minute_of(now_ms) + 1;
    let query = WindowsQuery {
        filter: &filter,
        minutes: (end - alert.minutes, end),
        longest: DAY_MINUTES,
        metrics: &[],
    };
    let stats = store.grouped_stats(&query, [Dimension::Site])?;
    Ok(stats.values().next().and_then(|stats| likely_cause(alert.subject(), stats)))
}

const EVERY: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests;
