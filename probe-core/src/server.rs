//! What servers say of their own timing, in band: JSON of several shapes comes in, one
//! [`ServerTiming`] goes out.

use std::borrow::Cow;

use beacon::{ServerStart, ServerTiming};

use crate::dialect::{Number, Reading, Shape, Timing};
use crate::time::whole_micros;

/// How an engine tells its own timing.
pub(crate) struct Clock {
    /// The word in reports.
    pub(crate) name: &'static str,
    /// It is a provider's name, and nobody else tells the time like this.
    pub(crate) is_provider: bool,
    /// From when its time to first token counts, where it does not tell the wait before that.
    pub(crate) starts_from: ServerStart,
    pub(crate) unit: Unit,
    /// Without this number, or when it is zero, the others mean nothing yet.
    pub(crate) needs: Number,
    /// Where the numbers stand, unless it is the event itself that has them.
    pub(crate) shape: &'static Shape,
}

impl Clock {
    /// What most of them are like.
    pub(crate) const PLAIN: Self = Self {
        name: "",
        is_provider: true,
        starts_from: ServerStart::Arrival,
        unit: Unit::Millisecond,
        needs: Number::Prompt,
        shape: &[],
    };
}

/// What a server counts its time in.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Nanosecond,
    Millisecond,
    Second,
}

impl Unit {
    fn ms(self) -> f64 {
        match self {
            Self::Nanosecond => 1e-6,
            Self::Millisecond => 1.0,
            Self::Second => 1e3,
        }
    }
}

/// Every claim that one stream carried.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerClaims {
    comment: Option<Claim>,
    in_band: Option<Claim>,
    /// The first time that the server stamped an event with.
    begun_ms: Option<f64>,
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

    /// An engine's own timing. False if it does not say enough for a claim.
    pub(crate) fn settle(&mut self, timing: &Timing, said: &mut Reading) -> bool {
        let claims = said.is_positive(timing.needs);
        let unit_ms = timing.unit.ms();
        let mut take = |number| said.take(number).map(|time| time * unit_ms);
        let queue_ms = take(Number::Queue);
        let waited_ms = queue_ms.unwrap_or(0.0) + take(Number::Load).unwrap_or(0.0);
        let claim = Claim {
            source: timing.name,
            // With the wait before it, any time counts from the request's arrival.
            starts_from: if queue_ms.is_some() { ServerStart::Arrival } else { timing.starts_from },
            queue_ms: queue_ms.map(whole_micros),
            ttft_ms: Some(whole_micros(waited_ms + take(Number::Prompt).unwrap_or(0.0))),
            generation_ms: take(Number::Generation).map(whole_micros),
            output_tokens: said.take_count(Number::Generated),
        };
        if claims {
            self.in_band = Some(claim);
        }
        claims
    }

    /// The time that the server stamped an event with, which has generated text or not.
    pub(crate) fn settle_stamp(&mut self, timing: &Timing, event: &mut Reading, text: bool) {
        let Some(stamp_ms) = event.take(Number::Stamp) else {
            return;
        };
        let begun_ms = *self.begun_ms.get_or_insert(stamp_ms);
        if text {
            let since_ms = whole_micros((stamp_ms - begun_ms).max(0.0));
            let claim = self.in_band.get_or_insert(Claim::new(timing.name, timing.starts_from));
            let ttft_ms = *claim.ttft_ms.get_or_insert(since_ms);
            claim.generation_ms = Some(whole_micros((since_ms - ttft_ms).max(0.0)));
        }
    }

    /// Tokens that the engine says it generated, beside what the usage says.
    pub(crate) fn counted(&self) -> Option<u64> {
        self.in_band?.output_tokens
    }

    /// How long generation took by the server's own clock.
    pub(crate) fn generation_ms(&self) -> Option<f64> {
        self.in_band.and_then(|claim| claim.generation_ms).or_else(|| self.comment?.generation_ms)
    }

    /// What all claims say together. Only one measured from the request's arrival is the whole
    /// time to first token: it goes before one that leaves queueing out. The rest is filled from
    /// whichever has it.
    /// What an engine does not say of its tokens beside its time, its usage does: `counted`.
    pub(crate) fn merged(&self, counted: Option<u64>) -> Option<ServerTiming> {
        let in_band =
            self.in_band.map(|claim| Claim { output_tokens: claim.output_tokens.or(counted), ..claim });
        let (first, second) = match (self.comment, in_band) {
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
