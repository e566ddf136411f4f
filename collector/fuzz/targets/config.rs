//! Any configuration: it is good, or there is at least one mistake to tell.
#![no_main]

use collector::{ConfigError, Draft};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(ConfigError::Mistakes { mistakes, .. }) = Draft::parse(text, std::iter::empty()).finish() {
        assert!(!mistakes.is_empty());
    }
});
