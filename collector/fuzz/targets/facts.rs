//! Any bytes as timings of the backend: the journal returns the facts that are read.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _facts = collector::fuzzing::facts(bytes);
});
