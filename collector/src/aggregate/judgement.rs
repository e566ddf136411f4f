//! Compares one stream with the targets of its use case, and names the part of a slow stream that took the longest.
//! Definitions: `docs/slo.md#causes`.

use beacon::{ServerTiming, StreamKind, StreamReport};

use crate::aggregate::metric::Metric;
use crate::aggregate::phase::{Phase, Phases, visible_ms};
use crate::config::targets::Targets;

/// How a stream compares with its targets at the time when it is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// It is intact and met every target that applies to one stream.
    pub(crate) within_slo: bool,
    /// It met its targets of time per output token and of the longest gap. `None` if it has neither figure, or
    /// its use case no such target.
    pub(crate) within_pace: Option<bool>,
    /// Largest part of a wait above its p95 target.
    pub(crate) wait_cause: Option<Cause>,
    /// Most likely reason of a missed pace.
    pub(crate) pace_cause: Option<Cause>,
    /// Windows count answers alone.
    pub(crate) kind: StreamKind,
}

/// Where the time of a slow stream went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// The request waited for its turn on the server.
    ServerQueue,
    /// The server computed the first token.
    ServerCompute,
    /// The server took long, and did not tell its queue from its computing.
    Server,
    /// The model reasoned before it answered.
    Reasoning,
    /// The request or the text was on its way: connection, network, proxy.
    Network,
    /// The page's main thread was busy.
    MainThread,
    /// The model produced its tokens slowly.
    Decode,
    /// No server timing, so the server and the network cannot be told apart.
    NotVisible,
}

impl Cause {
    pub(crate) const ALL: [Self; 8] = [
        Self::ServerQueue,
        Self::ServerCompute,
        Self::Server,
        Self::Reasoning,
        Self::Network,
        Self::MainThread,
        Self::Decode,
        Self::NotVisible,
    ];

    /// Its name in answers and in stored bytes.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ServerQueue => "server_queue",
            Self::ServerCompute => "server_compute",
            Self::Server => "server",
            Self::Reasoning => "reasoning",
            Self::Network => "network",
            Self::MainThread => "main_thread",
            Self::Decode => "decode",
            Self::NotVisible => "not_visible",
        }
    }
}

impl Targets {
    /// The wait that the speed objective measures, and its p95 target in milliseconds.
    pub(crate) fn wait(&self) -> Option<(Metric, f64)> {
        let first = self.ttft_p95_ms.map(|within_ms| (Metric::Ttfv, within_ms));
        first.or_else(|| self.e2e_p95_ms.map(|within_ms| (Metric::E2e, within_ms)))
    }
}

impl Judgement {
    pub(crate) fn of(report: &StreamReport, targets: &Targets) -> Self {
        let within_pace = within_pace(report, targets);
        Self {
            within_slo: targets.is_met_by(report),
            within_pace,
            wait_cause: slow_wait(report, targets).map(|wait| WaitParts::of(report).largest(wait)),
            pace_cause: (within_pace == Some(false)).then(|| pace_cause(report, targets)),
            kind: report.kind(),
        }
    }

    /// Packed into one number, to be remembered for each recent stream.
    pub(crate) const fn to_bits(self) -> u16 {
        let pace = match self.within_pace {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        };
        self.within_slo as u16
            | pace << 1
            | cause_bits(self.wait_cause) << 3
            | cause_bits(self.pace_cause) << 7
            | (self.kind as u16) << 11
    }

    /// The judgement of these [bits](Self::to_bits). `None` if they are not valid.
    pub(crate) fn from_bits(bits: u16) -> Option<Self> {
        let cause = |bits: u16| match bits & 0b1111 {
            0 => Some(None),
            at => Cause::ALL.get(usize::from(at) - 1).copied().map(Some),
        };
        let within_pace = match bits >> 1 & 0b11 {
            0 => None,
            1 => Some(false),
            2 => Some(true),
            _ => return None,
        };
        let (wait_cause, pace_cause) = (cause(bits >> 3)?, cause(bits >> 7)?);
        let kind = *StreamKind::ALL.get(usize::from(bits >> 11))?;
        Some(Self { within_slo: bits & 1 == 1, within_pace, wait_cause, pace_cause, kind })
    }
}

const fn cause_bits(cause: Option<Cause>) -> u16 {
    match cause {
        Some(cause) => cause as u16 + 1,
        None => 0,
    }
}

/// `None` if the stream has no figure with a target.
fn within_pace(report: &StreamReport, targets: &Targets) -> Option<bool> {
    let figures = [(report.tpot_ms, targets.tpot_ms), (report.longest_gap_ms, targets.longest_gap_ms)];
    let mut compared = figures.into_iter().filter_map(|(figure, target)| Some(figure? <= target?)).peekable();
    compared.peek()?;
    Some(compared.all(|is_within| is_within))
}

