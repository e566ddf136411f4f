//! The table of the metrics. Windows, cumulative statistics, queries, exports and the dashboard's selector read it.
//!
//! A metric is a duration or a rate. Durations are milliseconds in reports, windows and answers, and seconds in
//! Prometheus and OTLP. Definitions: `docs/metrics.md`.

use beacon::{Histogram, ServerStart, ServerTiming, StreamReport};

use crate::aggregate::censored_wait::{EndedBy, censored_wait};
use crate::aggregate::phase::{FIELDS_OF_PHASES, Phase};

/// A metric. Its position here is its row in [`METRICS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Metric {
    Ttfv,
    Ttft,
    Ttfp,
    ServerTtft,
    ServerQueue,
    Overhead,
    E2e,
    Generation,
    EngineGeneration,
    Tpot,
    OutputRate,
    InterChunkLatency,
    ServerGeneration,
    /// Time to first token in the browser, if the server's is known too.
    JoinedTtft,
    /// Time to first token on the server, if the browser's is known too.
    JoinedServerTtft,
    AbandonedTtfv,
    FailedTtfv,
    AbandonedTtft,
    FailedTtft,
    PhaseDns,
    PhaseConnect,
    PhaseApp,
    PhaseModelCall,
    PhaseServerQueue,
    PhasePrefill,
    PhaseServer,
    PhaseNetwork,
    PhaseMainThread,
    PhaseReasoning,
    PhasePaint,
}

/// A row of [`METRICS`].
#[derive(Debug)]
pub struct MetricDefinition {
    pub(crate) metric: Metric,
    /// Its name in queries, answers, the dashboard's address and ClickHouse's columns.
    pub id: &'static str,
    /// Its number in stored bytes. Never reuse one.
    pub(crate) stored_as: u8,
    /// Unit of its values in reports, windows and answers.
    pub unit: Unit,
    pub(crate) value: Value,
    /// `None` if users do not wait for it, or if its absence does not mean that the token never came.
    /// Fields on which the value depends, besides [`FIELDS_OF_COUNTS`](super::window_stats::FIELDS_OF_COUNTS).
    pub(crate) reads: &'static [&'static str],
    pub(crate) censored: Option<CensoredMetrics>,
    /// `None` if users cannot select it.
    pub labels: Option<MetricLabels>,
    /// `None` if it is in windows alone.
    pub(crate) export: Option<Export>,
}

/// Unit of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Milliseconds,
    /// Tokens that the provider generated for one stream, per second.
    OutputTokensPerSecond,
}

impl Unit {
    /// End of the names of fields and columns with values of this unit.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::OutputTokensPerSecond => "output_tokens_per_second",
        }
    }

    /// A value in the unit that Prometheus and OTLP have.
    pub(crate) fn to_export(self, value: f64) -> f64 {
        match self {
            // Division makes 100 ms exactly the double `0.1`; multiplication would not.
            Self::Milliseconds => value / 1_000.0,
            Self::OutputTokensPerSecond => value,
        }
    }

    /// The unit of OTLP, in UCUM.
    pub(crate) const fn otlp(self) -> &'static str {
        match self {
            Self::Milliseconds => "s",
            Self::OutputTokensPerSecond => "{token}/s",
        }
    }
}

/// How to read the metric from a report, in its unit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    /// A stream has one value.
    One(fn(&StreamReport) -> Option<f64>),
    /// A stream has many values, which are durations.
    Many(fn(&StreamReport) -> Option<&Histogram>),
}

/// Distributions of the censored waits for a token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CensoredMetrics {
    /// The user stopped the stream, or left.
    pub(crate) abandoned: Metric,
    /// The service failed.
    pub(crate) failed: Metric,
}

/// Words of the dashboard.
#[derive(Debug)]
pub struct MetricLabels {
    /// Label in the selector.
    pub short: &'static str,
    /// Heading.
    pub title: &'static str,
    /// Tooltip.
    pub meaning: &'static str,
    /// Where its values are measured.
    pub source: Source,
    /// What a page needs to measure it. `None` if every probe does: then summaries and Grafana show it too.
    pub requirement: Option<&'static str>,
}

/// Where a metric's values are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Browser,
    Server,
    /// The browser measures the time, the provider counts the tokens.
    BrowserAndTokenCount,
    /// The browser's time minus the server's.
    BrowserAndServer,
}

