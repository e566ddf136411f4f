//! Any body in any dialect, which its first line names.

#![no_main]

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use probe_core::fuzz_targets::{self, Coverage, FACTS, dialect_names};

/// The number of inputs for each dialect, printed at the end, as libFuzzer does not know it.
static EXECUTIONS: [AtomicU64; MOST_DIALECTS] = [const { AtomicU64::new(0) }; MOST_DIALECTS];

/// Dialects are tables, which have no branches to count. libFuzzer counts these as well, and keeps an input that
/// reaches a new fact of a dialect.
#[used]
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static COVERED: [AtomicU8; MOST_DIALECTS * FACTS] = [const { AtomicU8::new(0) }; MOST_DIALECTS * FACTS];

const MOST_DIALECTS: usize = 32;

fuzz_target!(init: say_at_the_end(), |input: &[u8]| probe_core_fuzz::bounded(1 << 20, || {
    let Coverage { dialect, facts } = fuzz_targets::dialects(input);
    EXECUTIONS[dialect].fetch_add(1, Relaxed);
    for fact in (0..FACTS).filter(|fact| facts >> fact & 1 == 1) {
        COVERED[dialect * FACTS + fact].store(1, Relaxed);
    }
}));

// One input in four gets a random dialect, so that each has its share. Unknown names are not tried.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let input = &data[..size];
    let end = input.iter().position(|&byte| byte == b'\n').unwrap_or(0);
    let seed = seed as usize;
    let other = dialect_names().nth(seed / 4 % dialect_names().count());
    let head = other.filter(|_| seed % 4 == 0).map_or(&input[..end], str::as_bytes);
    let mut body = input.get(end + 1..).unwrap_or_default().to_vec();
    let (len, room) = (body.len(), max_size.saturating_sub(head.len() + 1).max(1));
    body.resize(room.max(len), 0);
    let len = fuzzer_mutate(&mut body, len.min(room), room);
    let mutated = [head, b"\n", &body[..len]].concat();
    let size = mutated.len().min(max_size);
    data[..size].copy_from_slice(&mutated[..size]);
    size
});

fn say_at_the_end() {
    unsafe extern "C" {
        safe fn atexit(last: extern "C" fn()) -> i32;
    }
    assert!(dialect_names().count() <= MOST_DIALECTS);
    assert_eq!(atexit(say_executions), 0, "there is room for one more");
}

extern "C" fn say_executions() {
    for (name, executions) in dialect_names().zip(&EXECUTIONS) {
        eprintln!("stat::executions_as_{name}: {}", executions.load(Relaxed));
    }
}
