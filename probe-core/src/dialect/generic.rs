//! JSON or text that no dialect knows: its chunks have times, its end is how it closed, and of its
//! content only an error is understood. The same first look recognises the dialects.

use super::Clues;
use super::shape::{Shape, Take};
use crate::json::words;

/// The word in reports.
pub(crate) const NAME: &str = "generic";

/// The word in reports for a body that is text without events: all of it is answer.
pub(crate) const PLAIN_TEXT: &str = "plain_text";

pub(super) const EVENT: &Shape = &[
    (TYPE, Take::Kind),
    (OBJECT, Take::Object),
    (ERROR, Take::Error),
    (CHOICES, Take::Clue(Clues::CHOICES)),
    (DONE, Take::Clue(Clues::DONE)),
    (CREATED_AT, Take::Clue(Clues::CREATED_AT)),
];

words! {
    CHOICES = b"choices",
    CREATED_AT = b"created_at",
    DONE = b"done",
    ERROR = b"error",
    OBJECT = b"object",
    TYPE = b"type",
}
