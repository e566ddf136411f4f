//! Any messages of a socket with two questions: the same events however they are split, each of one answer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    probe_core_fuzz::bounded(1 << 20, || probe_core::fuzz_targets::sockets(input));
});
