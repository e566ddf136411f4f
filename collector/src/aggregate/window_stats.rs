//! Statistics of a set of streams: reports are added and retracted, statistics merge exactly, and they encode to
//! bytes.

use beacon::{Defect, Histogram, Outcome, StreamReport};
use serde::{Deserialize, Serialize};

use crate::aggregate::blob_encoding::{self, StoredHistogram, UnreadableBlob};
use crate::aggregate::in_flight::InFlight;
use crate::aggregate::judgement::{Cause, Judgement};
use crate::aggregate::metric::{METRICS, Metric, Value};
use crate::aggregate::token_count::TokenCount;
use crate::report::server_fact::BackendEnd;

/// Sources of server timing that are counted separately; any other counts as the last.
pub(crate) const SOURCES: [&str; 9] =
    ["comment", "llama_cpp", "ollama", "vllm", "groq", "cerebras", "lobe_chat", "ag_ui", "other"];

/// A number that is summed over streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sum {
    /// Streams that arrived intact.
    Intact,
    /// Streams that met their targets.
    WithinSlo,
    InputTokens,
    /// Streams with a count of input tokens.
    InputTokenStreams,
    OutputTokens,
    /// Streams with a count of output tokens.
    OutputTokenStreams,
    /// Streams with a figure that their target of pace applies to.
    PaceKnown,
    /// Those of them that met it.
    WithinPace,
    /// Streams whose backend says how they ended.
    BackendEnds,
    /// Those of them whose client left before the end.
    ClientGone,
    /// Those of them whose backend counted the tokens after that.
    ClientGoneCounted,
    /// Tokens by the count of the backend, of all streams whose tokens after the client's leaving are known or none.
    BackendTokens,
    /// Tokens after the client had left.
    TokensAfterGone,
}

impl Sum {
    pub(crate) const ALL: [Self; 13] = [
        Self::Intact,
        Self::WithinSlo,
        Self::InputTokens,
        Self::InputTokenStreams,
        Self::OutputTokens,
        Self::OutputTokenStreams,
        Self::PaceKnown,
        Self::WithinPace,
        Self::BackendEnds,
        Self::ClientGone,
        Self::ClientGoneCounted,
        Self::BackendTokens,
        Self::TokensAfterGone,
    ];

    /// Its column in ClickHouse.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::WithinSlo => "within_slo",
            Self::InputTokens => "input_tokens",
            Self::InputTokenStreams => "input_token_streams",
            Self::OutputTokens => "output_tokens",
            Self::OutputTokenStreams => "output_token_streams",
            Self::PaceKnown => "pace_known",
            Self::WithinPace => "within_pace",
            Self::BackendEnds => "backend_ends",
            Self::ClientGone => "client_gone",
            Self::ClientGoneCounted => "client_gone_counted",
            Self::BackendTokens => "backend_tokens",
            Self::TokensAfterGone => "tokens_after_gone",
        }
    }
}

/// Statistics of a set of streams.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct WindowStats {
    outcomes: [u64; Outcome::ALL.len()],
    /// Streams that showed the defect, however often.
    defects: [u64; Defect::ALL.len()],
    /// Streams whose time to first token is known from client and server, by the source of the server timing.
    sources: [u64; SOURCES.len()],
    /// Streams whose wait was above its p95 target, by the largest part of the wait.
    wait_causes: [u64; Cause::ALL.len()],
    /// Streams that missed their pace, by the most likely reason.
    pace_causes: [u64; Cause::ALL.len()],
    sums: [u64; Sum::ALL.len()],
    in_flight: InFlight,
    histograms: [Histogram; METRICS.len()],
}

/// Fields of a report on which the counts and sums depend. The metrics name those that they need in addition.
pub(crate) const FIELDS_OF_COUNTS: [&str; 30] = [
    "outcome",
    "observed",
    "headers_ms",
    "first_byte_ms",
    "first_event_ms",
    "ttft_ms",
    "ttfv_ms",
    "e2e_ms",
    "close_ms",
    "chunks",
    "input_tokens",
    "output_tokens",
    "defects",
    "server_source",
    "server_ttft_ms",
    "layers_edge_ended",
    "layers_edge_output_tokens",
    "layers_edge_tokens_after_gone",
    "layers_app_ended",
    "layers_app_output_tokens",
    "layers_app_tokens_after_gone",
    "layers_model_call_ended",
    "layers_model_call_output_tokens",
    "layers_model_call_tokens_after_gone",
    "layers_gateway_ended",
    "layers_gateway_output_tokens",
    "layers_gateway_tokens_after_gone",
    "layers_engine_ended",
    "layers_engine_output_tokens",
    "layers_engine_tokens_after_gone",
];

