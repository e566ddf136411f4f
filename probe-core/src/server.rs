//! What servers say of their own timing, in band: JSON of several shapes comes in, one
//! [`ServerTiming`] goes out.

use std::borrow::Cow;

use beacon::{ServerStart, ServerTiming};

use crate::dialect::{Number, Reading};
use crate::time::whole_micros;

/// Every claim that one stream carried.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerClaims {
    comment: Option<Claim>,
    in_band: Option<Claim>,
}

/// What one source says: a [`ServerTiming`] in the making.
#[derive(Debug, Clone, Copy)]
struct Claim {
    source: &'static str,
    starts_from: ServerStart,
    queue_ms: Option<f64>,
    ttft_ms: Option<f64>,
    generation_ms: Option<f64>,
    output_tokens: Option<u64>,
}

impl ServerClaims {
    /// Our own comment. It may come several times; later ones fill in and replace.
    pub(crate) fn settle_comment(&mut self, comment: &mut Reading) {
        let claim = self.comment.get_or_insert(Claim::new("comment", ServerStart::Arrival));
        claim.queue_ms = comment.take(Number::Queue).or(claim.queue_ms);
        claim.ttft_ms = comment.take(Number::Prompt).or(claim.ttft_ms);
        claim.generation_ms = comment.take(Number::Generation).or(claim.generation_ms);
        claim.output_tokens = comment.take_count(Number::Generated).or(claim.output_tokens);
    }

    /// llama.cpp's `timings`; false while they are still of the prompt alone. Its prompt time begins
    /// when a slot takes the request up: the wait for one is not in it.
    pub(crate) fn settle_llama_cpp(&mut self, timings: &mut Reading) -> bool {
        let mut claim = Claim::new("llama_cpp", ServerStart::Prefill);
        claim.ttft_ms = timings.take(Number::Prompt);
        claim.generation_ms = timings.take(Number::Generation);
        claim.output_tokens = timings.take_count(Number::Generated);
        let generated = claim.output_tokens.is_some_and(|tokens| tokens > 0);
        if generated {
            self.in_band = Some(claim);
        }
        generated
    }

    /// Ollama's last line. Its clock starts when the request arrives: loading includes the wait for
    /// a free runner, and is followed by the prompt.
    pub(crate) fn settle_ollama(&mut self, last: &mut Reading, output_tokens: Option<u64>) {
        let Some(load_ns) = last.take(Number::Load) else {
            return;
        };
        let mut claim = Claim::new("ollama", ServerStart::Arrival);
        // It leaves out what is zero.
        claim.ttft_ms = Some(ms(load_ns + last.take(Number::Prompt).unwrap_or(0.0)));
        claim.generation_ms = last.take(Number::Generation).map(ms);
        claim.output_tokens = output_tokens;
        self.in_band = Some(claim);
    }

    /// What all claims say together. Only one measured from the request's arrival is the whole
    /// time to first token: it goes before one that leaves queueing out. The rest is filled from
    /// whichever has it.
    pub(crate) fn merged(&self) -> Option<ServerTiming> {
        let (first, second) = match (self.comment, self.in_band) {
            (Some(comment), Some(in_band)) if comment.ttft_ms.is_none() => (in_band, comment),
            (Some(comment), in_band) => (comment, in_band.unwrap_or(comment)),
            (None, in_band) => (in_band?, in_band?),
        };
        Some(ServerTiming {
            source: Cow::Borrowed(first.source),
            starts_from: Some(first.starts_from),
            queue_ms: first.queue_ms.or(second.queue_ms),
            ttft_ms: first.ttft_ms,
            generation_ms: first.generation_ms.or(second.generation_ms),
            output_tokens: first.output_tokens.or(second.output_tokens),
        })
    }
}

impl Claim {
    const fn new(source: &'static str, starts_from: ServerStart) -> Self {
        Self { source, starts_from, queue_ms: None, ttft_ms: None, generation_ms: None, output_tokens: None }
    }
}

fn ms(ns: f64) -> f64 {
    whole_micros(ns / 1e6)
}
