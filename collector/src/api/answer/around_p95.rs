//! The parts of the wait of the streams around the p95, and which part is the largest. Definition:
//! `docs/phases.md#around-the-p95`.

use std::ops::RangeInclusive;

use beacon::{Histogram, StreamReport};
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::phase::{Phase, Phases};
use crate::api::answer::percentiles::{relative_error, to_thousandth};
use crate::api::answer::phase_name::PhaseName;
use crate::slo::words::{grouped, seconds};

/// Mean parts of the wait for the first token, over the kept streams with a wait from the p90 to the p99.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct AroundP95 {
    /// Number of these streams, at least 20.
    n: u64,
    /// Their mean wait: the sum of the parts.
    ttft_mean_ms: f64,
    /// In the order of the wait, without parts of length 0.
    parts: Vec<MeanPart>,
    /// Absent if the difference to the second largest may be chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    largest: Option<PhaseName>,
    /// `largest` as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Mean of a part over all these streams. What a stream does not tell is in its `not_reported`.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct MeanPart {
    pub(crate) phase: PhaseName,
    pub(crate) mean_ms: f64,
}

/// The streams so far.
pub(crate) struct StreamsAroundP95 {
    shortest_ms: f64,
    longest_ms: f64,
    streams: Vec<[f64; PARTS.len()]>,
}

impl StreamsAroundP95 {
    /// `waits` are those of all streams. `None` without streams.
    pub(crate) fn of(waits: &Histogram) -> Option<Self> {
        let error = relative_error();
        Some(Self {
            shortest_ms: waits.quantile(0.90)? / (1.0 + error),
            longest_ms: waits.quantile(0.99)? / (1.0 - error),
            streams: Vec::new(),
        })
    }

    /// The waits around the p95.
    pub(crate) const fn waits_ms(&self) -> RangeInclusive<f64> {
        self.shortest_ms..=self.longest_ms
    }

    /// Adds a stream if its wait is around the p95.
    pub(crate) fn add(&mut self, report: &StreamReport) {
        if report.ttft_ms.is_some_and(|ms| self.waits_ms().contains(&ms)) {
            let phases = Phases::of(report);
            let length = |(_, phase): (_, Option<Phase>)| match phase {
                Some(phase) => phases.get(phase).unwrap_or_default(),
                None => phases.not_visible_ms,
            };
            self.streams.push(PARTS.map(length));
        }
    }

    /// `None` with too few streams.
    pub(crate) fn answer(self) -> Option<AroundP95> {
        let n = self.streams.len();
        if n < FEWEST {
            return None;
        }
        let mean = |part: usize| self.streams.iter().map(|parts| parts[part]).sum::<f64>() / n as f64;
        let means: [f64; PARTS.len()] = std::array::from_fn(mean);
        let ttft_mean_ms = means.iter().sum();
        let largest = self.largest(&means);
        let part =
            |(at, &mean_ms): (usize, &f64)| MeanPart { phase: PARTS[at].0, mean_ms: to_thousandth(mean_ms) };
        Some(AroundP95 {
            n: n as u64,
            ttft_mean_ms: to_thousandth(ttft_mean_ms),
            parts: means.iter().enumerate().map(part).filter(|part| part.mean_ms > 0.0).collect(),
            largest: largest.map(|at| PARTS[at].0),
            text: largest.map(|at| text(PARTS[at].0, [means[at], ttft_mean_ms], n as u64)),
        })
    }

    /// Index of the largest part. `None` if the mean difference to the second largest is within its error.
    fn largest(&self, means: &[f64; PARTS.len()]) -> Option<usize> {
        let mut order: [usize; PARTS.len()] = std::array::from_fn(|part| part);
        order.sort_by(|one, other| means[*other].total_cmp(&means[*one]));
        let [first, second, ..] = order;
        let difference = means[first] - means[second];
        let n = self.streams.len() as f64;
        let squares = self.streams.iter().map(|parts| (parts[first] - parts[second] - difference).powi(2));
        let variance = squares.sum::<f64>() / (n - 1.0);
        (difference > Z_95 * (variance / n).sqrt()).then_some(first)
    }
}

fn text(largest: PhaseName, [part_ms, wait_ms]: [f64; 2], n: u64) -> String {
    let part = match largest {
        PhaseName::Dns => "the DNS lookup",
        PhaseName::Connect => "the connection setup",
        PhaseName::App => "the app",
        PhaseName::ModelCall => "the way to the model",
        PhaseName::ServerQueue => "the queue",
        PhaseName::Prefill => "prefill",
        PhaseName::Server => "the server",
        PhaseName::Network => "the network",
        PhaseName::MainThread => "the main thread",
        PhaseName::Reasoning => "reasoning",
        PhaseName::Paint => "paint",
        PhaseName::NotReported => "not reported by the server",
    };
    let (part_text, wait_text) = (seconds(part_ms), seconds(wait_ms));
    // One unit for both: "2.1 of 3.4 s".
    let part_text = match (part_text.split_once(' '), wait_text.split_once(' ')) {
        (Some((number, unit)), Some((_, of))) if unit == of => number,
        _ => &part_text,
    };
    format!(
        "Around p95 the largest part of the wait is {part}: {part_text} of {wait_text} on average (n = {}).",
        grouped(n)
    )
}

