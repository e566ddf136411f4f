//! Splits the wait for the first token into phases, as far as the page and the server tell them. Definitions:
//! `docs/phases.md#phases-of-the-wait`.

use std::borrow::Cow;

use beacon::{LayerTiming, ServerStart, ServerTiming, StreamReport};

use crate::report::server_fact::Layer;

/// A phase of the wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Dns,
    /// TLS included.
    Connect,
    /// The backend's own work before and after its call of the model.
    App,
    /// From the call of the model to the engine and back, gateways included.
    ModelCall,
    ServerQueue,
    Prefill,
    /// All of the backend that no further layer splits.
    Server,
    Network,
    MainThread,
    Reasoning,
    Paint,
}

/// Fields on which the phases before the first token depend, besides [`FIELDS_OF_PHASES`].
pub(crate) const FIELDS_OF_WAIT: [&str; 4] = ["first_byte_ms", "ttft_ms", "ttfv_ms", "server_ttft_ms"];

/// Fields on which the phases depend, besides [`FIELDS_OF_COUNTS`](super::window_stats::FIELDS_OF_COUNTS).
pub(crate) const FIELDS_OF_PHASES: &[&str] = &[
    "server_queue_ms",
    "server_starts_from",
    "server_source",
    "layers_edge_ttft_ms",
    "layers_app_ttft_ms",
    "layers_app_queue_ms",
    "layers_app_starts_from",
    "layers_model_call_ttft_ms",
    "layers_gateway_ttft_ms",
    "layers_gateway_queue_ms",
    "layers_engine_ttft_ms",
    "layers_engine_queue_ms",
    "layers_engine_starts_from",
    "page_lifecycle_long_frames_ms",
    "network_timing_dns_ms",
    "network_timing_connect_ms",
    "network_timing_tls_ms",
    "network_timing_wait_ms",
];

/// Fields on which [`LayerTtft`] and the presence of a layer depend.
pub(crate) const FIELDS_OF_LAYERS: [&str; 17] = [
    "server_source",
    "server_ttft_ms",
    "layers_edge_source",
    "layers_edge_ttft_ms",
    "layers_edge_cached",
    "layers_app_source",
    "layers_app_ttft_ms",
    "layers_app_cached",
    "layers_model_call_source",
    "layers_model_call_ttft_ms",
    "layers_model_call_cached",
    "layers_gateway_source",
    "layers_gateway_ttft_ms",
    "layers_gateway_cached",
    "layers_engine_source",
    "layers_engine_ttft_ms",
    "layers_engine_cached",
];

impl Phase {
    const COUNT: usize = Self::Paint as usize + 1;

    /// Its length in milliseconds. `None` if the stream does not tell it, or brought no token to wait for.
    pub(crate) fn of(self, report: &StreamReport) -> Option<f64> {
        report.ttft_ms?;
        Phases::of(report).get(self)
    }
}

/// The phases of one stream, in milliseconds. Those before the first token add up to no more than the wait for it.
pub(crate) struct Phases {
    known: [Option<f64>; Phase::COUNT],
    /// Part of the wait for the first token that no phase explains.
    pub(crate) not_visible_ms: f64,
}

