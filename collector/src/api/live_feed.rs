//! Feeds of live events: all subscribers of a filter share one event a second. A feed runs while it has subscribers,
//! and one event is made at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::response::sse::Event;
use futures_util::stream::{self, Stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep_until};

use crate::store::query::Filter;

/// All feeds. There are no more of them than there may be listeners.
pub(crate) struct LiveFeeds {
    feeds: Mutex<HashMap<Filter, Feed>>,
    places: Arc<Semaphore>,
    /// Of whoever makes an event.
    turn: tokio::sync::Mutex<()>,
    closed: watch::Sender<bool>,
}

/// The newest event of a filter. Whoever is slow to read misses those before it.
type Feed = watch::Receiver<Option<LiveEvent>>;

/// What an event says.
#[derive(Debug, Clone)]
pub(crate) enum LiveEvent {
    /// A snapshot, as JSON.
    Snapshot(Arc<str>),
    /// Why there is none at the moment, as JSON.
    Refused(Arc<str>),
}

/// Everybody's end of a new feed. It must be [driven](LiveFeeds::drive).
pub(crate) struct FeedSource {
    filter: Filter,
    feed: watch::Sender<Option<LiveEvent>>,
}

/// One that listens, until dropped.
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
    /// How many listen.
    pub(crate) fn listeners(&self) -> usize {
        MOST_LISTENERS - self.places.available_permits()
    }

    /// One more listener, and, when it is the first of its filter, the source that it listens to. `None` when
    /// as many listen as may.
    pub(crate) fn listen(&self, filter: &Filter) -> Option<(Subscriber, Option<FeedSource>)> {
        let place = self.places.clone().try_acquire_owned().ok()?;
        let mut feeds = self.feeds();
        // One whose source has come to an end would never say anything.
        feeds.retain(|_, feed| feed.has_changed().is_ok());
        if let Some(feed) = feeds.get(filter) {
            return Some((Subscriber { feed: feed.clone(), _place: place }, None));
        }
        let (source, feed) = watch::channel(None);
        feeds.insert(filter.clone(), feed.clone());
        let source = FeedSource { filter: filter.clone(), feed: source };
        Some((Subscriber { feed, _place: place }, Some(source)))
    }

    /// Tells the listeners of a source what `make` makes, once every `period` or, where making takes long, less
    /// often, until nobody listens any more or all is closed.
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
            // Nothing is told once all is closed, however quickly it could be.
            biased;
            // The other end is this one's own.
            _closed = closed.wait_for(|closed| *closed) => {}
            () = publish => {}
        }
    }

    /// Ends every feed, now and from now on.
    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
    }

    /// Under the same lock as [`listen`](Self::listen), so that nobody comes in between.
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
    /// The newest event at once, then each that it is read in time for, until the feed ends.
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

/// Each holds a connection. Enough for a wall of screens; what all of them cost grows with their filters.
const MOST_LISTENERS: usize = 64;

/// After an event was made, none of its filter is made for so many times as long.
const REST: u32 = 4;
