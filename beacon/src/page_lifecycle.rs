//! Events of the page while a stream ran, by the extension `networkTiming`.

use crate::field::{MAX_BYTES, MAX_EVENTS, Rule, fields};
use crate::words::Protocol;

fields! {
    /// Events of the page while the stream ran, as far as the browser reports them.
    #[derive(Copy)]
    pub struct PageLifecycle {
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

// Notes for `docs/privacy-fields.md` that several fields share.
const PAGE_STATE: &str = "\
    How long the page was hidden, how much arrived meanwhile, and whether the browser froze, restored or \
    prerendered it.";
const FRAMES: &str = "Frames of 50 ms or longer while the stream ran.";
