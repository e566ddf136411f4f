//! The report in the making, as a row of numbers and a row of texts. One loop over a row serves all its fields; with a
//! struct, each field would add code to the download.

use std::borrow::Cow;

use beacon::{Defects, Histogram, MAX_MS, Outcome, StreamReport};

use crate::absent::{ABSENT, each_some, or};
use crate::field_values::FieldValues;
use crate::number_limits::{count_above, limits, within};
use crate::server_timing::ServerClaim;

/// An enum of the places in a row, with the report's field for each.
macro_rules! row {
    ($(#[$doc:meta])* $row:ident { $($name:ident = $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub(crate) enum $row { $($name,)* }

        impl $row {
            const COUNT: usize = [$(Self::$name),*].len();
            /// The names of the fields in the same order. One text is smaller than many.
            const FIELDS: &str = concat!($(stringify!($field), " ",)*);
        }
    };
}

row! {
    /// Numbers of a report. Durations are in milliseconds.
    NumberField {
        Status = status,
        SubmitDelay = submit_delay_ms,
        Headers = headers_ms,
        FirstByte = first_byte_ms,
        FirstEvent = first_event_ms,
        FirstToken = ttft_ms,
        FirstVisible = ttfv_ms,
        LastToken = e2e_ms,
        Close = close_ms,
        Chunks = chunks,
        Events = events,
        Deltas = deltas,
        Bytes = bytes,
        InputTokens = input_tokens,
        OutputTokens = output_tokens,
        ReasoningTokens = reasoning_tokens,
        CachedTokens = cached_tokens,
        TimePerToken = tpot_ms,
        LongestGap = longest_gap_ms,
        Stalls = stalls,
        ClockResolution = clock_resolution_ms,
    }
}

row! {
    /// Texts of a report. An empty one is absent.
    TextField {
        Outcome = outcome,
        Dialect = dialect,
        Provider = provider,
        Model = response_model,
        Id = response_id,
        Reason = finish_reason,
        ServerId = server_id,
    }
}

/// A report in the making.
#[derive(Debug, Clone)]
pub struct ReportBuilder {
    numbers: [f64; NumberField::COUNT],
    texts: [Cow<'static, str>; TextField::COUNT],
    /// Times between successive reads with generated text.
    pub(crate) gaps: Histogram,
    /// How often each defect was seen.
    pub defects: Defects,
    /// The server's own timing. `None` if it sent none.
    pub server: Option<ServerClaim>,
}

impl ReportBuilder {
    /// For a stream that has brought nothing.
    pub(crate) const EMPTY: Self = Self {
        numbers: {
            let mut numbers = [ABSENT; NumberField::COUNT];
            numbers[NumberField::Chunks as usize] = 0.0;
            numbers[NumberField::Events as usize] = 0.0;
            numbers[NumberField::Deltas as usize] = 0.0;
            numbers[NumberField::Bytes as usize] = 0.0;
            numbers
        },
        texts: [const { Cow::Borrowed("") }; _],
        gaps: Histogram::EMPTY,
        defects: Defects::NONE,
        server: None,
    };

    /// Every number of the report that is not in a nested object.
    #[must_use]
    pub fn numbers(&self) -> FieldValues<impl Iterator<Item = Option<f64>>> {
        FieldValues { fields: NumberField::FIELDS, values: each_some(&self.numbers) }
    }

    /// Every such text of the report.
    #[must_use]
    pub fn texts(&self) -> FieldValues<impl Iterator<Item = &str>> {
        FieldValues { fields: TextField::FIELDS, values: self.texts.iter().map(|text| &**text) }
    }

    pub(crate) fn get(&self, field: NumberField) -> f64 {
        self.numbers[field as usize]
    }

    pub(crate) fn has(&self, field: NumberField) -> bool {
        !self.get(field).is_nan()
    }

    pub(crate) fn set(&mut self, field: NumberField, number: f64) {
        self.numbers[field as usize] = number;
    }

    /// Sets a number that is absent so far.
    pub(crate) fn set_first(&mut self, field: NumberField, number: f64) {
        self.set(field, or(self.get(field), number));
    }

    pub(crate) fn add(&mut self, field: NumberField, number: f64) {
        self.set(field, self.get(field) + number);
    }

    pub(crate) fn text(&self, field: TextField) -> &str {
        &self.texts[field as usize]
    }

    pub(crate) fn set_text(&mut self, field: TextField, text: impl Into<Cow<'static, str>>) {
        self.texts[field as usize] = text.into();
    }

    /// The times between reads, if there are any and the collector accepts them.
    #[must_use]
    pub fn gaps(&self) -> Option<&Histogram> {
        let gaps = &self.gaps;
        (!gaps.is_empty() && gaps.sum() <= MAX_MS).then_some(gaps)
    }

    /// The report, with this outcome and without an id.
    pub(crate) fn build(&self, outcome: Outcome) -> StreamReport {
        let ms = |field: NumberField| within(self.get(field), LIMITS[field as usize]);
        let count = |field| ms(field).map(|count| count as u64);
        // A report has to have these counts.
        let saturated = |field: NumberField| self.get(field).min(LIMITS[field as usize]);
        let text =
            |field: TextField| Some(self.texts[field as usize].clone()).filter(|text| !text.is_empty());
        StreamReport {
            outcome,
            dialect: text(TextField::Dialect),
            provider: text(TextField::Provider),
            response_model: text(TextField::Model),
            response_id: text(TextField::Id),
            server_id: text(TextField::ServerId),
            finish_reason: text(TextField::Reason),
            status: count(NumberField::Status).map(|status| status as u16),
            submit_delay_ms: ms(NumberField::SubmitDelay),
            headers_ms: ms(NumberField::Headers),
            first_byte_ms: ms(NumberField::FirstByte),
            first_event_ms: ms(NumberField::FirstEvent),
            ttft_ms: ms(NumberField::FirstToken),
            ttfv_ms: ms(NumberField::FirstVisible),
            e2e_ms: ms(NumberField::LastToken),
            close_ms: ms(NumberField::Close),
            chunks: saturated(NumberField::Chunks) as u32,
            events: saturated(NumberField::Events) as u32,
            deltas: saturated(NumberField::Deltas) as u32,
            bytes: saturated(NumberField::Bytes) as u64,
            input_tokens: count(NumberField::InputTokens),
            output_tokens: count(NumberField::OutputTokens),
            reasoning_tokens: count(NumberField::ReasoningTokens),
            cached_tokens: count(NumberField::CachedTokens),
            tpot_ms: ms(NumberField::TimePerToken),
            longest_gap_ms: ms(NumberField::LongestGap),
            gaps: self.gaps().filter(|gaps| gaps.count() as f64 <= self.get(NumberField::Chunks)).cloned(),
            stalls: count(NumberField::Stalls).unwrap_or(0) as u32,
            defects: self.defects,
            server: self.server.as_ref().map(ServerClaim::timing),
            clock_resolution_ms: ms(NumberField::ClockResolution),
            left_out: count_above(&self.numbers, &LIMITS)
                + self.server.as_ref().map_or(0, ServerClaim::count_left_out),
            ..StreamReport::new("")
        }
    }
}

const LIMITS: [f64; NumberField::COUNT] = limits(StreamReport::FIELDS, NumberField::FIELDS);