impl Phases {
    pub(crate) fn of(report: &StreamReport) -> Self {
        let visible_ms = visible_ms(report);
        let first_ms = report.ttft_ms.unwrap_or(visible_ms).min(visible_ms);
        let mut phases = Self { known: [None; Phase::COUNT], not_visible_ms: first_ms };
        let layers = LayerWait::of_all(report);
        let innermost = layers.last().copied().unwrap_or_default();
        let queue = phases.take(Phase::ServerQueue, innermost.queue_ms);
        let queued_within = if innermost.starts_after_queue { 0.0 } else { queue.unwrap_or_default() };
        let is_split = innermost.starts_after_queue || innermost.queue_ms.is_some();
        let computed = if is_split { Phase::Prefill } else { Phase::Server };
        phases.take(computed, innermost.ttft_ms.map(|server_ms| server_ms - queued_within));
        phases.take(Phase::ModelCall, between(&layers, &[Layer::ModelCall, Layer::Gateway]));
        phases.take(Phase::App, between(&layers, &[Layer::App]));
        phases.take(Phase::MainThread, main_thread_ms(report));
        phases.take(Phase::Dns, report.network_timing.and_then(|timing| timing.dns_ms));
        phases.take(Phase::Connect, handshakes_ms(report));
        // Otherwise the rest may be a queue that the server does not count.
        let on_the_way_ms = outermost_ms(&layers).map(|backend_ms| {
            first_ms - backend_ms - phases.sum([Phase::MainThread, Phase::Dns, Phase::Connect])
        });
        phases.take(Phase::Network, on_the_way_ms);
        let seen = report.ttft_ms.zip(report.ttfv_ms);
        phases.known[Phase::Reasoning as usize] = seen.map(|(ttft_ms, ttfv_ms)| (ttfv_ms - ttft_ms).max(0.0));
        let painted = report.ttfv_ms.zip(report.ttfp_ms);
        phases.known[Phase::Paint as usize] = painted.map(|(ttfv_ms, ttfp_ms)| (ttfp_ms - ttfv_ms).max(0.0));
        phases
    }

    pub(crate) const fn get(&self, phase: Phase) -> Option<f64> {
        self.known[phase as usize]
    }

    /// Length of these phases together, as far as they are known.
    pub(crate) fn sum<const N: usize>(&self, phases: [Phase; N]) -> f64 {
        phases.into_iter().filter_map(|phase| self.get(phase)).sum()
    }

    /// Takes a phase out of the rest of the wait, at most all of it: clocks of two machines may disagree.
    fn take(&mut self, phase: Phase, ms: Option<f64>) -> Option<f64> {
        let taken = ms.map(|ms| ms.clamp(0.0, self.not_visible_ms));
        self.not_visible_ms -= taken.unwrap_or_default();
        self.known[phase as usize] = taken;
        taken
    }
}

/// What one layer of the backend tells about the wait.
#[derive(Debug, Default, Clone, Copy)]
struct LayerWait {
    layer: Option<Layer>,
    queue_ms: Option<f64>,
    ttft_ms: Option<f64>,
    /// `ttft_ms` does not include the queue.
    starts_after_queue: bool,
}

impl LayerWait {
    /// The layers that tell something, from outside to inside.
    fn of_all(report: &StreamReport) -> Vec<Self> {
        let in_stream = report.server.as_ref().map(|server| {
            Self::new(layer_in_stream(server), server.queue_ms, server.ttft_ms, server.starts_from)
        });
        let of = |layer: Layer| {
            let sent = report.layers.as_ref().and_then(|layers| layer.of(layers));
            let sent = sent.map(|timing: &LayerTiming| {
                Self::new(layer, timing.queue_ms, timing.ttft_ms, timing.starts_from)
            });
            let waits = |wait: &Self| wait.queue_ms.is_some() || wait.ttft_ms.is_some();
            sent.filter(waits).or(in_stream.filter(|wait| wait.layer == Some(layer) && waits(wait)))
        };
        Layer::ALL.into_iter().filter_map(of).collect()
    }

    const fn new(
        layer: Layer,
        queue_ms: Option<f64>,
        ttft_ms: Option<f64>,
        starts_from: Option<ServerStart>,
    ) -> Self {
        let starts_after_queue = matches!(starts_from, Some(ServerStart::Scheduled | ServerStart::Prefill));
        Self { layer: Some(layer), queue_ms, ttft_ms, starts_after_queue }
    }

    /// Time to first token with the queue. `None` if the queue is not known and not included.
    fn with_queue_ms(&self) -> Option<f64> {
        match self.starts_after_queue {
            true => Some(self.ttft_ms? + self.queue_ms?),
            false => self.ttft_ms,
        }
    }
}

