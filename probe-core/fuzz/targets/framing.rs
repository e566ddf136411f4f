//! Any body, cut into frames.

#![no_main]

libfuzzer_sys::fuzz_target!(|body: &[u8]| probe_core_fuzz::bounded(
    1 << 20,
    || probe_core::targets::framing(body)
));
