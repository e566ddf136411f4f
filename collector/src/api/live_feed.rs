//! Feeds of live events: all subscribers of a filter share one event a second. A feed runs while it has subscribers,
//! and one event is made at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::response::sse::Event;
use futures_util::stream::{self, Stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep_until};

use crate::store::filter::Filter;

/// All feeds. There are at most as many as there may be subscribers.
pub(crate) struct LiveFeeds {
    feeds: Mutex<HashMap<Filter, Feed>>,
    places: Arc<Semaphore>,
    /// Lets one feed at a time build an event.
    turn: tokio::sync::Mutex<()>,
    closed: watch::Sender<bool>,
}

/// The newest event of a filter. A slow subscriber misses earlier ones.
type Feed = watch::Receiver<Option<LiveEvent>>;

/// Content of an event.
#[derive(Debug, Clone)]
pub(crate) enum LiveEvent {
    /// A snapshot, as JSON.
    Snapshot(Arc<str>),
    /// The reason why there is no snapshot, as JSON.
    Refused(Arc<str>),
}

/// The sending side of a new feed. The caller must [drive](LiveFeeds::drive) it.
pub(crate) struct FeedSource {
    filter: Filter,
    feed: watch::Sender<Option<LiveEvent>>,
}

/// A subscription, which ends when dropped.
pub(crate) struct Subscriber {
    feed: Feed,
    _place: OwnedSemaphorePermit,
}

impl Default for LiveFeeds {
    fn default() -> Self {
        Self {
            feeds: Mutex::default(),
            places: Arc::new(Semaphore::new(MOST_LISTENERS)),
            turn: tokio::sync::Mutex::default(),
            closed: watch::Sender::new(false),
        }
    }
}

impl LiveFeeds {
    /// Number of subscribers.
    pub(crate) fn listeners(&self) -> usize {
        MOST_LISTENERS - self.places.available_permits()
    }

    /// Adds a subscriber. For the first one of a filter it also returns the source of the feed. `None` if the
    /// subscriber limit is reached.
    pub(crate) fn listen(&self, filter: &Filter) -> Option<(Subscriber, Option<FeedSource>)> {
        let place = self.places.clone().try_acquire_owned().ok()?;
        let mut feeds = self.feeds();
        // Removes feeds whose source was dropped, because they would never send anything.
        feeds.retain(|_, feed| feed.has_changed().is_ok());
        if let Some(feed) = feeds.get(filter) {
            return Some((Subscriber { feed: feed.clone(), _place: place }, None));
        }
        let (source, feed) = watch::channel(None);
        feeds.insert(filter.clone(), feed.clone());
        let source = FeedSource { filter: filter.clone(), feed: source };
        Some((Subscriber { feed, _place: place }, Some(source)))
    }

    /// Sends the events of `make` to the subscribers, once every `period`, or less often if `make` is slow.
    /// Returns when the last subscriber has left or all feeds are closed.
    pub(crate) async fn drive<Made: Future<Output = LiveEvent>>(
        &self,
        source: FeedSource,
        period: Duration,
        make: impl Fn() -> Made,
    ) {
        let mut closed = self.closed.subscribe();
        let publish = async {
            while !self.is_left(&source) {
                let due = Instant::now() + period;
                let turn = self.turn.lock().await;
                let begun = Instant::now();
                source.feed.send_replace(Some(make().await));
                drop(turn);
                sleep_until(due.max(Instant::now() + begun.elapsed() * REST)).await;
            }
        };
        tokio::select! {
            // Checks `closed` first, so that no event follows once all feeds are closed.
            biased;
            // `wait_for` cannot fail: `self` owns the sender.
            _closed = closed.wait_for(|closed| *closed) => {}
            () = publish => {}
        }
    }

    /// Ends all current and future feeds.
    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
    }

    /// Removes the feed if it has no subscribers. It uses the lock of [`listen`](Self::listen), so that none
    /// can join in between.
    fn is_left(&self, source: &FeedSource) -> bool {
        let mut feeds = self.feeds();
        let only_ours = source.feed.receiver_count() <= 1;
        if only_ours {
            feeds.remove(&source.filter);
        }
        only_ours
    }

    fn feeds(&self) -> MutexGuard<'_, HashMap<Filter, Feed>> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscriber {
    /// The newest event immediately, then later events until the feed ends. A slow reader skips some.
    pub(crate) fn events(self) -> impl Stream<Item = Result<Event, axum::Error>> {
        stream::unfold(self, |mut listener| async move {
            listener.feed.changed().await.ok()?;
            let event = listener.feed.borrow_and_update().clone()?;
            Some((Ok(event.event()), listener))
        })
    }
}

impl LiveEvent {
    fn event(&self) -> Event {
        match self {
            Self::Snapshot(json) => Event::default().data(json),
            Self::Refused(json) => Event::default().event("refused").data(json),
        }
    }
}

/// Each subscriber uses a connection. The limit suffices for a wall of screens; the cost grows with the
/// number of different filters.
const MOST_LISTENERS: usize = 64;

/// After an event, its feed rests for this many times the time that building the event took.
const REST: u32 = 4;
