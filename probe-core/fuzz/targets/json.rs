//! Any text as JSON: the scanner accepts what serde_json accepts, and nothing else.

#![no_main]

use probe_core::fuzz_targets::json;
use serde::de::IgnoredAny;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    let mut ours = false;
    probe_core_fuzz::bounded(4096, || ours = json(text));
    // serde_json refuses numbers that no double can hold, which are JSON by the grammar, and bytes that are not UTF-8,
    // which the probe counts apart.
    let huge = text.iter().any(|byte| matches!(byte, b'e' | b'E')) || text.len() > 300;
    if let (Ok(text), false) = (str::from_utf8(text), huge) {
        assert_eq!(ours, serde_json::from_str::<IgnoredAny>(text).is_ok(), "{text:?}");
    }
});
