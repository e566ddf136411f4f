//! A plan: the events of one scripted stream with their times. [`crate::script`] makes it, [`crate::play`]
//! sends it.

use std::time::Duration;

use crate::api::Api;
use crate::event::Event;

/// One answer, ready to be played.
#[derive(Debug)]
pub(crate) struct Plan {
    /// HTTP status.
    pub status: u16,
    /// Content type of the body.
    pub content_type: &'static str,
    /// The id that the answer carries in band. `None` where the API or the scenario has none.
    pub id: Option<String>,
    /// In the order of their times.
    pub steps: Vec<Step>,
    /// How the body ends after the last step.
    pub ending: Ending,
}

/// Something that happens a time after the request arrived.
#[derive(Debug)]
pub(crate) struct Step {
    /// Since the request.
    pub at: Duration,
    /// What happens then.
    pub act: Act,
}

/// What happens in a step.
#[derive(Debug)]
pub(crate) enum Act {
    /// The request leaves the queue.
    Schedule,
    /// An event is made; it waits for the next [`Act::Write`].
    Make(Event),
    /// What was made since the last write goes to the socket in one piece.
    Write,
}

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Properly.
    Close,
    /// The connection is dropped without the final chunk.
    Cut,
}

impl Plan {
    /// A proper stream of `steps` in the format of `api`, without an id in band.
    pub(crate) fn stream(api: Api, steps: Vec<Step>) -> Self {
        Self { status: 200, content_type: api.content_type(), id: None, steps, ending: Ending::Close }
    }
}
