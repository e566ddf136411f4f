//! What the app can send to the collector about a stream that is over.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

/// How a stream ended, and its times. [`LlmRumLayer::on_end`](crate::LlmRumLayer::on_end) gives it to the app.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamEnd {
    /// By this random id in the first comment the collector finds the stream.
    pub id: String,
    /// How it ended.
    pub ended: Ended,
    /// From the call of the service to the end.
    pub duration: Duration,
    /// From the call of the service to the first event with generated text.
    pub ttft: Option<Duration>,
    /// From the first to the last event with generated text, if there were several.
    pub generation: Option<Duration>,
    pub(crate) marked: Marked,
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The app's body was sent to its end.
    Complete,
    /// The client left before that: the server dropped the body.
    ClientGone,
    /// The app's body failed.
    Error,
}

impl StreamEnd {
    /// The body of a `POST /v1/server-timings` with these streams, as JSON.
    #[must_use]
    pub fn json_of(streams: &[Self]) -> String {
        let facts: Vec<_> = streams.iter().map(Self::fact).collect();
        json!({ "facts": facts }).to_string()
    }

    fn fact(&self) -> serde_json::Value {
        let ms = |time: Duration| whole_microseconds(time.as_secs_f64() * 1e3);
        let ended = match self.ended {
            Ended::Complete => "complete",
            Ended::ClientGone => "client_gone",
            Ended::Error => "error",
        };
        // A stream whose client stayed has none, whatever was marked.
        let tokens_after_gone = self.marked.tokens_after_gone.filter(|_| self.ended == Ended::ClientGone);
        json!({
            "id": self.id, "layer": "app", "source": "llm-rum-tower", "starts_from": "arrival", "ended": ended,
            "duration_ms": ms(self.duration), "ttft_ms": self.ttft.map(ms), "generation_ms": self.generation.map(ms),
            "queue_ms": self.marked.queue_ms, "output_tokens": self.marked.output_tokens,
            "tokens_after_gone": tokens_after_gone,
        })
    }
}

/// What the app has marked. `None` until it is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Marked {
    pub(crate) queue_ms: Option<f64>,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) tokens_after_gone: Option<u64>,
}

/// A function of the app.
#[derive(Clone)]
pub(crate) struct Listener(pub(crate) Arc<dyn Fn(StreamEnd) + Send + Sync>);

impl Listener {
    /// A panic of it must not reach the response. The panic hook logs it.
    pub(crate) fn tell(&self, end: StreamEnd) {
        let _ = catch_unwind(AssertUnwindSafe(|| self.0(end)));
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// 32 digits, from the random keys of hashers.
pub(crate) fn random_id() -> String {
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

/// The digits beyond come from differences of floats, and have no meaning.
pub(crate) fn whole_microseconds(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}
