//! The interface of a dialect: which events it sends for which part of an answer.

use crate::answer::Answer;
use crate::event::Event;

/// How an API spells an answer.
pub(crate) trait Spelling: Sync {
    /// What precedes the first text.
    fn opening(&self, answer: &Answer) -> Vec<Event>;
    /// The text of delta `at`.
    fn delta(&self, answer: &Answer, at: usize) -> Event;
    /// What follows the last text, up to the terminal event.
    fn closing(&self, answer: &Answer) -> Vec<Event>;
    /// A failure of the provider after `at` deltas.
    fn failure(&self, answer: &Answer, at: usize) -> Vec<Event>;
    /// The body of an answer with an error status.
    fn refusal(&self, status: u16, message: &str) -> String;
    /// The id as the answer carries it. `None` where the API has none.
    fn id(&self, answer: &Answer) -> Option<String>;
}
