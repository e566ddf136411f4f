//! What happened around a stream, and what watching it cost the page: told by extensions of the probe, absent
//! without them.

use serde::{Deserialize, Serialize};

use crate::report::is_false;

/// What happened around a stream while it ran, as far as the browser tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Around {
    /// Protocol of the connection. `None` where the browser hides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// From the end of the body in the browser to the app's learning of it: a busy main thread, or an
    /// app that reads late. `None` unless the body ended and was read to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_delay_ms: Option<f64>,
    /// How long the page was hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_ms: Option<f64>,
    /// How often the browser froze the page. `None` where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freezes: Option<u32>,
    /// The page had come back from the back/forward cache.
    #[serde(default, skip_serializing_if = "is_false")]
    pub restored: bool,
    /// The request was made before the page was shown for the first time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub prerendered: bool,
    /// How many frames took 50 ms or longer. `None` where the browser does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_frames: Option<u32>,
    /// Their durations together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_frames_ms: Option<f64>,
    /// Bytes that arrived while the page was hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_bytes: Option<u64>,
    /// Bytes that arrived after the user had asked for no more. `None` when nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_stop_bytes: Option<u64>,
}

/// Protocol of a connection, by its ALPN name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// HTTP/1.1.
    #[serde(rename = "http/1.1")]
    Http1,
    /// HTTP/2.
    #[serde(rename = "h2")]
    Http2,
    /// HTTP/3.
    #[serde(rename = "h3")]
    Http3,
    /// Another one.
    #[serde(rename = "other", other)]
    Other,
}

impl Protocol {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http1 => "http/1.1",
            Self::Http2 => "h2",
            Self::Http3 => "h3",
            Self::Other => "other",
        }
    }
}

/// What the probe itself cost the page, as far as the page can measure it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// How many chunks were timed: those read by `fetch` since the probe had loaded. `None`: no chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_chunks: Option<u32>,
    /// What the probe's code took in all of them together. Single times are shorter than a step of the clock:
    /// how far off a sum of them may be, `docs/metrics.md` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks_ms: Option<f64>,
    /// Size of the memory of the compiled part, all streams together. `None` where the page forbids WebAssembly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Bodies of all beacons of the page before the one with this report. `None`: this is in the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_has_one_word_on_the_wire_and_in_code_and_what_is_new_is_another() {
        for protocol in [Protocol::Http1, Protocol::Http2, Protocol::Http3, Protocol::Other] {
            let word = serde_json::to_value(protocol).unwrap();
            assert_eq!(word, protocol.as_str());
            assert_eq!(serde_json::from_value::<Protocol>(word).unwrap(), protocol);
        }
        assert_eq!(serde_json::from_str::<Protocol>("\"h4\"").unwrap(), Protocol::Other);
    }
}
