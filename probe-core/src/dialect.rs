//! Reads events: which wire format this is, what kinds of text an event carried, how the answer ended, and what the
//! provider counted. A format is recognised from content, never from a URL.
//!
//! A dialect is a table in the language of [`schema`]. A new one is a file of its own and a line in [`formats`].
//! While the crate is compiled, [`table_encoder`] makes bytes of all tables. [`event_reader`] reads an event by them
//! into the [`stream_state`]. Gradio's queue carries edits of an app's outputs, which no table can say: [`queue_reader`]
//! reads it.

mod app_queue;
mod detect;
mod encoded_table;
mod event_reader;
mod event_values;
mod formats;
mod queue_message;
mod queue_reader;
mod schema;
mod stream_state;
mod table_encoder;
mod table_reader;
mod usage;
mod walker;

pub(crate) use app_queue::AppQueue;
pub(crate) use detect::{NAME as GENERIC, PLAIN_TEXT};
#[cfg(any(test, fuzzing))]
pub(crate) use encoded_table::EncodedDialect;
pub(crate) use stream_state::StreamState;
#[cfg(any(test, fuzzing))]
pub(crate) use table_reader::ENCODED_DIALECTS;