impl Source {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::Server => "server",
            Self::BrowserAndTokenCount => "browser, with the provider's token count",
            Self::BrowserAndServer => "browser and server",
        }
    }
}

/// A histogram of Prometheus and OTLP.
#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) prometheus: &'static str,
    /// From OpenTelemetry's GenAI conventions if they define the same metric, otherwise our own.
    pub(crate) otlp: &'static str,
    pub(crate) help: &'static str,
    /// Upper bounds, in seconds or tokens per second. They must be the same on every collector, or sums over collectors are wrong.
    pub(crate) edges: &'static [f64],
}

/// All metrics. Users see those that they can select in this order.
pub const METRICS: &[MetricDefinition] = &[
    MetricDefinition {
        metric: Metric::Ttfv,
        id: "ttfv",
        stored_as: 1,
        unit: Unit::Milliseconds,
        value: Value::One(|report| report.ttfv_ms),
        reads: &[],
        censored: Some(CensoredMetrics { abandoned: Metric::AbandonedTtfv, failed: Metric::FailedTtfv }),
        labels: Some(MetricLabels {
            short: "TTFT",
            title: "Time to first visible token",
            meaning: "From the request to the first visible text",
            source: Source::Browser,
            requirement: None,
        }),
        export: Some(Export {
            prometheus: "llm_rum_first_visible_duration_seconds",
            otlp: "llm_rum.first_visible.duration",
            help: "Time from the request to the first visible token, measured in the browser.",
            edges: &FIRST_TOKEN_EDGES,
        }),
    },
    MetricDefinition {
        metric: Metric::Ttft,
        id: "ttft",
        stored_as: 0,
        unit: Unit::Milliseconds,
        value: Value::One(|report| report.ttft_ms),
        reads: &[],
        censored: Some(CensoredMetrics { abandoned: Metric::AbandonedTtft, failed: Metric::FailedTtft }),
        labels: Some(MetricLabels {
            short: "TTFT (any)",
            title: "Time to first token (any kind)",
            meaning: "From the request to the first generated text, reasoning included",
            source: Source::Browser,
            requirement: None,
        }),
        export: Some(Export {
            prometheus: "llm_first_token_duration_seconds",
            otlp: "gen_ai.client.operation.time_to_first_chunk",
            help: "Time from the request to the first generated token, measured in the browser.",
            edges: &FIRST_TOKEN_EDGES,
        }),
    },
    MetricDefinition {
        metric: Metric::Ttfp,
        id: "ttfp",
        stored_as: 9,
        unit: Unit::Milliseconds,
        value: Value::One(|report| report.ttfp_ms),
        reads: &["ttfp_ms"],
        censored: None,
        labels: Some(MetricLabels {
            short: "First paint",
            title: "Time to first painted token",
            meaning: "From the request to the first frame that shows text",
            source: Source::Browser,
            requirement: Some("Needs the probe extension paint()."),
        }),
        export: Some(Export {
            prometheus: "llm_rum_first_paint_duration_seconds",
            otlp: "llm_rum.first_paint.duration",
            help: "Time from the request to the first frame that shows the first visible token.",
            edges: &FIRST_TOKEN_EDGES,
        }),
    },
    MetricDefinition {
        metric: Metric::ServerTtft,
        id: "server_ttft",
        stored_as: 5,
        unit: Unit::Milliseconds,
        value: Value::One(|report| report.server.as_ref()?.ttft_ms),
        reads: &[],
        censored: None,
        labels: Some(MetricLabels {
            short: "Server TTFT",
            title: "Server TTFT",
            meaning: "Server-reported TTFT (only streams that include it)",
            source: Source::Server,
            requirement: SERVER_TIMING,
        }),
        export: Some(Export {
            prometheus: "llm_rum_server_first_token_duration_seconds",
            otlp: "gen_ai.server.time_to_first_token",
            help: "Time to first token, measured by the server.",
            edges: &FIRST_TOKEN_EDGES,
        }),
    },
    MetricDefinition {
        metric: Metric::ServerQueue,
        id: "server_queue",
        stored_as: 16,
        unit: Unit::Milliseconds,
        value: Value::One(|report| report.server.as_ref()?.queue_ms),
        reads: &["server_queue_ms"],
        censored: None,
        labels: Some(MetricLabels {
            short: "Server queue",
            title: "Server queue time",
            meaning: "Wait in the server's queue (only streams that include it)",
            source: Source::Server,
            requirement: SERVER_TIMING,
        }),
        export: Some(Export {
            prometheus: "llm_rum_server_queue_seconds",
            otlp: "llm_rum.server.queue.duration",
            help: "Wait in the server's queue, measured by the server; only streams with this figure.",
            edges: &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0],
        }),
    },
    MetricDefinition {
        metric: Metric::Overhead,
        id: "overhead",
        stored_as: 7,
        unit: Unit::Milliseconds,
        value: Value::One(|report| report.overhead_ms().map(|overhead_ms| overhead_ms.max(0.0))),
        reads: &[],
        censored: None,
        labels: Some(MetricLabels {
            short: "Overhead",
            title: "Network overhead",
            meaning: "Browser TTFT minus server TTFT, per stream",
            source: Source::BrowserAndServer,
            requirement: SERVER_TIMING,
        }),
        export: Some(Export {
            prometheus: "llm_rum_first_token_overhead_seconds",
            otlp: "llm_rum.first_token.overhead",
            help: "Browser minus server time to first token, of the same stream.",
            edges: &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0],
        }),
    },
    MetricDefinition {
        metric: Metric::E2e,
        id: "e2e",
        stored_as: 2,
        unit: Unit::Milliseconds,
        value: Value::One(|report| report.e2e_ms),
        reads: &[],
        censored: None,
        labels: Some(MetricLabels {
            short: "End to end",
            title: "End-to-end time",
            meaning: "From the request to the last generated text",
            source: Source::Browser,
            requirement: None,
        }),
        export: Some(Export {
            prometheus: "llm_request_duration_seconds",
            otlp: "gen_ai.client.operation.duration",
            help: "Time from the request to the last generated token, measured in the browser.",
            edges: &DURATION_EDGES,
        }),
    },
    MetricDefinition {
        metric: Metric::Generation,
        id: "generation",
        stored_as: 15,
        unit: Unit::Milliseconds,
        value: Value::One(|report| Some(report.e2e_ms? - report.ttft_ms?)),
        reads: &[],
        censored: None,
        labels: Some(MetricLabels {
            short: "Generation",
            title: "Token generation time",
            meaning: "From the first to the last generated text",
            source: Source::Browser,
            requirement: None,
        }),
        export: Some(Export {
            prometheus: "llm_rum_token_generation_seconds",
            otlp: "llm_rum.token_generation.duration",
            help: "Time from the first to the last generated token, measured in the browser.",
            edges: &DURATION_EDGES,
        }),
    },
    MetricDefinition {
        metric: Metric::EngineGeneration,
        id: "engine_generation",
        stored_as: 17,
        unit: Unit::Milliseconds,
        value: Value::One(|report| engine_generation_ms(report.server.as_ref()?)),
        reads: &["server_starts_from", "server_queue_ms", "server_generation_ms"],
        censored: None,
        labels: Some(MetricLabels {
            short: "Engine",
            title: "Generation duration on the server",
            meaning: "From the start of prefill to the last token, without the queue",
            source: Source::Server,
            requirement: SERVER_TIMING,
        }),
        export: Some(Export {
            prometheus: "llm_generation_duration_seconds",
            otlp: "llm_rum.server.inference.duration",
            help: "Time from the start of prefill to the last token, without the queue, measured by the server; \
                   only streams whose server timing excludes the queue or says how long it was.",
            edges: &DURATION_EDGES,
        }),
    },
    MetricDefinition {
        metric: Metric::Tpot,
        id: "tpot",
        stored_as: 3,
        unit: Unit::Milliseconds,
        value: Value::One(|report| report.tpot_ms),
        reads: &["tpot_ms"],
        censored: None,
        labels: Some(MetricLabels {
            short: "TPOT",
            title: "Time per output token",
            meaning: "After the first token, by the provider's token count",
            source: Source::BrowserAndTokenCount,
            requirement: None,
        }),
        export: Some(Export {
            prometheus: "llm_rum_time_per_output_token_seconds",
            otlp: "llm_rum.time_per_output_token",
            help: "Time per output token after the first, based on the provider's token count.",
            edges: &[0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.2, 0.5, 1.0],
        }),
    },
    MetricDefinition {
        metric: Metric::OutputRate,
        id: "output_rate",
        stored_as: 18,
        unit: Unit::OutputTokensPerSecond,
        value: Value::One(|report| report.tpot_ms.filter(|ms| *ms > 0.0).map(|ms| 1_000.0 / ms)),
        reads: &["tpot_ms"],
        censored: None,
        labels: Some(MetricLabels {
            short: "Output rate",
            title: "Output tokens per second",
            meaning: "Output tokens of a stream per second after the first, by the provider's token count",
            source: Source::BrowserAndTokenCount,
            requirement: None,
        }),
        export: Some(Export {
            prometheus: "llm_rum_output_tokens_per_second",
            otlp: "llm_rum.output_rate",
            help: "Output tokens of a stream per second after the first, based on the provider's token count.",
            edges: &OUTPUT_RATE_EDGES,
        }),
    },
    MetricDefinition {
        metric: Metric::InterChunkLatency,
        id: "inter_chunk_latency",
        stored_as: 4,
        unit: Unit::Milliseconds,
        value: Value::Many(|report| report.gaps.as_ref()),
        reads: &["gaps"],
        censored: None,
        labels: Some(MetricLabels {
            short: "Inter-chunk",
            title: "Inter-chunk latency",
            meaning: "Time between two reads that carried generated text",
            source: Source::Browser,
            requirement: None,
        }),
        export: Some(Export {
            prometheus: "llm_rum_inter_chunk_latency_seconds",
            otlp: "gen_ai.client.operation.time_per_output_chunk",
            help: "Time between two reads that carried generated text.",
            edges: &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0],
        }),
    },
    MetricDefinition {
        metric: Metric::ServerGeneration,
        id: "server_generation",
        stored_as: 14,
        value: Value::One(|report| report.server.as_ref()?.generation_ms),
        reads: &["server_generation_ms"],
        export: Some(Export {
            prometheus: "llm_rum_server_token_generation_seconds",
            otlp: "llm_rum.server.token_generation.duration",
            help: "Time from the first to the last token, measured by the server; only streams with this figure.",
            edges: &DURATION_EDGES,
        }),
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::JoinedTtft,
        id: "joined_ttft",
        stored_as: 6,
        value: Value::One(|report| report.overhead_ms().and(report.ttft_ms)),
        reads: &[],
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::JoinedServerTtft,
        id: "joined_server_ttft",
        stored_as: 8,
        value: Value::One(|report| report.ttft_ms.and(report.server.as_ref()?.ttft_ms)),
        reads: &[],
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::AbandonedTtfv,
        id: "abandoned_ttfv",
        stored_as: 12,
        value: Value::One(|report| wait_ended_by(EndedBy::User, report, report.ttfv_ms)),
        reads: &[],
        export: Some(Export {
            prometheus: "llm_rum_abandoned_wait_seconds",
            otlp: "llm_rum.abandoned_wait.duration",
            help: "Time from the request to the end of streams abandoned before a visible token.",
            edges: &FIRST_TOKEN_EDGES,
        }),
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::FailedTtfv,
        id: "failed_ttfv",
        stored_as: 13,
        value: Value::One(|report| wait_ended_by(EndedBy::Failure, report, report.ttfv_ms)),
        reads: &[],
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::AbandonedTtft,
        id: "abandoned_ttft",
        stored_as: 10,
        value: Value::One(|report| wait_ended_by(EndedBy::User, report, report.ttft_ms)),
        reads: &[],
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::FailedTtft,
        id: "failed_ttft",
        stored_as: 11,
        value: Value::One(|report| wait_ended_by(EndedBy::Failure, report, report.ttft_ms)),
        reads: &[],
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::PhaseDns,
        id: "phase_dns",
        stored_as: 19,
        value: Value::One(|report| Phase::Dns.of(report)),
        reads: FIELDS_OF_PHASES,
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::PhaseConnect,
        id: "phase_connect",
        stored_as: 20,
        value: Value::One(|report| Phase::Connect.of(report)),
        reads: FIELDS_OF_PHASES,
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::PhaseApp,
        id: "phase_app",
        stored_as: 28,
        value: Value::One(|report| Phase::App.of(report)),
        reads: FIELDS_OF_PHASES,
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::PhaseModelCall,
        id: "phase_model_call",
        stored_as: 29,
        value: Value::One(|report| Phase::ModelCall.of(report)),
        reads: FIELDS_OF_PHASES,
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::PhaseServerQueue,
        id: "phase_server_queue",
        stored_as: 21,
        value: Value::One(|report| Phase::ServerQueue.of(report)),
        reads: FIELDS_OF_PHASES,
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::PhasePrefill,
        id: "phase_prefill",
        stored_as: 22,
        value: Value::One(|report| Phase::Prefill.of(report)),
        reads: FIELDS_OF_PHASES,
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::PhaseServer,
        id: "phase_server",
        stored_as: 23,
        value: Value::One(|report| Phase::Server.of(report)),
        reads: FIELDS_OF_PHASES,
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::PhaseNetwork,
        id: "phase_network",
        stored_as: 24,
        value: Value::One(|report| Phase::Network.of(report)),
        reads: FIELDS_OF_PHASES,
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::PhaseMainThread,
        id: "phase_main_thread",
        stored_as: 25,
        value: Value::One(|report| Phase::MainThread.of(report)),
        reads: FIELDS_OF_PHASES,
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::PhaseReasoning,
        id: "phase_reasoning",
        stored_as: 26,
        value: Value::One(|report| Phase::Reasoning.of(report)),
        reads: &[],
        ..INTERNAL
    },
    MetricDefinition {
        metric: Metric::PhasePaint,
        id: "phase_paint",
        stored_as: 27,
        value: Value::One(|report| Phase::Paint.of(report)),
        reads: &["ttfp_ms"],
        ..INTERNAL
    },
];