/// The wait that is above its p95 target, the first visible token before the end.
fn slow_wait(report: &StreamReport, targets: &Targets) -> Option<Metric> {
    let waits = [
        (Metric::Ttfv, report.ttfv_ms, targets.ttft_p95_ms),
        (Metric::E2e, report.e2e_ms, targets.e2e_p95_ms),
    ];
    let is_over = |(_, wait, target): &(Metric, Option<f64>, Option<f64>)| {
        wait.zip(*target).is_some_and(|(wait_ms, target_ms)| wait_ms > target_ms)
    };
    waits.into_iter().find(is_over).map(|(metric, ..)| metric)
}

/// Where the time of a stream until its last generated text went: milliseconds by cause.
struct WaitParts([(Cause, f64); 8]);

impl WaitParts {
    fn of(report: &StreamReport) -> Self {
        let (phases, visible_ms) = (Phases::of(report), visible_ms(report));
        let first_ms = report.ttft_ms.unwrap_or(visible_ms).min(visible_ms);
        Self([
            (Cause::ServerQueue, phases.sum([Phase::ServerQueue])),
            (Cause::ServerCompute, phases.sum([Phase::Prefill])),
            (Cause::Server, phases.sum([Phase::Server, Phase::App, Phase::ModelCall])),
            (Cause::Reasoning, visible_ms - first_ms),
            (Cause::Network, phases.sum([Phase::Dns, Phase::Connect, Phase::Network])),
            (Cause::MainThread, phases.sum([Phase::MainThread])),
            (Cause::Decode, report.e2e_ms.map_or(0.0, |e2e_ms| e2e_ms - visible_ms)),
            (Cause::NotVisible, phases.not_visible_ms),
        ])
    }

    /// The largest part of a wait. Decoding is none of a wait for the first token.
    fn largest(&self, wait: Metric) -> Cause {
        let parts = self.0.into_iter().filter(|(cause, _)| *cause != Cause::Decode || wait == Metric::E2e);
        let larger =
            |largest: (Cause, f64), part: (Cause, f64)| if part.1 > largest.1 { part } else { largest };
        parts.reduce(larger).map_or(Cause::NotVisible, |(cause, _)| cause)
    }
}

fn pace_cause(report: &StreamReport, targets: &Targets) -> Cause {
    let generation_ms = report.e2e_ms.zip(report.ttft_ms).map_or(0.0, |(end, first)| end - first);
    let blocked_ms = report.page_lifecycle.and_then(|page| page.long_frames_ms).unwrap_or_default();
    if generation_ms > 0.0 && blocked_ms >= generation_ms / 2.0 {
        return Cause::MainThread;
    }
    let server = report.server.as_ref();
    if let Some(on_server_ms) = server.and_then(|ServerTiming { generation_ms, .. }| *generation_ms) {
        // Text that the server wrote in less than half the time was held up behind it.
        return if on_server_ms < generation_ms / 2.0 { Cause::Network } else { Cause::Decode };
    }
    let is_slow_throughout = report.tpot_ms.zip(targets.tpot_ms).is_some_and(|(tpot, target)| tpot > target);
    if is_slow_throughout { Cause::Decode } else { Cause::NotVisible }
}

#[cfg(test)]
impl Judgement {
    pub(crate) const WITHIN_SLO: Self = Self {
        within_slo: true,
        within_pace: None,
        wait_cause: None,
        pace_cause: None,
        kind: StreamKind::Answer,
    };
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use beacon::{NetworkTiming, Outcome, PageLifecycle};
    use proptest::prelude::*;

    use super::*;

    /// A chat whose first visible token came after 3 s, over its target of 2 s.
    fn slow() -> StreamReport {
        StreamReport {
            outcome: Outcome::Complete,
            first_byte_ms: Some(2_990.0),
            ttft_ms: Some(3_000.0),
            ttfv_ms: Some(3_000.0),
            e2e_ms: Some(4_000.0),
            ..StreamReport::new("0")
        }
    }

    fn server(queue_ms: Option<f64>, ttft_ms: f64) -> Option<ServerTiming> {
        let source = Cow::Borrowed("vllm");
        Some(ServerTiming { source, queue_ms, ttft_ms: Some(ttft_ms), ..ServerTiming::default() })
    }

    fn wait_cause(report: &StreamReport) -> Option<Cause> {
        Judgement::of(report, &Targets::of("chat")).wait_cause
    }

