//! `llm-rum notify --test`: sends a test message to each receiver of notifications.

use crate::config::Config;
use crate::notify::delivery::DeliveryError;
use crate::notify::send_test;

/// Sends a test message to each receiver, one after the other. Gives the receiver's field and the result.
pub fn test_notifications(config: &Config) -> impl Iterator<Item = (String, Result<(), DeliveryError>)> + '_ {
    config.notify.iter().enumerate().map(|(index, receiver)| {
        let field = format!("notify[{index}] ({})", receiver.kind);
        (field, send_test(config, receiver))
    })
}
