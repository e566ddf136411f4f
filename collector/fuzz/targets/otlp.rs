//! Any bytes as an endpoint's answer to a push: it dropped nothing, or points for a reason that fits on a line
//! of the log.
#![no_main]

libfuzzer_sys::fuzz_target!(|answer: &[u8]| {
    if let Some((points, why)) = collector::fuzzing::dropped_points(answer) {
        assert!(points > 0);
        assert!(why.len() <= 2_000 && !why.chars().any(char::is_control));
    }
});