    #[test]
    fn the_largest_part_of_a_slow_wait_is_its_cause() {
        let blocked = |long_frames_ms| {
            Some(PageLifecycle { long_frames_ms: Some(long_frames_ms), ..PageLifecycle::default() })
        };
        let arrived = |wait_ms| Some(NetworkTiming { wait_ms: Some(wait_ms), ..NetworkTiming::default() });
        let cases = [
            ("queue", StreamReport { server: server(Some(1_800.0), 2_400.0), ..slow() }, Cause::ServerQueue),
            (
                "prefill",
                StreamReport { server: server(Some(200.0), 2_400.0), ..slow() },
                Cause::ServerCompute,
            ),
            ("unsplit", StreamReport { server: server(None, 2_400.0), ..slow() }, Cause::Server),
            ("slow network", StreamReport { server: server(Some(10.0), 300.0), ..slow() }, Cause::Network),
            (
                "long frames",
                StreamReport {
                    server: server(Some(10.0), 300.0),
                    page_lifecycle: blocked(2_500.0),
                    ..slow()
                },
                Cause::MainThread,
            ),
            ("no long frames", StreamReport { network_timing: arrived(200.0), ..slow() }, Cause::MainThread),
            ("service worker", StreamReport { network_timing: arrived(0.0), ..slow() }, Cause::NotVisible),
            ("reasoning", StreamReport { ttft_ms: Some(400.0), ..slow() }, Cause::Reasoning),
            ("nothing known", slow(), Cause::NotVisible),
        ];
        for (name, report, cause) in cases {
            assert_eq!(wait_cause(&report), Some(cause), "{name}");
        }
    }

    #[test]
    fn a_stream_within_its_target_has_no_cause() {
        let fast = StreamReport { ttft_ms: Some(500.0), ttfv_ms: Some(2_000.0), ..slow() };
        assert_eq!(wait_cause(&fast), None);
    }

    #[test]
    fn a_slow_end_may_be_caused_by_decoding() {
        let report = StreamReport { e2e_ms: Some(40_000.0), server: server(Some(100.0), 2_500.0), ..slow() };
        let judgement = Judgement::of(&report, &Targets::of("batch_rag"));
        assert_eq!(judgement.wait_cause, Some(Cause::Decode));
    }

    fn pace(report: &StreamReport) -> (Option<bool>, Option<Cause>) {
        let judgement = Judgement::of(report, &Targets::of("chat"));
        (judgement.within_pace, judgement.pace_cause)
    }

    #[test]
    fn pace_needs_a_figure_and_both_within_target() {
        let with = |tpot_ms, longest_gap_ms| StreamReport { tpot_ms, longest_gap_ms, ..slow() };
        assert_eq!(pace(&with(None, None)), (None, None));
        assert_eq!(pace(&with(Some(80.0), None)), (Some(true), None));
        assert_eq!(pace(&with(Some(80.1), Some(100.0))), (Some(false), Some(Cause::Decode)));
        assert_eq!(pace(&with(Some(40.0), Some(15_000.0))), (Some(false), Some(Cause::NotVisible)));
    }

    #[test]
    fn text_that_the_server_wrote_fast_was_held_up_on_the_way() {
        let generated = |generation_ms| {
            let server = ServerTiming { generation_ms: Some(generation_ms), ..ServerTiming::default() };
            StreamReport { tpot_ms: Some(121.0), server: Some(server), e2e_ms: Some(13_000.0), ..slow() }
        };
        assert_eq!(pace(&generated(3_000.0)).1, Some(Cause::Network));
        assert_eq!(pace(&generated(9_500.0)).1, Some(Cause::Decode));
    }

    proptest! {
        #[test]
        fn a_judgement_is_the_same_after_packing(bits in any::<u16>()) {
            if let Some(judgement) = Judgement::from_bits(bits) {
                prop_assert_eq!(judgement.to_bits(), bits);
            }
        }

        #[test]
        fn parts_of_a_wait_sum_to_the_time_until_the_end(
            times in prop::array::uniform4(0.0..10_000.0_f64),
            known in prop::array::uniform4(prop::option::of(0.0..20_000.0_f64)),
        ) {
            let mut times = times;
            times.sort_by(f64::total_cmp);
            let [_, ttft_ms, ttfv_ms, e2e_ms] = times;
            let [queue_ms, server_ms, long_frames_ms, dns_ms] = known;
            let report = StreamReport {
                ttft_ms: Some(ttft_ms),
                ttfv_ms: Some(ttfv_ms),
                e2e_ms: Some(e2e_ms),
                server: Some(ServerTiming { queue_ms, ttft_ms: server_ms, ..ServerTiming::default() }),
                page_lifecycle: Some(PageLifecycle { long_frames_ms, ..PageLifecycle::default() }),
                network_timing: Some(NetworkTiming { dns_ms, ..NetworkTiming::default() }),
                ..slow()
            };
            let parts = WaitParts::of(&report).0;
            prop_assert!(parts.iter().all(|(_, ms)| *ms >= 0.0), "{parts:?}");
            let sum: f64 = parts.iter().map(|(_, ms)| ms).sum();
            prop_assert!((sum - e2e_ms).abs() < 1e-6, "{parts:?}");
        }
    }
}