impl WindowStats {
    /// Adds one stream.
    pub(crate) fn add(&mut self, report: &StreamReport, judgement: Judgement) {
        self.add_with(report, judgement, &Metric::ALL);
    }

    /// The same, with only the distributions in `metrics`.
    pub(crate) fn add_with(&mut self, report: &StreamReport, judgement: Judgement, metrics: &[Metric]) {
        self.outcomes[report.outcome as usize] += 1;
        for (defect, _) in report.defects.iter() {
            self.defects[defect as usize] += 1;
        }
        let end = report.layers.as_ref().and_then(BackendEnd::of);
        let gone = end.filter(|end| end.client_gone);
        let tokens = end.and_then(|end| end.tokens);
        for sum in Sum::ALL {
            self.sums[sum as usize] += match sum {
                Sum::Intact => report.is_intact().into(),
                Sum::WithinSlo => judgement.within_slo.into(),
                Sum::InputTokens => report.input_tokens.unwrap_or(0),
                Sum::InputTokenStreams => report.input_tokens.is_some().into(),
                Sum::OutputTokens => report.output_tokens.unwrap_or(0),
                Sum::OutputTokenStreams => report.output_tokens.is_some().into(),
                Sum::PaceKnown => judgement.within_pace.is_some().into(),
                Sum::WithinPace => judgement.within_pace.unwrap_or(false).into(),
                Sum::BackendEnds => end.is_some().into(),
                Sum::ClientGone => gone.is_some().into(),
                Sum::ClientGoneCounted => gone.is_some_and(|end| end.tokens.is_some()).into(),
                Sum::BackendTokens => tokens.map_or(0, |tokens| tokens.all),
                Sum::TokensAfterGone => tokens.map_or(0, |tokens| tokens.after_gone),
            };
        }
        judgement.wait_cause.into_iter().for_each(|cause| self.wait_causes[cause as usize] += 1);
        judgement.pace_cause.into_iter().for_each(|cause| self.pace_causes[cause as usize] += 1);
        if let Some(server) = &report.server
            && report.overhead_ms().is_some()
        {
            self.sources[source_at(&server.source)] += 1;
        }
        for metric in metrics {
            let histogram = &mut self.histograms[*metric as usize];
            match metric.definition().value {
                Value::One(of) => of(report).into_iter().for_each(|value| histogram.record(value)),
                Value::Many(of) => of(report).into_iter().for_each(|values| histogram.merge(values)),
            }
        }
    }

    /// Adds the time that a stream was in flight before its last report arrived.
    pub(crate) fn add_in_flight(&mut self, report: &StreamReport, received_ms: i64) {
        self.in_flight.merge(&InFlight::of(report, received_ms));
    }

    /// Retracts a stream that was added with the same judgement and time. Returns `false`, and changes nothing, if the
    /// stream cannot be in these statistics.
    pub(crate) fn retract(&mut self, report: &StreamReport, judgement: Judgement, received_ms: i64) -> bool {
        let mut one = Self::default();
        one.add(report, judgement);
        one.add_in_flight(report, received_ms);
        self.subtract(&one)
    }

    /// These statistics after one part of them changed. `None` if the part cannot be in them.
    pub(crate) fn with_changed(&self, before: &Self, now: &Self) -> Option<Self> {
        let mut changed = self.clone();
        // Adds before it subtracts: other parts may have lost counts that this part has as well.
        changed.merge(now);
        changed.subtract(before).then_some(changed)
    }

    fn subtract(&mut self, other: &Self) -> bool {
        if !self.covers(other) {
            return false;
        }
        subtract(&mut self.outcomes, &other.outcomes);
        subtract(&mut self.defects, &other.defects);
        subtract(&mut self.sources, &other.sources);
        subtract(&mut self.wait_causes, &other.wait_causes);
        subtract(&mut self.pace_causes, &other.pace_causes);
        subtract(&mut self.sums, &other.sums);
        self.in_flight.subtract(&other.in_flight);
        for (mine, other) in self.histograms.iter_mut().zip(&other.histograms) {
            mine.subtract(other);
        }
        true
    }

    /// Adds other statistics, exactly.
    pub(crate) fn merge(&mut self, other: &Self) {
        add(&mut self.outcomes, &other.outcomes);
        add(&mut self.defects, &other.defects);
        add(&mut self.sources, &other.sources);
        add(&mut self.wait_causes, &other.wait_causes);
        add(&mut self.pace_causes, &other.pace_causes);
        add(&mut self.sums, &other.sums);
        self.in_flight.merge(&other.in_flight);
        for (mine, other) in self.histograms.iter_mut().zip(&other.histograms) {
            mine.merge(other);
        }
    }