/// Metrics that users can select.
pub(crate) fn selectable() -> impl Iterator<Item = Metric> {
    METRICS.iter().filter(|definition| definition.labels.is_some()).map(|definition| definition.metric)
}

/// Metrics that every probe measures.
pub(crate) fn measured_by_default() -> impl Iterator<Item = &'static MetricDefinition> {
    let is_default = |labels: &MetricLabels| labels.requirement.is_none();
    METRICS.iter().filter(move |definition| definition.labels.as_ref().is_some_and(is_default))
}

/// Metrics that are histograms of Prometheus and OTLP.
pub(crate) fn exported() -> impl Iterator<Item = (&'static MetricDefinition, &'static Export)> {
    METRICS.iter().filter_map(|definition| Some((definition, definition.export.as_ref()?)))
}

impl Metric {
    pub(crate) const ALL: [Self; METRICS.len()] = {
        let mut all = [Self::Ttfv; METRICS.len()];
        let mut row = 0;
        while row < METRICS.len() {
            all[row] = METRICS[row].metric;
            assert!(all[row] as usize == row, "`METRICS` has the order of `Metric`");
            row += 1;
        }
        all
    };

    pub(crate) const fn definition(self) -> &'static MetricDefinition {
        &METRICS[self as usize]
    }

    pub(crate) const fn id(self) -> &'static str {
        self.definition().id
    }

    /// The metric with this number in stored bytes.
    pub(crate) fn of_stored(number: u8) -> Option<Self> {
        METRICS.iter().find(|definition| definition.stored_as == number).map(|definition| definition.metric)
    }

    /// Its histogram in Prometheus and OTLP.
    ///
    /// # Panics
    /// If it has none.
    pub(crate) const fn export(self) -> &'static Export {
        self.definition().export.as_ref().expect("the metric is exported")
    }

    pub(crate) const fn censored(self) -> Option<CensoredMetrics> {
        self.definition().censored
    }

    /// Distributions that a query for it has to read.
    pub(crate) fn with_censored(self) -> Vec<Self> {
        let censored = self.censored().map(|CensoredMetrics { abandoned, failed }| [abandoned, failed]);
        [self].into_iter().chain(censored.into_iter().flatten()).collect()
    }
}

