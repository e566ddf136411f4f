//! Statistics of a set of streams: reports are added and retracted, statistics merge exactly, and they encode to
//! bytes.

use beacon::{Defect, Histogram, Outcome, StreamReport};
use serde::{Deserialize, Serialize};

use crate::aggregate::blob_encoding::{self, StoredHistogram, UnreadableBlob};
use crate::aggregate::metric::{METRICS, Metric, Value};
use crate::aggregate::token_count::TokenCount;

/// Sources of server timing that are counted separately; any other counts as the last.
pub(crate) const SOURCES: [&str; 9] =
    ["comment", "llama_cpp", "ollama", "vllm", "groq", "cerebras", "lobe_chat", "ag_ui", "other"];

/// Statistics of a set of streams.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct WindowStats {
    outcomes: [u64; Outcome::ALL.len()],
    /// Streams that showed the defect, however often.
    defects: [u64; Defect::ALL.len()],
    /// Streams whose time to first token is known from client and server, by the source of the server timing.
    sources: [u64; SOURCES.len()],
    /// Streams that arrived intact.
    pub(crate) intact: u64,
    /// Streams that met their targets.
    pub(crate) within_slo: u64,
    pub(crate) input_tokens: TokenCount,
    pub(crate) output_tokens: TokenCount,
    histograms: [Histogram; METRICS.len()],
}

impl WindowStats {
    /// Adds one stream; `within_slo` says whether it met its targets.
    pub(crate) fn add(&mut self, report: &StreamReport, within_slo: bool) {
        self.outcomes[report.outcome as usize] += 1;
        for (defect, _) in report.defects.iter() {
            self.defects[defect as usize] += 1;
        }
        self.intact += u64::from(report.is_intact());
        self.within_slo += u64::from(within_slo);
        self.input_tokens.add(report.input_tokens);
        self.output_tokens.add(report.output_tokens);
        if let Some(server) = &report.server
            && report.overhead_ms().is_some()
        {
            self.sources[source_at(&server.source)] += 1;
        }
        for (definition, histogram) in METRICS.iter().zip(&mut self.histograms) {
            match definition.value {
                Value::One(of) => of(report).into_iter().for_each(|value| histogram.record(value)),
                Value::Many(of) => of(report).into_iter().for_each(|values| histogram.merge(values)),
            }
        }
    }

    /// Retracts a stream that was added with the same `within_slo`. Returns `false`, and changes nothing, if
    /// the stream cannot be in these statistics.
    pub(crate) fn retract(&mut self, report: &StreamReport, within_slo: bool) -> bool {
        let mut one = Self::default();
        one.add(report, within_slo);
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
        self.intact -= other.intact;
        self.within_slo -= other.within_slo;
        self.input_tokens.subtract(other.input_tokens);
        self.output_tokens.subtract(other.output_tokens);
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
        self.intact += other.intact;
        self.within_slo += other.within_slo;
        self.input_tokens.merge(other.input_tokens);
        self.output_tokens.merge(other.output_tokens);
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
                outcomes: self
                    .outcomes()
                    .map(|(outcome, count)| (outcome.as_str().to_owned(), count))
                    .collect(),
                defects: self.defects().map(|(defect, count)| (defect.as_str().to_owned(), count)).collect(),
                sources: self.sources().map(|(source, count)| (source.to_owned(), count)).collect(),
                intact: self.intact,
                within_slo: self.within_slo,
                input_tokens: self.input_tokens,
                output_tokens: self.output_tokens,
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
            intact: stored.intact,
            within_slo: stored.within_slo,
            input_tokens: stored.input_tokens,
            output_tokens: stored.output_tokens,
            histograms: stored.histograms.into_iter().filter_map(histogram).collect::<Result<_, _>>()?,
        })
    }

    /// Builds statistics from their parts. An unknown word makes them unreadable.
    pub(crate) fn from_parts(parts: Parts) -> Result<Self, UnreadableBlob> {
        let mut stats = Self {
            intact: parts.intact,
            within_slo: parts.within_slo,
            input_tokens: parts.input_tokens,
            output_tokens: parts.output_tokens,
            ..Self::default()
        };
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
            && self.intact >= other.intact
            && self.within_slo >= other.within_slo
            && self.input_tokens.covers(other.input_tokens)
            && self.output_tokens.covers(other.output_tokens)
            && self.histograms.iter().zip(&other.histograms).all(|(mine, other)| contains(mine, other))
    }
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
    pub(crate) intact: u64,
    pub(crate) within_slo: u64,
    pub(crate) input_tokens: TokenCount,
    pub(crate) output_tokens: TokenCount,
    pub(crate) histograms: Vec<(Metric, Histogram)>,
}

/// Version of the format.
const FORMAT_VERSION: u8 = 3;

/// Words instead of positions: a new outcome in the middle does not move the others.
#[derive(Serialize, Deserialize)]
struct Stored {
    outcomes: Vec<(String, u64)>,
    defects: Vec<(String, u64)>,
    sources: Vec<(String, u64)>,
    intact: u64,
    within_slo: u64,
    input_tokens: TokenCount,
    output_tokens: TokenCount,
    histograms: Vec<(u8, StoredHistogram)>,
}

#[cfg(test)]
mod tests;
