//! Any body in any dialect: the last byte picks it.

#![no_main]

libfuzzer_sys::fuzz_target!(|body: &[u8]| probe_core_fuzz::bounded(1 << 20, || {
    probe_core::targets::dialects(body)
}));
