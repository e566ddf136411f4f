//! Merges the timings that servers send in band into one [`ServerTiming`].

use std::borrow::Cow;
use std::mem;

use beacon::{ServerStart, ServerTiming};

use crate::absent::{ABSENT, each_some, or};
use crate::event_numbers::{CLAIM_NUMBERS, EventNumbers, Number};
use crate::field_values::FieldValues;
use crate::number_limits::{count_above, limits, within};
use crate::time::whole_micros;

/// How an engine writes its own timing. `Schema` says where the numbers stand.
#[derive(Clone, Copy)]
pub(crate) struct TimingFormat<Schema> {
    /// The word in reports.
    pub(crate) name: &'static str,
    /// The name is a provider's, and only that provider writes its timing like this.
    pub(crate) is_provider: bool,
    /// The start of its time to first token, where it does not send the wait before that.
    pub(crate) starts_from: ServerStart,
    pub(crate) unit: Unit,
    /// If this number is absent or zero, the others mean nothing yet.
    pub(crate) needs: Number,
    pub(crate) schema: Schema,
}

/// The unit of a server's times.
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

/// All timings that one stream carried.
#[derive(Debug, Clone)]
pub(crate) struct ServerClaims {
    comment: Option<ServerClaim>,
    in_band: Option<ServerClaim>,
    /// The server's timestamp of the first event that has one.
    first_stamp_ms: Option<f64>,
}

/// A server's timing of its own work.
#[derive(Debug, Clone, Copy)]
pub struct ServerClaim {
    /// Where it was read; see [`ServerTiming::source`].
    pub source: &'static str,
    /// The start of its time to first token.
    pub starts_from: ServerStart,
    /// By [`ClaimField`].
    numbers: [f64; CLAIM_NUMBERS],
}

/// Places in the row of a claim, in the order of the [`Number`]s that it is made of.
enum ClaimField {
    Queue,
    FirstToken,
    Generation,
    Tokens,
}

impl ServerClaims {
    pub(crate) const NONE: Self = Self { comment: None, in_band: None, first_stamp_ms: None };

    /// Adds our own comment. It may come several times; later ones fill in and replace.
    pub(crate) fn add_comment(&mut self, comment: &mut EventNumbers) {
        let claim = self.comment.get_or_insert(ServerClaim::new("comment", ServerStart::Arrival));
        let earlier = mem::replace(&mut claim.numbers, comment.take_claim());
        fill(&mut claim.numbers, &earlier);
    }

    /// Forgets the times of the comment, which are of another event than the first token.
    pub(crate) fn drop_comment_times(&mut self) {
        if let Some(comment) = &mut self.comment {
            comment.numbers[ClaimField::FirstToken as usize] = ABSENT;
            comment.numbers[ClaimField::Generation as usize] = ABSENT;
        }
    }

    /// Adds an engine's own timing. False if it is not enough for a claim.
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
            // With the wait before it, every time starts at the request's arrival.
            let starts_from = if queue_ms.is_nan() { timing.starts_from } else { ServerStart::Arrival };
            let times = [queue_ms, waited_ms + or(prompt_ms, 0.0), generation_ms].map(whole_micros);
            let numbers = [times[0], times[1], times[2], tokens];
            self.in_band = Some(ServerClaim { source: timing.name, starts_from, numbers });
        }
        claims
    }

    /// Adds the server's timestamp of an event; `text`: the event has generated text.
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

    /// The engine's own count of generated tokens, apart from the usage.
    pub(crate) fn output_tokens(&self) -> f64 {
        self.in_band.map_or(ABSENT, |claim| claim.get(ClaimField::Tokens))
    }

    /// The time of generation by the server's own clock.
    pub(crate) fn generation_ms(&self) -> f64 {
        let duration =
            |claim: Option<ServerClaim>| claim.map_or(ABSENT, |claim| claim.get(ClaimField::Generation));
        or(duration(self.in_band), duration(self.comment))
    }

    /// All claims as one. Only a claim that starts at the request's arrival has the whole time to first token, so it
    /// goes before one without the queue. The other numbers come from the claim that has them. If an engine's timing
    /// has no tokens, the `output_tokens` of its usage take their place.
    pub(crate) fn merged(&self, output_tokens: f64) -> Option<ServerClaim> {
        let (comment, in_band) = (self.comment.as_ref(), self.in_band.as_ref());
        let whole = comment.filter(|claim| !claim.get(ClaimField::FirstToken).is_nan());
        let first = whole.or(in_band).or(comment)?;
        let mut numbers = first.numbers;
        if let Some(in_band) = in_band {
            fill(&mut numbers, &in_band.numbers);
            let tokens = &mut numbers[ClaimField::Tokens as usize];
            *tokens = or(*tokens, output_tokens);
        }
        if let Some(comment) = comment {
            fill(&mut numbers, &comment.numbers);
        }
        numbers[ClaimField::FirstToken as usize] = first.get(ClaimField::FirstToken);
        Some(ServerClaim { numbers, ..*first })
    }
}

impl ServerClaim {
    const fn new(source: &'static str, starts_from: ServerStart) -> Self {
        Self { source, starts_from, numbers: [ABSENT; _] }
    }

    /// The numbers, with the names of [`ServerTiming`]'s fields.
    #[must_use]
    pub fn numbers(&self) -> FieldValues<impl Iterator<Item = Option<f64>>> {
        FieldValues { fields: CLAIM_FIELDS, values: each_some(&self.numbers) }
    }

    fn get(&self, field: ClaimField) -> f64 {
        self.numbers[field as usize]
    }

    /// How many of its numbers a report leaves out.
    pub(crate) fn count_left_out(&self) -> u32 {
        count_above(&self.numbers, &LIMITS)
    }

    /// The claim as a report has it.
    pub(crate) fn timing(&self) -> ServerTiming {
        let number = |field: ClaimField| {
            let at = field as usize;
            within(self.numbers[at], LIMITS[at])
        };
        ServerTiming {
            source: Cow::Borrowed(self.source),
            starts_from: Some(self.starts_from),
            queue_ms: number(ClaimField::Queue),
            ttft_ms: number(ClaimField::FirstToken),
            generation_ms: number(ClaimField::Generation),
            output_tokens: number(ClaimField::Tokens).map(|tokens| tokens as u64),
        }
    }
}

/// Sets the numbers that are absent to those of the `other` claim.
fn fill(numbers: &mut [f64; CLAIM_NUMBERS], other: &[f64; CLAIM_NUMBERS]) {
    for (number, other) in numbers.iter_mut().zip(other) {
        *number = or(*number, *other);
    }
}

const CLAIM_FIELDS: &str = "queue_ms ttft_ms generation_ms output_tokens";
const LIMITS: [f64; CLAIM_NUMBERS] = limits(ServerTiming::FIELDS, CLAIM_FIELDS);
