//! Tests of the layer without a server, and what they share.

mod body;
mod case;
mod comments;
mod contract;
mod lists;
mod recordings;
mod requests;
mod scripted;