/// Time to first token of one layer of the backend, as that layer counts it.
#[derive(Debug, PartialEq)]
pub(crate) struct LayerTtft {
    pub(crate) ms: f64,
    /// Name of the source in the stream. `None` if the backend sent the time to the collector.
    pub(crate) in_stream: Option<Cow<'static, str>>,
}

impl LayerTtft {
    /// What the backend sent stands before what the stream itself carries. An answer from the layer's cache has none: it
    /// says nothing about the layer's own work.
    pub(crate) fn of(report: &StreamReport, layer: Layer) -> Option<Self> {
        if let Some(sent) = report.layers.as_ref().and_then(|layers| layer.of(layers))
            && (sent.cached || sent.ttft_ms.is_some())
        {
            return sent.ttft_ms.filter(|_| !sent.cached).map(|ms| Self { ms, in_stream: None });
        }
        let server = report.server.as_ref().filter(|server| layer_in_stream(server) == layer)?;
        Some(Self { ms: server.ttft_ms?, in_stream: Some(server.source.clone()) })
    }
}

/// What the stream itself carries is the app's if the app wrote it, and otherwise the engine's.
fn layer_in_stream(server: &ServerTiming) -> Layer {
    if server.source == COMMENT { Layer::App } else { Layer::Engine }
}

/// Time to first token of the whole backend with its queue. A proxy in front counts as network.
fn outermost_ms(layers: &[LayerWait]) -> Option<f64> {
    let behind_edge = layers.iter().find(|wait| wait.layer != Some(Layer::Edge));
    behind_edge.or_else(|| layers.first())?.with_queue_ms()
}

/// The part of the wait that these layers have for themselves, without the layers inside. `None` if none of them has a
/// layer inside.
fn between(layers: &[LayerWait], outer: &[Layer]) -> Option<f64> {
    let is_outer = |wait: &LayerWait| wait.layer.is_some_and(|layer| outer.contains(&layer));
    let first = layers.iter().find(|wait| is_outer(wait))?;
    let inside = layers.iter().rev().take_while(|wait| !is_outer(wait)).last()?;
    Some((first.with_queue_ms()? - inside.with_queue_ms()?).max(0.0))
}

/// Source of the timing that a backend writes as a comment.
const COMMENT: &str = "comment";

/// Time until the user saw something. A whole response has only an end.
pub(crate) fn visible_ms(report: &StreamReport) -> f64 {
    report.ttfv_ms.or(report.ttft_ms).or(report.e2e_ms).unwrap_or_default()
}

/// How long the main thread kept the first bytes from the app. Chromium reports long frames. Elsewhere it is the time
/// from the first byte in the browser, by Resource Timing, to the first byte in the app.
fn main_thread_ms(report: &StreamReport) -> Option<f64> {
    if let Some(long_frames_ms) = report.page_lifecycle.and_then(|page| page.long_frames_ms) {
        return Some(long_frames_ms);
    }
    let timing = report.network_timing?;
    // Behind a service worker the browser reports no wait. Then nothing is known of the way either.
    let wait_ms = timing.wait_ms.filter(|wait_ms| *wait_ms > 0.0)?;
    let arrived_ms = timing.dns_ms.unwrap_or_default() + handshakes_ms(report).unwrap_or_default() + wait_ms;
    Some((report.first_byte_ms? - arrived_ms).max(0.0))
}

