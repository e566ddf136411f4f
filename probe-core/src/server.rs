//! What servers say of their own timing, in band: JSON of several shapes comes in, one
//! [`ServerTiming`] goes out.

use std::borrow::Cow;

use beacon::{ServerStart, ServerTiming};

use crate::json::Json;
use crate::time::whole_micros;

/// Every claim that one stream carried.
#[derive(Debug, Default)]
pub(crate) struct ServerClaims {
    comment: Option<ServerTiming>,
    in_band: Option<ServerTiming>,
}

impl ServerClaims {
    /// Takes in an SSE comment if it is ours: `llm-rum {"ttft_ms":85.2,…}`. It may come several
    /// times; later ones fill in and replace.
    pub(crate) fn read_comment(&mut self, comment: &[u8]) {
        let Some(fields) = comment.trim_ascii().strip_prefix(b"llm-rum ") else {
            return;
        };
        let timing = self.comment.get_or_insert_with(|| claim("comment", ServerStart::Arrival));
        Json::new(fields).each_key(|json, key| match key {
            b"ttft_ms" => replace(&mut timing.ttft_ms, json.number()),
            b"queue_ms" => replace(&mut timing.queue_ms, json.number()),
            b"generation_ms" => replace(&mut timing.generation_ms, json.number()),
            b"output_tokens" => replace(&mut timing.output_tokens, json.count()),
            _ => {}
        });
    }

    /// Takes in llama.cpp's `timings`; false while they are still of the prompt alone. Its prompt
    /// time begins when a slot takes the request up: the wait for one is not in it.
    pub(crate) fn read_llama_cpp(&mut self, json: &mut Json) -> bool {
        let mut timing = claim("llama_cpp", ServerStart::Prefill);
        json.each_key(|json, key| match key {
            b"prompt_ms" => timing.ttft_ms = json.number(),
            b"predicted_ms" => timing.generation_ms = json.number(),
            b"predicted_n" => timing.output_tokens = json.count(),
            _ => {}
        });
        let generated = timing.output_tokens.is_some_and(|tokens| tokens > 0);
        if generated {
            self.in_band = Some(timing);
        }
        generated
    }

    /// Takes in the durations of Ollama's last line. Its clock starts when the request arrives:
    /// loading includes the wait for a free runner, and is followed by the prompt.
    pub(crate) fn read_ollama(&mut self, durations: &OllamaDurations, output_tokens: Option<u64>) {
        let Some(load_ns) = durations.load_ns else {
            return;
        };
        // It leaves out what is zero.
        let ttft_ns = load_ns + durations.prompt_eval_ns.unwrap_or(0.0);
        self.in_band = Some(ServerTiming {
            ttft_ms: Some(whole_micros(ttft_ns / NS_PER_MS)),
            generation_ms: durations.eval_ns.map(|eval_ns| whole_micros(eval_ns / NS_PER_MS)),
            output_tokens,
            ..claim("ollama", ServerStart::Arrival)
        });
    }

    /// What all claims say together. Only one measured from the request's arrival is the whole
    /// time to first token: it goes before one that leaves queueing out. The rest is filled from
    /// whichever has it.
    pub(crate) fn merged(&self) -> Option<ServerTiming> {
        let (Some(comment), Some(in_band)) = (&self.comment, &self.in_band) else {
            return self.comment.clone().or_else(|| self.in_band.clone());
        };
        let (first, second) = if comment.ttft_ms.is_some() { (comment, in_band) } else { (in_band, comment) };
        Some(ServerTiming {
            queue_ms: first.queue_ms.or(second.queue_ms),
            generation_ms: first.generation_ms.or(second.generation_ms),
            output_tokens: first.output_tokens.or(second.output_tokens),
            ..first.clone()
        })
    }
}

/// The durations that Ollama's last line carries.
#[derive(Debug, Default)]
pub(crate) struct OllamaDurations {
    /// From the request's arrival until a runner holds the model.
    pub(crate) load_ns: Option<f64>,
    pub(crate) prompt_eval_ns: Option<f64>,
    pub(crate) eval_ns: Option<f64>,
}

fn claim(source: &'static str, starts_from: ServerStart) -> ServerTiming {
    ServerTiming { source: Cow::Borrowed(source), starts_from: Some(starts_from), ..ServerTiming::default() }
}

fn replace<T>(kept: &mut Option<T>, newer: Option<T>) {
    if newer.is_some() {
        *kept = newer;
    }
}

const NS_PER_MS: f64 = 1e6;
