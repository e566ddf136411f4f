//! What servers say of their own timing, in band: JSON of several shapes comes in, one
//! [`ServerTiming`] goes out.

use std::borrow::Cow;

use beacon::{ServerStart, ServerTiming};

use crate::absent::{ABSENT, or, some, some_count};
use crate::event_numbers::{CLAIM_NUMBERS, EventNumbers, Number};
use crate::field_values::FieldValues;
use crate::time::whole_micros;

/// How an engine tells its own timing. `Schema` is where the numbers stand.
#[derive(Clone, Copy)]
pub(crate) struct TimingFormat<Schema> {
    /// The word in reports.
    pub(crate) name: &'static str,
    /// It is a provider's name, and nobody else tells the time like this.
    pub(crate) is_provider: bool,
    /// From when its time to first token counts, where it does not tell the wait before that.
    pub(crate) starts_from: ServerStart,
    pub(crate) unit: Unit,
    /// Without this number, or when it is zero, the others mean nothing yet.
    pub(crate) needs: Number,
    pub(crate) schema: Schema,
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
#[derive(Debug, Clone)]
pub(crate) struct ServerClaims {
    comment: Option<ServerClaim>,
    in_band: Option<ServerClaim>,
    /// The first time that the server stamped an event with.
    first_stamp_ms: Option<f64>,
}

/// What a server says of its own timing.
#[derive(Debug, Clone, Copy)]
pub struct ServerClaim {
    /// Where it was read, as [`ServerTiming::source`] has it.
    pub source: &'static str,
    /// The moment from which its time to first token counts.
    pub starts_from: ServerStart,
    /// By [`ClaimField`].
    numbers: [f64; CLAIM_NUMBERS],
}

/// Places in the row of a claim. Those of the [`Number`]s that it is made of are in the same order.
enum ClaimField {
    Queue,
    FirstToken,
    Generation,
    Tokens,
}

impl ServerClaims {
    pub(crate) const NONE: Self = Self { comment: None, in_band: None, first_stamp_ms: None };

    /// Our own comment. It may come several times; later ones fill in and replace.
    pub(crate) fn add_comment(&mut self, comment: &mut EventNumbers) {
        let claim = self.comment.get_or_insert(ServerClaim::new("comment", ServerStart::Arrival));
        claim.numbers = filled_from(comment.take_claim(), claim.numbers);
    }

    /// An engine's own timing. False if it does not say enough for a claim.
    pub(crate) fn add_engine_timing<S>(
        &mut self,
        timing: &TimingFormat<S>,
        numbers: &mut EventNumbers,
    ) -> bool {
        let claims = numbers.get(timing.needs) > 0.0;
        let unit_ms = timing.unit.ms();
        let load_ms = numbers.take(Number::Load) * unit_ms;
        let [queue_ms, prompt_ms, generation_ms, tokens] = numbers.take_claim();
        let [queue_ms, prompt_ms, generation_ms] =
            [queue_ms, prompt_ms, generation_ms].map(|time| time * unit_ms);
        let waited_ms = or(queue_ms, 0.0) + or(load_ms, 0.0);
        if claims {
            // With the wait before it, any time counts from the request's arrival.
            let starts_from = if queue_ms.is_nan() { timing.starts_from } else { ServerStart::Arrival };
            let times = [queue_ms, waited_ms + or(prompt_ms, 0.0), generation_ms].map(whole_micros);
            let numbers = [times[0], times[1], times[2], tokens];
            self.in_band = Some(ServerClaim { source: timing.name, starts_from, numbers });
        }
        claims
    }

    /// The time that the server stamped an event with, which has generated text or not.
    pub(crate) fn add_timestamp<S>(
        &mut self,
        timing: &TimingFormat<S>,
        event: &mut EventNumbers,
        text: bool,
    ) {
        let stamp_ms = event.take(Number::Stamp);
        if stamp_ms.is_nan() {
            return;
        }
        let first_stamp_ms = *self.first_stamp_ms.get_or_insert(stamp_ms);
        if text {
            let since_ms = whole_micros((stamp_ms - first_stamp_ms).max(0.0));
            let claim = self.in_band.get_or_insert(ServerClaim::new(timing.name, timing.starts_from));
            let ttft_ms = or(claim.get(ClaimField::FirstToken), since_ms);
            claim.numbers[ClaimField::FirstToken as usize] = ttft_ms;
            claim.numbers[ClaimField::Generation as usize] = whole_micros((since_ms - ttft_ms).max(0.0));
        }
    }

    /// Tokens that the engine says it generated, beside what the usage says.
    pub(crate) fn output_tokens(&self) -> f64 {
        self.in_band.map_or(ABSENT, |claim| claim.get(ClaimField::Tokens))
    }

    /// How long generation took by the server's own clock.
    pub(crate) fn generation_ms(&self) -> f64 {
        let duration =
            |claim: Option<ServerClaim>| claim.map_or(ABSENT, |claim| claim.get(ClaimField::Generation));
        or(duration(self.in_band), duration(self.comment))
    }

    /// What all claims say together. Only one measured from the request's arrival is the whole
    /// time to first token: it goes before one that leaves queueing out. The rest is filled from
    /// whichever has it.
    /// What an engine does not say of its tokens beside its time, its usage does: `counted`.
    pub(crate) fn merged(&self, output_tokens: f64) -> Option<ServerClaim> {
        let mut in_band = self.in_band;
        if let Some(ServerClaim { numbers: [.., tokens], .. }) = &mut in_band {
            *tokens = or(*tokens, output_tokens);
        }
        let (first, second) = match (self.comment, in_band) {
            (Some(comment), Some(in_band)) if comment.get(ClaimField::FirstToken).is_nan() => {
                (in_band, comment)
            }
            (Some(comment), in_band) => (comment, in_band.unwrap_or(comment)),
            (None, in_band) => (in_band?, in_band?),
        };
        let mut numbers = filled_from(first.numbers, second.numbers);
        numbers[ClaimField::FirstToken as usize] = first.get(ClaimField::FirstToken);
        Some(ServerClaim { numbers, ..first })
    }
}

impl ServerClaim {
    const fn new(source: &'static str, starts_from: ServerStart) -> Self {
        Self { source, starts_from, numbers: [ABSENT; _] }
    }

    /// Its numbers, under the names of [`ServerTiming`]'s fields.
    #[must_use]
    pub fn numbers(&self) -> FieldValues<'_, f64> {
        FieldValues { fields: "queue_ms ttft_ms generation_ms output_tokens", values: &self.numbers }
    }

    fn get(&self, field: ClaimField) -> f64 {
        self.numbers[field as usize]
    }

    /// The same as a report has it.
    pub(crate) fn timing(&self) -> ServerTiming {
        ServerTiming {
            source: Cow::Borrowed(self.source),
            starts_from: Some(self.starts_from),
            queue_ms: some(self.get(ClaimField::Queue)),
            ttft_ms: some(self.get(ClaimField::FirstToken)),
            generation_ms: some(self.get(ClaimField::Generation)),
            output_tokens: some_count(self.get(ClaimField::Tokens)),
        }
    }
}

/// The first row, filled in from the second.
fn filled_from(mut first: [f64; CLAIM_NUMBERS], second: [f64; CLAIM_NUMBERS]) -> [f64; CLAIM_NUMBERS] {
    for (number, other) in first.iter_mut().zip(second) {
        *number = or(*number, other);
    }
    first
}