    pub(crate) const fn histogram(&self, metric: Metric) -> &Histogram {
        &self.histograms[metric as usize]
    }

    /// Streams by outcome, without outcomes that did not occur.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = (Outcome, u64)> + '_ {
        Outcome::ALL.into_iter().zip(self.outcomes).filter(|&(_, count)| count > 0)
    }

    /// Streams by defect, without defects that did not occur.
    pub(crate) fn defects(&self) -> impl Iterator<Item = (Defect, u64)> + '_ {
        Defect::ALL.iter().copied().zip(self.defects).filter(|&(_, count)| count > 0)
    }

    /// Streams whose first token is known from both sides, by source, without sources that did not occur.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        SOURCES.into_iter().zip(self.sources).filter(|&(_, count)| count > 0)
    }

    /// Streams whose wait was above its p95 target, by cause, without causes that did not occur.
    pub(crate) fn wait_causes(&self) -> impl Iterator<Item = (Cause, u64)> + '_ {
        Cause::ALL.into_iter().zip(self.wait_causes).filter(|&(_, count)| count > 0)
    }

    /// Streams that missed their pace, by cause, without causes that did not occur.
    pub(crate) fn pace_causes(&self) -> impl Iterator<Item = (Cause, u64)> + '_ {
        Cause::ALL.into_iter().zip(self.pace_causes).filter(|&(_, count)| count > 0)
    }

    /// Time in flight before the end of the streams.
    pub(crate) const fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }

    /// A sum over all streams.
    pub(crate) const fn sum(&self, sum: Sum) -> u64 {
        self.sums[sum as usize]
    }

    /// Input tokens by the providers' counts.
    pub(crate) const fn input_tokens(&self) -> TokenCount {
        TokenCount { tokens: self.sum(Sum::InputTokens), streams: self.sum(Sum::InputTokenStreams) }
    }

    /// Output tokens by the providers' counts.
    pub(crate) const fn output_tokens(&self) -> TokenCount {
        TokenCount { tokens: self.sum(Sum::OutputTokens), streams: self.sum(Sum::OutputTokenStreams) }
    }

    /// Number of streams.
    pub(crate) fn streams(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    /// Streams that count towards integrity, availability and goodput.
    pub(crate) fn eligible(&self) -> u64 {
        self.outcomes().filter(|(outcome, _)| outcome.is_eligible()).map(|(_, count)| count).sum()
    }

    /// Streams in which the service failed the user.
    pub(crate) fn errors(&self) -> u64 {
        self.outcomes().filter(|(outcome, _)| outcome.is_error()).map(|(_, count)| count).sum()
    }

    /// Its memory.
    pub(crate) fn bytes(&self) -> usize {
        let counts = self.histograms.iter().map(|histogram| size_of_val(histogram.dense().1));
        size_of::<Self>() + counts.sum::<usize>()
    }

    /// Bytes for the store.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let histograms = METRICS.iter().zip(&self.histograms);
        blob_encoding::encode(
            FORMAT_VERSION,
            &Stored {
                outcomes: words(self.outcomes(), Outcome::as_str),
                defects: words(self.defects(), Defect::as_str),
                sources: words(self.sources(), |source| source),
                wait_causes: words(self.wait_causes(), Cause::as_str),
                pace_causes: words(self.pace_causes(), Cause::as_str),
                sums: self.sums.to_vec(),
                in_flight: self.in_flight.by_minutes_before().collect(),
                histograms: histograms
                    .filter(|(_, histogram)| !histogram.is_empty())
                    .map(|(definition, histogram)| (definition.stored_as, StoredHistogram::from(histogram)))
                    .collect(),
            },
        )
    }

    /// Decodes the bytes of [`encode`](Self::encode).
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, UnreadableBlob> {
        Self::decode_only(bytes, &Metric::ALL)
    }

    /// The same, with only the distributions in `metrics`.
    pub(crate) fn decode_only(bytes: &[u8], metrics: &[Metric]) -> Result<Self, UnreadableBlob> {
        let stored: Stored = blob_encoding::decode(FORMAT_VERSION, bytes)?;
        let histogram = |(number, stored): (u8, StoredHistogram)| {
            let metric = Metric::of_stored(number).ok_or(UnreadableBlob);
            let asked = metric.map(|metric| metrics.contains(&metric).then_some(metric)).transpose()?;
            Some(asked.and_then(|metric| Ok((metric, stored.try_into()?))))
        };
        Self::from_parts(Parts {
            outcomes: stored.outcomes,
            defects: stored.defects,
            sources: stored.sources,
            wait_causes: stored.wait_causes,
            pace_causes: stored.pace_causes,
            sums: stored.sums,
            in_flight: stored.in_flight,
            histograms: stored.histograms.into_iter().filter_map(histogram).collect::<Result<_, _>>()?,
        })
    }

    /// Builds statistics from their parts. An unknown word makes them unreadable.
    pub(crate) fn from_parts(parts: Parts) -> Result<Self, UnreadableBlob> {
        let mut sums = parts.sums;
        if sums.len() == SUMS_WITHOUT_BACKEND {
            sums.resize(Sum::ALL.len(), 0);
        }
        let sums = sums.try_into().map_err(|_| UnreadableBlob)?;
        let in_flight = InFlight::from_minutes_before(parts.in_flight).ok_or(UnreadableBlob)?;
        let mut stats = Self { sums, in_flight, ..Self::default() };
        let causes = Cause::ALL.map(Cause::as_str);
        blob_encoding::restore_counts(&parts.wait_causes, &causes, &mut stats.wait_causes)?;
        blob_encoding::restore_counts(&parts.pace_causes, &causes, &mut stats.pace_causes)?;
        blob_encoding::restore_counts(
            &parts.outcomes,
            Outcome::ALL.map(Outcome::as_str).as_slice(),
            &mut stats.outcomes,
        )?;
        let defects: Vec<_> = Defect::ALL.iter().map(|defect| defect.as_str()).collect();
        blob_encoding::restore_counts(&parts.defects, &defects, &mut stats.defects)?;
        // Other versions may know other sources.
        for (source, count) in &parts.sources {
            stats.sources[source_at(source)] += count;
        }
        for (metric, histogram) in parts.histograms {
            stats.histograms[metric as usize] = histogram;
        }
        Ok(stats)
    }

    fn covers(&self, other: &Self) -> bool {
        let enough = |mine: &[u64], other: &[u64]| mine.iter().zip(other).all(|(mine, other)| mine >= other);
        enough(&self.outcomes, &other.outcomes)
            && enough(&self.defects, &other.defects)
            && enough(&self.sources, &other.sources)
            && enough(&self.wait_causes, &other.wait_causes)
            && enough(&self.pace_causes, &other.pace_causes)
            && enough(&self.sums, &other.sums)
            && self.in_flight.contains(&other.in_flight)
            && self.histograms.iter().zip(&other.histograms).all(|(mine, other)| contains(mine, other))
    }
}

