//! A plan: the events of one scripted stream with their times. [`crate::script`] creates it, [`crate::play`]
//! sends it.

use std::time::Duration;

use crate::api::Api;
use crate::event::{Event, Station};

/// One scripted response.
#[derive(Debug)]
pub(crate) struct Plan {
    /// HTTP status.
    pub status: u16,
    /// Content type of the body.
    pub content_type: &'static str,
    /// The id inside the stream. `None` if the API or the scenario has none.
    pub id: Option<String>,
    /// Sorted by time.
    pub steps: Vec<Step>,
    /// How the body ends after the last step.
    pub ending: Ending,
    /// The engine fails before the end of its response.
    pub fails: bool,
    /// From the client's leaving until the engine stops generating.
    pub stops_after: Duration,
}

/// An action at a time after the request.
#[derive(Debug)]
pub(crate) struct Step {
    /// Time since the request arrived.
    pub at: Duration,
    /// The action.
    pub act: Act,
}

/// Action of a step.
#[derive(Debug)]
pub(crate) enum Act {
    /// The request passes a place of the backend.
    Pass(Station),
    /// An event is created; it waits for the next [`Act::Write`].
    Make(Event),
    /// The events since the last write go to the socket in one piece.
    Write,
}

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With its final chunk.
    Close,
    /// The connection closes without the final chunk.
    Cut,
}

impl Plan {
    /// A stream of `steps` that ends properly, in the format of `api` and without an id inside the stream.
    pub(crate) fn stream(api: Api, steps: Vec<Step>) -> Self {
        Self {
            status: 200,
            content_type: api.content_type(),
            id: None,
            steps,
            ending: Ending::Close,
            fails: false,
            stops_after: api.stops_after(),
        }
    }
}
