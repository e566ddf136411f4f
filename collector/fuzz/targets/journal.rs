//! Any bytes where a record of the journal should stand: they are none, or one that is the same after it was
//! written and read again.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _either = collector::fuzzing::reread(bytes);
});
