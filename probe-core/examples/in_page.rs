//! The meter for a page, without bindings: the page writes bytes into its memory and reads a count. It measures the
//! cost of reading a stream in a browser (`cargo xtask bench core`).

use std::cell::RefCell;

use probe_core::{Meter, Timestamp};

thread_local! {
    static STREAM: RefCell<Option<(Meter, Vec<u8>)>> = const { RefCell::new(None) };
}

/// Begins a stream. Returns the address for chunks of at most `longest` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn begin(longest: usize) -> *const u8 {
    STREAM.with_borrow_mut(|stream| {
        let meter = Meter::new("", Timestamp::from_ms(0.0));
        stream.insert((meter, vec![0; longest])).1.as_ptr()
    })
}

/// Reads the chunk that the page has written.
#[unsafe(no_mangle)]
pub extern "C" fn read(now_ms: f64, bytes: usize) {
    STREAM.with_borrow_mut(|stream| {
        if let Some((meter, chunk)) = stream {
            meter.on_chunk(Timestamp::from_ms(now_ms), &chunk[..bytes]);
        }
    });
}

/// The events with text so far.
#[unsafe(no_mangle)]
pub extern "C" fn deltas() -> u32 {
    STREAM.with_borrow_mut(|stream| stream.as_mut().map_or(0, |(meter, _)| meter.report().deltas))
}