fn words<T>(counts: impl Iterator<Item = (T, u64)>, as_str: fn(T) -> &'static str) -> Vec<(String, u64)> {
    counts.map(|(word, count)| (as_str(word).to_owned(), count)).collect()
}

fn source_at(name: &str) -> usize {
    SOURCES.iter().position(|known| *known == name).unwrap_or(SOURCES.len() - 1)
}

fn contains(histogram: &Histogram, part: &Histogram) -> bool {
    let mut held = histogram.indexed();
    histogram.zero() >= part.zero()
        && part.indexed().all(|(index, count)| held.any(|(at, held)| at == index && held >= count))
}

fn add(counts: &mut [u64], more: &[u64]) {
    for (count, more) in counts.iter_mut().zip(more) {
        *count += more;
    }
}

fn subtract(counts: &mut [u64], less: &[u64]) {
    for (count, less) in counts.iter_mut().zip(less) {
        *count -= less;
    }
}

/// Parts of statistics, with counts by their words. A missing word counts 0.
pub(crate) struct Parts {
    pub(crate) outcomes: Vec<(String, u64)>,
    pub(crate) defects: Vec<(String, u64)>,
    pub(crate) sources: Vec<(String, u64)>,
    pub(crate) wait_causes: Vec<(String, u64)>,
    pub(crate) pace_causes: Vec<(String, u64)>,
    /// In the order of [`Sum::ALL`].
    pub(crate) sums: Vec<u64>,
    /// Milliseconds by the distance to the minute of the end.
    pub(crate) in_flight: Vec<(usize, u64)>,
    pub(crate) histograms: Vec<(Metric, Histogram)>,
}

/// Sums of stores that did not count how the backend says that streams ended.
const SUMS_WITHOUT_BACKEND: usize = Sum::BackendEnds as usize;

/// Version of the format.
const FORMAT_VERSION: u8 = 5;

/// Words instead of positions: a new outcome in the middle does not move the others.
#[derive(Serialize, Deserialize)]
struct Stored {
    outcomes: Vec<(String, u64)>,
    defects: Vec<(String, u64)>,
    sources: Vec<(String, u64)>,
    wait_causes: Vec<(String, u64)>,
    pace_causes: Vec<(String, u64)>,
    sums: Vec<u64>,
    in_flight: Vec<(usize, u64)>,
    histograms: Vec<(u8, StoredHistogram)>,
}

#[cfg(test)]
mod tests;
