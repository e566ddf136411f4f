//! Any bytes as an engine's metrics: figures of at least 0, and no increase between two equal scrapes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _models = collector::fuzzing::engine_models(bytes);
});