impl MetricDefinition {
    /// Whether streams can end before it, so that its percentiles have an adjusted form.
    #[must_use]
    pub const fn has_censored_waits(&self) -> bool {
        self.censored.is_some()
    }

    /// The only value of a report. `None` if the report does not have it, and if a report has many.
    pub(crate) fn value(&self, report: &StreamReport) -> Option<f64> {
        match self.value {
            Value::One(of) => of(report),
            Value::Many(_) => None,
        }
    }
}

/// Time from the start of prefill to the last token. `None` if the queue is part of the server's figures and its length
/// is not known: the time from arrival would then pass for the engine's work.
fn engine_generation_ms(server: &ServerTiming) -> Option<f64> {
    let to_first_token_ms = match (server.starts_from, server.queue_ms) {
        (Some(ServerStart::Scheduled | ServerStart::Prefill), _) => server.ttft_ms?,
        (Some(ServerStart::Arrival) | None, Some(queue_ms)) => server.ttft_ms? - queue_ms,
        (Some(ServerStart::Arrival) | None, None) => return None,
    };
    let generation_ms = server.generation_ms?;
    (to_first_token_ms >= 0.0).then_some(to_first_token_ms + generation_ms)
}

fn wait_ended_by(by: EndedBy, report: &StreamReport, reached_ms: Option<f64>) -> Option<f64> {
    censored_wait(report, reached_ms).filter(|(ended_by, _)| *ended_by == by).map(|(_, wait_ms)| wait_ms)
}

