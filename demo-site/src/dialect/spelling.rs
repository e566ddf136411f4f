//! The interface of a dialect: the events of each part of a response.

use crate::answer::Answer;
use crate::event::Event;

/// Formats a response for an API.
pub(crate) trait Spelling: Sync {
    /// The events before the first text.
    fn opening(&self, answer: &Answer) -> Vec<Event>;
    /// The text of delta `at`.
    fn delta(&self, answer: &Answer, at: usize) -> Event;
    /// The events after the last text, up to the terminal event.
    fn closing(&self, answer: &Answer) -> Vec<Event>;
    /// The events of a provider error after `at` deltas.
    fn failure(&self, answer: &Answer, at: usize) -> Vec<Event>;
    /// The body of a response with an error status.
    fn refusal(&self, status: u16, message: &str) -> String;
    /// The id inside the stream. `None` if the API has none.
    fn id(&self, answer: &Answer) -> Option<String>;
}
