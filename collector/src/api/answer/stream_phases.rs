//! The phases of the wait of one stream, as a field of its report.

use beacon::StreamReport;
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::phase::{Phase, Phases};
use crate::api::answer::percentiles::to_thousandth;
use crate::api::answer::phase_name::PhaseName;

/// One phase of a stream's wait.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct StreamPhase {
    phase: PhaseName,
    ms: f64,
}

/// The phases that the stream tells, in the order of the wait. Those up to the first token add up to `ttft_ms`. `None`
/// without a first token.
pub(crate) fn stream_phases(report: &StreamReport) -> Option<Vec<StreamPhase>> {
    report.ttft_ms?;
    let phases = Phases::of(report);
    let known = |(name, phase): &(PhaseName, Phase)| Some((*name, phases.get(*phase)?));
    let rest = (PhaseName::NotReported, phases.not_visible_ms);
    let rest = Some(rest).filter(|(_, ms)| to_thousandth(*ms) > 0.0);
    let all = BEFORE_TOKEN.iter().filter_map(known).chain(rest).chain(AFTER_TOKEN.iter().filter_map(known));
    Some(all.map(|(phase, ms)| StreamPhase { phase, ms: to_thousandth(ms) }).collect())
}

const BEFORE_TOKEN: [(PhaseName, Phase); 9] = [
    (PhaseName::Dns, Phase::Dns),
    (PhaseName::Connect, Phase::Connect),
    (PhaseName::App, Phase::App),
    (PhaseName::ModelCall, Phase::ModelCall),
    (PhaseName::ServerQueue, Phase::ServerQueue),
    (PhaseName::Prefill, Phase::Prefill),
    (PhaseName::Server, Phase::Server),
    (PhaseName::Network, Phase::Network),
    (PhaseName::MainThread, Phase::MainThread),
];

const AFTER_TOKEN: [(PhaseName, Phase); 2] =
    [(PhaseName::Reasoning, Phase::Reasoning), (PhaseName::Paint, Phase::Paint)];

#[cfg(test)]
mod tests {
    use beacon::{ServerStart, ServerTiming};

    use super::*;

    fn parts(report: &StreamReport) -> Option<Vec<(PhaseName, f64)>> {
        Some(stream_phases(report)?.into_iter().map(|StreamPhase { phase, ms }| (phase, ms)).collect())
    }

    #[test]
    fn the_phases_of_a_stream_add_up_to_its_wait() {
        let server = |starts_from| ServerTiming {
            source: "vllm".into(),
            starts_from,
            queue_ms: Some(200.0),
            ttft_ms: Some(700.0),
            ..ServerTiming::default()
        };
        let waited =
            StreamReport { ttft_ms: Some(1_000.0), ttfv_ms: Some(1_400.0), ..StreamReport::new("0") };
        let told = StreamReport { server: Some(server(Some(ServerStart::Arrival))), ..waited.clone() };
        let expected = [
            (PhaseName::ServerQueue, 200.0),
            (PhaseName::Prefill, 500.0),
            (PhaseName::Network, 300.0),
            (PhaseName::Reasoning, 400.0),
        ];
        assert_eq!(parts(&told).unwrap(), expected);
        // Without the queue it is unknown what lay between the server and the page.
        let unknown_queue = ServerTiming { queue_ms: None, ..server(Some(ServerStart::Scheduled)) };
        let expected =
            [(PhaseName::Prefill, 700.0), (PhaseName::NotReported, 300.0), (PhaseName::Reasoning, 400.0)];
        assert_eq!(parts(&StreamReport { server: Some(unknown_queue), ..waited.clone() }).unwrap(), expected);
        assert_eq!(
            parts(&waited).unwrap(),
            [(PhaseName::NotReported, 1_000.0), (PhaseName::Reasoning, 400.0)]
        );
        assert_eq!(parts(&StreamReport { ttft_ms: None, ..waited }), None);
    }
}