fn handshakes_ms(report: &StreamReport) -> Option<f64> {
    let timing = report.network_timing?;
    match (timing.connect_ms, timing.tls_ms) {
        (None, None) => None,
        (connect_ms, tls_ms) => Some(connect_ms.unwrap_or_default() + tls_ms.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use beacon::{Layers, NetworkTiming, PageLifecycle};

    use super::*;

    /// A first token after 1 s, painted 20 ms later, over a new connection.
    fn told() -> StreamReport {
        StreamReport {
            ttft_ms: Some(1_000.0),
            ttfv_ms: Some(1_000.0),
            ttfp_ms: Some(1_020.0),
            network_timing: Some(NetworkTiming {
                dns_ms: Some(20.0),
                connect_ms: Some(30.0),
                tls_ms: Some(50.0),
                ..NetworkTiming::default()
            }),
            page_lifecycle: Some(PageLifecycle { long_frames_ms: Some(60.0), ..PageLifecycle::default() }),
            server: server(Some(ServerStart::Arrival), Some(200.0), 600.0),
            ..StreamReport::new("0")
        }
    }

    fn server(starts_from: Option<ServerStart>, queue_ms: Option<f64>, ttft_ms: f64) -> Option<ServerTiming> {
        Some(ServerTiming { starts_from, queue_ms, ttft_ms: Some(ttft_ms), ..ServerTiming::default() })
    }

    /// Dns, connect, queue, prefill, undivided server, network, main thread, reasoning and paint.
    fn phases(report: &StreamReport) -> [Option<f64>; 9] {
        let order = [Phase::Dns, Phase::Connect, Phase::ServerQueue, Phase::Prefill, Phase::Server];
        let after = [Phase::Network, Phase::MainThread, Phase::Reasoning, Phase::Paint];
        let parts: Vec<_> = order.into_iter().chain(after).map(|phase| phase.of(report)).collect();
        parts.try_into().unwrap()
    }

    #[test]
    fn every_phase_has_its_part_of_the_wait() {
        let parts = [20.0, 80.0, 200.0, 400.0, f64::NAN, 240.0, 60.0, 0.0, 20.0];
        assert_eq!(phases(&told()), parts.map(|part: f64| (!part.is_nan()).then_some(part)));
    }

    #[test]
    fn an_unreported_phase_is_absent() {
        let bare = StreamReport { ttft_ms: Some(900.0), ..StreamReport::new("0") };
        assert_eq!(phases(&bare), [None; 9]);
        let without_token = StreamReport { ttft_ms: None, ttfv_ms: None, ttfp_ms: None, ..told() };
        assert_eq!(phases(&without_token), [None; 9]);
    }

    #[test]
    fn a_server_that_names_no_queue_is_not_split() {
        let [_, _, queue, prefill, server, network, ..] =
            phases(&StreamReport { server: server(None, None, 600.0), ..told() });
        assert_eq!((queue, prefill, server, network), (None, None, Some(600.0), Some(240.0)));
    }

    #[test]
    fn an_uncounted_queue_does_not_pass_for_the_network() {
        let after_queue = |queue_ms| server(Some(ServerStart::Scheduled), queue_ms, 600.0);
        let [_, _, _, prefill, _, network, ..] =
            phases(&StreamReport { server: after_queue(None), ..told() });
        assert_eq!((prefill, network), (Some(600.0), None));
        let [_, _, queue, prefill, _, network, ..] =
            phases(&StreamReport { server: after_queue(Some(100.0)), ..told() });
        assert_eq!((queue, prefill, network), (Some(100.0), Some(600.0), Some(140.0)));
    }

    /// App, model call, queue, prefill, undivided server and network of a stream with these layers: the time to first token
    /// of app, model call, gateway and engine, and the engine's queue.
    fn split(times: [Option<f64>; 4], queue_ms: Option<f64>, start: Option<ServerStart>) -> [Option<f64>; 6] {
        let timing = |ttft_ms: f64| LayerTiming { ttft_ms: Some(ttft_ms), ..LayerTiming::default() };
        let [app, model_call, gateway, engine] = times.map(|ttft_ms| ttft_ms.map(timing));
        let engine = engine.map(|engine| LayerTiming { queue_ms, starts_from: start, ..engine });
        let layers = Some(Layers { app, model_call, gateway, engine, ..Layers::default() });
        let report = StreamReport { ttft_ms: Some(1_000.0), layers, ..StreamReport::new("0") };
        [Phase::App, Phase::ModelCall, Phase::ServerQueue, Phase::Prefill, Phase::Server, Phase::Network]
            .map(|phase| phase.of(&report))
    }

    #[test]
    fn each_layer_has_what_the_layers_inside_leave() {
        let ms = Some;
        let all = split([ms(920.0), ms(800.0), ms(790.0), ms(700.0)], ms(300.0), None);
        assert_eq!(all, [ms(120.0), ms(100.0), ms(300.0), ms(400.0), None, ms(80.0)]);
        let without_engine = split([ms(920.0), ms(800.0), None, None], None, None);
        assert_eq!(without_engine, [ms(120.0), None, None, None, ms(800.0), ms(80.0)]);
        let only_app = split([ms(920.0), None, None, None], None, None);
        assert_eq!(only_app, [None, None, None, None, ms(920.0), ms(80.0)]);
        let app_and_engine =
            split([ms(920.0), None, None, ms(400.0)], ms(300.0), Some(ServerStart::Scheduled));
        assert_eq!(app_and_engine, [ms(220.0), None, ms(300.0), ms(400.0), None, ms(80.0)]);
        let unknown_queue = split([ms(920.0), None, None, ms(400.0)], None, Some(ServerStart::Scheduled));
        assert_eq!(
            unknown_queue,
            [None, None, None, ms(400.0), None, ms(80.0)],
            "the app's time may have a queue"
        );
    }

    #[test]
    fn a_layer_in_the_stream_stands_beside_those_that_were_sent() {
        let engine = LayerTiming { ttft_ms: Some(400.0), ..LayerTiming::default() };
        let comment =
            ServerTiming { source: COMMENT.into(), ttft_ms: Some(600.0), ..ServerTiming::default() };
        let report = StreamReport {
            ttft_ms: Some(1_000.0),
            server: Some(comment),
            layers: Some(Layers { engine: Some(engine), ..Layers::default() }),
            ..StreamReport::new("0")
        };
        let parts = [Phase::App, Phase::Server, Phase::Network].map(|phase| phase.of(&report));
        assert_eq!(parts, [Some(200.0), Some(400.0), Some(400.0)]);
    }

    #[test]
    fn a_layer_has_the_time_that_was_sent_before_its_own() {
        let comment =
            ServerTiming { source: COMMENT.into(), ttft_ms: Some(600.0), ..ServerTiming::default() };
        let in_stream = StreamReport { server: Some(comment), ..StreamReport::new("0") };
        let of = |report: &StreamReport, layer| {
            LayerTtft::of(report, layer).map(|ttft| (ttft.ms, ttft.in_stream.is_some()))
        };
        assert_eq!(Layer::ALL.map(|layer| of(&in_stream, layer))[..2], [None, Some((600.0, true))]);
        assert_eq!(of(&in_stream, Layer::Engine), None);
        let app = LayerTiming { ttft_ms: Some(650.0), ..LayerTiming::default() };
        let layers = Some(Layers { app: Some(app), ..Layers::default() });
        let sent = StreamReport { layers, ..in_stream };
        assert_eq!(of(&sent, Layer::App), Some((650.0, false)));
        let mut cached = sent;
        cached.layers.as_mut().and_then(|layers| layers.app.as_mut()).unwrap().cached = true;
        assert_eq!(of(&cached, Layer::App), None, "a cached answer says nothing about the layer's work");
    }

    #[test]
    fn phases_before_the_first_token_never_exceed_the_wait() {
        let boastful = StreamReport { server: server(None, Some(700.0), 9_000.0), ..told() };
        let sum: f64 = phases(&boastful)[..7].iter().flatten().sum();
        assert_eq!(sum, 1_000.0);
    }
}
