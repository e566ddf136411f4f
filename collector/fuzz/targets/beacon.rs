//! Any body: it is refused by a code, or accepted and then the same after it was written and read again.
#![no_main]

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    let _either = collector::fuzzing::judge(body);
});