/// A distribution that users cannot select. It is part of another figure, or only exported.
const INTERNAL: MetricDefinition = MetricDefinition {
    metric: Metric::Ttfv,
    id: "",
    stored_as: u8::MAX,
    unit: Unit::Milliseconds,
    value: Value::One(|_| None),
    reads: &[],
    censored: None,
    labels: None,
    export: None,
};

const SERVER_TIMING: Option<&str> =
    Some("Needs server timing: see “Time to first token: browser vs. server”.");

/// Dense where chat latencies are. There are edges at 1, 1.5 and 2 times every p95 target and at twice every
/// p99 target, so that alerts can count the streams on one side of an edge.
pub(crate) const FIRST_TOKEN_EDGES: [f64; 18] =
    [0.05, 0.1, 0.2, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.25, 3.0, 4.0, 5.0, 7.5, 10.0, 20.0, 30.0, 60.0];
/// With edges at the default reading speeds and at the rates of the default targets.
const OUTPUT_RATE_EDGES: [f64; 17] = [
    1.0, 2.0, 5.0, 10.0, 12.5, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 150.0, 200.0, 500.0, 1_000.0,
];
const DURATION_EDGES: [f64; 11] = [0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0, 45.0, 60.0, 120.0, 300.0];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_metrics_share_a_name_or_a_number() {
        let unique = |names: Vec<String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
        assert!(unique(METRICS.iter().map(|definition| definition.id.to_owned()).collect()));
        assert!(unique(METRICS.iter().map(|definition| definition.stored_as.to_string()).collect()));
        assert!(unique(exported().map(|(_, export)| export.prometheus.to_owned()).collect()));
        assert!(unique(exported().map(|(_, export)| export.otlp.to_owned()).collect()));
    }

    #[test]
    fn each_metric_names_its_source() {
        for definition in METRICS {
            let (Some(labels), Some(export)) = (&definition.labels, &definition.export) else { continue };
            let (is_browsers, is_servers) =
                (export.help.contains("in the browser"), export.help.contains("by the server"));
            match labels.source {
                Source::Browser => assert!(!is_servers, "{}", definition.id),
                Source::Server => assert!(is_servers && !is_browsers, "{}", definition.id),
                Source::BrowserAndTokenCount => {
                    assert!(export.help.contains("token count"), "{}", definition.id);
                }
                Source::BrowserAndServer => {
                    assert!(export.help.contains("Browser minus server"), "{}", definition.id);
                }
            }
        }
    }

    #[test]
    fn the_docs_name_every_metric() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/");
        let read = |page: &str| std::fs::read_to_string(format!("{docs}{page}")).unwrap();
        let (queries, prometheus, otlp) =
            (read("query-parameters.md"), read("prometheus.md"), read("otlp.md"));
        for id in selectable().map(Metric::id) {
            assert!(queries.contains(&format!("`{id}`")), "{id} in query-parameters.md");
        }
        for (_, export) in exported() {
            assert!(prometheus.contains(&format!("`{}`", export.prometheus)), "{}", export.prometheus);
            assert!(
                otlp.contains(&format!("| `{}` | `{}`", export.otlp, export.prometheus)),
                "{}",
                export.otlp
            );
        }
    }
}
