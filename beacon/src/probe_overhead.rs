//! Overhead of the probe in its page, by the extension `probeOverhead`.

use crate::field::{MAX_BYTES, MAX_EVENTS, MAX_MEMORY_BYTES, Rule, fields};

fields! {
    /// Overhead of the probe for the page, as far as the page can measure it.
    #[derive(Copy)]
    pub struct ProbeOverhead {
        required {
        }
        optional {
            /// Timed chunks: those read by `fetch` after the probe had loaded. Absent if there was none.
            timed_chunks: Option<u32> = 1, Rule::Count(MAX_EVENTS), OVERHEAD;
            /// Time of the probe's code in all timed chunks together. A single time is shorter than a step of the clock;
            /// `docs/phases.md` bounds the error of the sum.
            chunks_ms: Option<f64> = 2, Rule::Milliseconds, OVERHEAD;
            /// Memory of the Wasm, all streams together. Absent if the page forbids WebAssembly.
            memory_bytes: Option<u64> = 3, Rule::Count(MAX_MEMORY_BYTES), OVERHEAD;
            /// Size of all beacons of the page before the one with this report. Absent in the first beacon.
            sent_bytes: Option<u64> = 4, Rule::Count(MAX_BYTES), OVERHEAD;
        }
    }
}

// Note for `docs/privacy-fields.md` that all fields share.
const OVERHEAD: &str = "Overhead of the probe in the page: time, memory, bytes sent.";
