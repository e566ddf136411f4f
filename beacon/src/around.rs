//! What happened around a stream, and what watching it cost the page: told by extensions of the probe, absent
//! without them.

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
            /// How often the browser froze the page. Absent where it does not tell.
            freezes: Option<u32> = 4, Rule::Count(MAX_EVENTS), PAGE_STATE;
            /// The page had come back from the back/forward cache.
            restored: bool = 5, Rule::Flag, PAGE_STATE;
            /// The request was made before the page was shown for the first time.
            prerendered: bool = 6, Rule::Flag, PAGE_STATE;
            /// How many frames took 50 ms or longer. Absent where the browser does not tell.
            long_frames: Option<u32> = 7, Rule::Count(MAX_EVENTS), FRAMES;
            /// Their durations together.
            long_frames_ms: Option<f64> = 8, Rule::Milliseconds, FRAMES;
            /// Bytes that arrived while the page was hidden.
            hidden_bytes: Option<u64> = 9, Rule::Count(MAX_BYTES), PAGE_STATE;
            /// Bytes that arrived after the user had asked for no more. Absent when nobody asked.
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
            /// How many chunks were timed: those read by `fetch` since the probe had loaded. Absent: no chunk.
            timed_chunks: Option<u32> = 1, Rule::Count(MAX_EVENTS), COST;
            /// What the probe's code took in all of them together. Single times are shorter than a step of the clock:
            /// how far off a sum of them may be, `docs/metrics.md` says.
            chunks_ms: Option<f64> = 2, Rule::Milliseconds, COST;
            /// Size of the memory of the compiled part, all streams together. Absent where the page forbids
            /// WebAssembly.
            memory_bytes: Option<u64> = 3, Rule::Count(MAX_MEMORY_BYTES), COST;
            /// Bodies of all beacons of the page before the one with this report. Absent: this is in the first.
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
