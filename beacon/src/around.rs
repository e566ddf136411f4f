//! Groups of the report that extensions of the probe fill in: events of the page, and the probe's own cost.

use crate::field::{MAX_BYTES, MAX_EVENTS, MAX_MEMORY_BYTES, Rule, fields};
use crate::words::Protocol;

fields! {
    /// What happened around a stream while it ran, as far as the browser tells.
    #[derive(Copy)]
    pub struct Around {
        required {
        }
        optional {
            /// Protocol of the connection. Absent where the browser hides it.
            protocol: Option<Protocol> = 1, Rule::Word(Protocol::WORDS, true), "Protocol of the connection.";
            /// From the end of the body in the browser to the app's learning of it: a busy main thread, or an
            /// app that reads late. Absent unless the body ended and was read to its end.
            end_delay_ms: Option<f64> = 2, Rule::Milliseconds,
                "Time from the end of the body in the browser to its end in the app.";
            /// How long the page was hidden.
            hidden_ms: Option<f64> = 3, Rule::Milliseconds, PAGE_STATE;
            /// How often the browser froze the page. Absent if the browser does not report it.
            freezes: Option<u32> = 4, Rule::Count(MAX_EVENTS), PAGE_STATE;
            /// The page had come back from the back/forward cache.
            restored: bool = 5, Rule::Flag, PAGE_STATE;
            /// The request was made before the page was shown for the first time.
            prerendered: bool = 6, Rule::Flag, PAGE_STATE;
            /// Frames of 50 ms or longer. Absent if the browser does not report frames.
            long_frames: Option<u32> = 7, Rule::Count(MAX_EVENTS), FRAMES;
            /// Sum of the durations of these frames.
            long_frames_ms: Option<f64> = 8, Rule::Milliseconds, FRAMES;
            /// Bytes that arrived while the page was hidden.
            hidden_bytes: Option<u64> = 9, Rule::Count(MAX_BYTES), PAGE_STATE;
            /// Bytes that arrived after the user pressed stop. Absent if the user did not.
            after_stop_bytes: Option<u64> = 10, Rule::Count(MAX_BYTES),
                "Bytes that arrived after the user pressed stop.";
        }
    }
}

fields! {
    /// What the probe itself cost the page, as far as the page can measure it.
    #[derive(Copy)]
    pub struct Cost {
        required {
        }
        optional {
            /// Timed chunks: those read by `fetch` after the probe had loaded. Absent if there was none.
            timed_chunks: Option<u32> = 1, Rule::Count(MAX_EVENTS), COST;
            /// Time of the probe's code in all timed chunks together. A single time is shorter than a step of the clock;
            /// `docs/metrics.md` bounds the error of the sum.
            chunks_ms: Option<f64> = 2, Rule::Milliseconds, COST;
            /// Memory of the Wasm, all streams together. Absent if the page forbids WebAssembly.
            memory_bytes: Option<u64> = 3, Rule::Count(MAX_MEMORY_BYTES), COST;
            /// Size of all beacons of the page before the one with this report. Absent in the first beacon.
            sent_bytes: Option<u64> = 4, Rule::Count(MAX_BYTES), COST;
        }
    }
}

// Notes for `docs/privacy.md` that several fields share.
const PAGE_STATE: &str = "\
    How long the page was hidden, how much arrived meanwhile, and whether the browser froze, restored or \
    prerendered it.";
const FRAMES: &str = "Frames of 50 ms or longer while the stream ran.";
const COST: &str = "Cost of the probe itself in the page: time, memory, bytes sent.";