/// The parts of the wait for the first token. The last one is what no phase explains.
const PARTS: [(PhaseName, Option<Phase>); 10] = [
    (PhaseName::Dns, Some(Phase::Dns)),
    (PhaseName::Connect, Some(Phase::Connect)),
    (PhaseName::App, Some(Phase::App)),
    (PhaseName::ModelCall, Some(Phase::ModelCall)),
    (PhaseName::ServerQueue, Some(Phase::ServerQueue)),
    (PhaseName::Prefill, Some(Phase::Prefill)),
    (PhaseName::Server, Some(Phase::Server)),
    (PhaseName::Network, Some(Phase::Network)),
    (PhaseName::MainThread, Some(Phase::MainThread)),
    (PhaseName::NotReported, None),
];

/// With fewer streams there is no answer.
const FEWEST: usize = 20;
/// Of the normal distribution, for 95 % on both sides.
const Z_95: f64 = 1.96;

/// The most streams that are read from files, the newest first. An open dashboard asks once a minute.
pub(crate) const MOST_IN_FILES: u64 = 100_000;

#[cfg(test)]
mod tests {
    use beacon::ServerTiming;

    use super::*;

    fn waited(ttft_ms: f64, queue_ms: f64, server_ms: f64) -> StreamReport {
        let server = ServerTiming {
            source: "vllm".into(),
            queue_ms: Some(queue_ms),
            ttft_ms: Some(server_ms),
            ..ServerTiming::default()
        };
        StreamReport { ttft_ms: Some(ttft_ms), server: Some(server), ..StreamReport::new("0") }
    }

    fn answer(reports: &[StreamReport]) -> Option<AroundP95> {
        let mut waits = Histogram::default();
        reports.iter().filter_map(|report| report.ttft_ms).for_each(|ms| waits.record(ms));
        let mut streams = StreamsAroundP95::of(&waits)?;
        reports.iter().for_each(|report| streams.add(report));
        streams.answer()
    }

    #[test]
    fn the_largest_part_is_that_of_the_streams_around_p95() {
        let fast = (0..880).map(|_| waited(400.0, 10.0, 350.0));
        let slow = (0..90).map(|_| waited(3_400.0, 2_100.0, 3_000.0));
        let slowest = (0..9).map(|_| waited(60_000.0, 0.0, 1_000.0));
        let found = answer(&fast.chain(slow).chain(slowest).collect::<Vec<_>>()).unwrap();
        assert_eq!((found.n, found.ttft_mean_ms, found.largest), (90, 3_400.0, Some(PhaseName::ServerQueue)));
        let parts: Vec<_> = found.parts.iter().map(|part| (part.phase, part.mean_ms)).collect();
        let expected = [PhaseName::ServerQueue, PhaseName::Prefill, PhaseName::Network];
        assert_eq!(parts, expected.into_iter().zip([2_100.0, 900.0, 400.0]).collect::<Vec<_>>());
        let text = "Around p95 the largest part of the wait is the queue: 2.1 of 3.4 s on average (n = 90).";
        assert_eq!(found.text.as_deref(), Some(text));
    }

    #[test]
    fn an_unreported_wait_is_one_part_of_it() {
        let silent = StreamReport { ttft_ms: Some(1_200.0), ..StreamReport::new("0") };
        let found = answer(&vec![silent; 30]).unwrap();
        let [MeanPart { phase: PhaseName::NotReported, mean_ms: 1_200.0 }] = found.parts[..] else {
            panic!("{found:?}")
        };
        assert!(found.text.unwrap().contains("is not reported by the server: 1.2 of 1.2 s"));
    }

    #[test]
    fn a_part_that_rounds_to_nothing_is_left_out() {
        let found = answer(&vec![waited(1_200.000_2, 100.0, 1_200.0); 30]).unwrap();
        let parts: Vec<_> = found.parts.iter().map(|part| part.phase).collect();
        assert_eq!(parts, [PhaseName::ServerQueue, PhaseName::Prefill]);
    }

    #[test]
    fn few_streams_and_close_parts_name_no_largest() {
        assert_eq!(answer(&vec![waited(900.0, 100.0, 800.0); 19]), None);
        assert_eq!(answer(&[]), None);
        let turns = |at: u32| if at.is_multiple_of(2) { 100.0 } else { 710.0 };
        let close: Vec<_> = (0..40).map(|at| waited(810.0, turns(at), 810.0)).collect();
        let found = answer(&close).unwrap();
        assert_eq!((found.n, found.largest, found.text), (40, None, None));
    }
}
