//! What a stream has come to so far: a row of numbers and a row of names, which are a report's fields in
//! the making. Code that goes over rows is there once; every field of a struct would have a page load code
//! of its own.

use std::borrow::Cow;

use beacon::{Defects, Histogram, Outcome, StreamReport};

use crate::server_timing::Claim;

/// In place of a number that is not there. No comparison with it holds, and what is reckoned with it is not
/// there either.
pub(crate) const ABSENT: f64 = f64::NAN;

/// `number`, or the other where it is absent.
pub(crate) fn or(number: f64, other: f64) -> f64 {
    if number.is_nan() { other } else { number }
}

/// For those who want no absent numbers.
pub(crate) fn some(number: f64) -> Option<f64> {
    (!number.is_nan()).then_some(number)
}

/// The same of a count, which is a whole number.
pub(crate) fn some_count(number: f64) -> Option<u64> {
    some(number).map(|count| count as u64)
}

/// Places in a row, and the field of a report that each is of.
macro_rules! row {
    ($(#[$doc:meta])* $row:ident { $($name:ident = $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub(crate) enum $row { $($name,)* }

        impl $row {
            const COUNT: usize = [$(Self::$name),*].len();
            /// In the same order: as one text they are less to load than as many.
            const FIELDS: &str = concat!($(stringify!($field), " ",)*);
        }
    };
}

row! {
    /// Numbers of a report. Durations are in milliseconds.
    Figure {
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
    /// Names in a report. An empty one is absent.
    Name {
        Outcome = outcome,
        Dialect = dialect,
        Provider = provider,
        Model = response_model,
        Id = response_id,
        Reason = finish_reason,
    }
}

/// A report in the making.
#[derive(Debug, Clone)]
pub struct Tally {
    figures: [f64; Figure::COUNT],
    names: [Cow<'static, str>; Name::COUNT],
    /// Times between successive reads with generated text.
    pub gaps: Histogram,
    /// What was wrong.
    pub defects: Defects,
    /// What the server said of its own timing. `None` where it said nothing.
    pub server: Option<Claim>,
}

/// Fields of a report and what they hold.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a, T> {
    /// Their names, with white space between them.
    pub fields: &'static str,
    /// As many values. Absent are a number that is NaN and a text that is empty.
    pub values: &'a [T],
}

impl Tally {
    /// Of a stream that has brought nothing.
    pub(crate) const EMPTY: Self = Self {
        figures: {
            let mut figures = [ABSENT; Figure::COUNT];
            figures[Figure::Chunks as usize] = 0.0;
            figures[Figure::Events as usize] = 0.0;
            figures[Figure::Deltas as usize] = 0.0;
            figures[Figure::Bytes as usize] = 0.0;
            figures
        },
        names: [const { Cow::Borrowed("") }; _],
        gaps: Histogram::EMPTY,
        defects: Defects::NONE,
        server: None,
    };

    /// Every number of the report that lies in no object of its own.
    #[must_use]
    pub fn figures(&self) -> Row<'_, f64> {
        Row { fields: Figure::FIELDS, values: &self.figures }
    }

    /// Every such text.
    #[must_use]
    pub fn names(&self) -> Row<'_, Cow<'static, str>> {
        Row { fields: Name::FIELDS, values: &self.names }
    }

    pub(crate) fn get(&self, figure: Figure) -> f64 {
        self.figures[figure as usize]
    }

    pub(crate) fn has(&self, figure: Figure) -> bool {
        !self.get(figure).is_nan()
    }

    pub(crate) fn set(&mut self, figure: Figure, number: f64) {
        self.figures[figure as usize] = number;
    }

    /// Unless it is there already.
    pub(crate) fn set_first(&mut self, figure: Figure, number: f64) {
        self.set(figure, or(self.get(figure), number));
    }

    pub(crate) fn add(&mut self, figure: Figure, number: f64) {
        self.set(figure, self.get(figure) + number);
    }

    pub(crate) fn name(&self, name: Name) -> &str {
        &self.names[name as usize]
    }

    pub(crate) fn set_name(&mut self, name: Name, text: impl Into<Cow<'static, str>>) {
        self.names[name as usize] = text.into();
    }

    /// The same as a report, of a stream without an id that has had this outcome.
    pub(crate) fn report(&self, outcome: Outcome) -> StreamReport {
        let ms = |figure| some(self.get(figure));
        let count = |figure| some_count(self.get(figure));
        let name = |name: Name| Some(self.names[name as usize].clone()).filter(|text| !text.is_empty());
        StreamReport {
            outcome,
            dialect: name(Name::Dialect),
            provider: name(Name::Provider),
            response_model: name(Name::Model),
            response_id: name(Name::Id),
            finish_reason: name(Name::Reason),
            status: count(Figure::Status).map(|status| status as u16),
            submit_delay_ms: ms(Figure::SubmitDelay),
            headers_ms: ms(Figure::Headers),
            first_byte_ms: ms(Figure::FirstByte),
            first_event_ms: ms(Figure::FirstEvent),
            ttft_ms: ms(Figure::FirstToken),
            ttfv_ms: ms(Figure::FirstVisible),
            e2e_ms: ms(Figure::LastToken),
            close_ms: ms(Figure::Close),
            chunks: self.get(Figure::Chunks) as u32,
            events: self.get(Figure::Events) as u32,
            deltas: self.get(Figure::Deltas) as u32,
            bytes: self.get(Figure::Bytes) as u64,
            input_tokens: count(Figure::InputTokens),
            output_tokens: count(Figure::OutputTokens),
            reasoning_tokens: count(Figure::ReasoningTokens),
            cached_tokens: count(Figure::CachedTokens),
            tpot_ms: ms(Figure::TimePerToken),
            longest_gap_ms: ms(Figure::LongestGap),
            gaps: self.has(Figure::LongestGap).then(|| self.gaps.clone()),
            stalls: count(Figure::Stalls).unwrap_or(0) as u32,
            defects: self.defects,
            server: self.server.as_ref().map(Claim::timing),
            clock_resolution_ms: ms(Figure::ClockResolution),
            ..StreamReport::new("")
        }
    }
}
