//! Any body under any content type, cut into frames.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| probe_core_fuzz::bounded(1 << 20, || {
    probe_core::targets::framing(input)
}));
