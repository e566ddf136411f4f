//! Any calls on a meter, in any order.

#![no_main]

libfuzzer_sys::fuzz_target!(|script: &[u8]| probe_core_fuzz::bounded(1 << 20, || {
    probe_core::fuzz_targets::calls(script)
}));
