//! Notifications about alerts by webhook, chat and mail.

#![cfg_attr(not(test), allow(dead_code, reason = "the thread that sends them is not there yet"))]

mod message;
mod state;
