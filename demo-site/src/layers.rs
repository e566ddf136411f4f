//! What the layers of the scripted backend measured of one stream: the edge, the app, its call of the model, a gateway
//! and the engine. The script passes their moments.

use std::time::Duration;

use beacon::{LayerEnd, LayerTiming, Layers, ServerStart};

use crate::event::Moments;
use crate::plan::{Act, Step};

/// How a response ended for its backend.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    /// Time of the end, in milliseconds since the request.
    pub at_ms: f64,
    pub how: LayerEnd,
    /// Tokens that the engine generated after the client had left.
    pub after_gone: u64,
}

/// The timings of all layers. `None` if the script names no layers.
pub(crate) fn layers(moments: &Moments, ended: Ended) -> Option<Layers> {
    let Moments { called_ms, gateway_ms, engine_ms, scheduled_ms, first_token_ms, last_token_ms, .. } =
        *moments;
    let Ended { at_ms, how, after_gone } = ended;
    let is_gone = how == LayerEnd::ClientGone;
    let since = |source: &'static str, start_ms: f64| LayerTiming {
        source: source.into(),
        starts_from: Some(ServerStart::Arrival),
        ttft_ms: first_token_ms.map(|first_ms| first_ms - start_ms),
        duration_ms: Some(at_ms - start_ms),
        ended: Some(how),
        ..LayerTiming::default()
    };
    let called_ms = called_ms?;
    let engine = engine_ms.map(|engine_ms| LayerTiming {
        queue_ms: scheduled_ms.map(|scheduled_ms| scheduled_ms - engine_ms),
        prefill_ms: scheduled_ms.zip(first_token_ms).map(|(scheduled_ms, first_ms)| first_ms - scheduled_ms),
        generation_ms: first_token_ms.map(|first_ms| last_token_ms - first_ms),
        output_tokens: Some(moments.output_tokens + after_gone),
        tokens_after_gone: is_gone.then_some(after_gone),
        ..since("demo-engine", engine_ms)
    });
    let gateway = gateway_ms.map(|gateway_ms| since("demo-gateway", gateway_ms));
    // Like a proxy that logs how long a request took.
    let edge = LayerTiming { source: "demo-edge".into(), duration_ms: Some(at_ms), ..LayerTiming::default() };
    let facts = 3 + u32::from(gateway.is_some()) + u32::from(engine.is_some());
    Some(Layers {
        edge: Some(edge),
        app: Some(since("demo-app", 0.0)),
        model_call: Some(since("demo-app", called_ms)),
        gateway,
        engine,
        facts,
    })
}

/// Tokens of the steps that are left, up to this time.
pub(crate) fn tokens_until(left: &[Step], until: Duration) -> u64 {
    let tokens = |step: &Step| match &step.act {
        Act::Make(event) => u64::from(event.tokens),
        _ => 0,
    };
    left.iter().take_while(|step| step.at <= until).map(tokens).sum()
}

/// Name and timing of each layer.
pub(crate) fn named(layers: &Layers) -> impl Iterator<Item = (&'static str, &LayerTiming)> {
    let Layers { edge, app, model_call, gateway, engine, facts: _ } = layers;
    let all =
        [("edge", edge), ("app", app), ("model_call", model_call), ("gateway", gateway), ("engine", engine)];
    all.into_iter().filter_map(|(name, timing)| Some((name, timing.as_ref()?)))
}
