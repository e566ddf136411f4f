//! A fact: what one layer of the backend measured of one stream. The collector adds facts to the report of the stream,
//! in any order with the same result.

use beacon::record::Record;
use beacon::{Fields, LayerEnd, LayerTiming, Layers, StreamReport};

use crate::time::to_microsecond;

/// What a layer measured of the stream whose response has this id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServerFact {
    /// Name of the site.
    pub(crate) site: String,
    /// The id that the response itself carries. Empty if the fact names only its trace.
    pub(crate) response_id: String,
    pub(crate) layer: Layer,
    pub(crate) timing: LayerTiming,
}

/// A layer of the backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Layer {
    Edge,
    App,
    ModelCall,
    Gateway,
    Engine,
}

impl Layer {
    /// From outside to inside. The index is the number in the journal.
    pub(crate) const ALL: [Self; 5] = [Self::Edge, Self::App, Self::ModelCall, Self::Gateway, Self::Engine];

    /// Its name in requests, answers and reports.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Edge => "edge",
            Self::App => "app",
            Self::ModelCall => "model_call",
            Self::Gateway => "gateway",
            Self::Engine => "engine",
        }
    }

    /// Its timing, if the stream has it.
    pub(crate) const fn of(self, layers: &Layers) -> Option<&LayerTiming> {
        match self {
            Self::Edge => layers.edge.as_ref(),
            Self::App => layers.app.as_ref(),
            Self::ModelCall => layers.model_call.as_ref(),
            Self::Gateway => layers.gateway.as_ref(),
            Self::Engine => layers.engine.as_ref(),
        }
    }

    const fn place(self, layers: &mut Layers) -> &mut Option<LayerTiming> {
        match self {
            Self::Edge => &mut layers.edge,
            Self::App => &mut layers.app,
            Self::ModelCall => &mut layers.model_call,
            Self::Gateway => &mut layers.gateway,
            Self::Engine => &mut layers.engine,
        }
    }
}

/// The trace of the outermost layer that names one, else the one that the page saw.
pub(crate) fn trace_id(report: &StreamReport) -> Option<&str> {
    let of_layer = |layer: Layer| layer.of(report.layers.as_ref()?)?.trace_id.as_deref();
    Layer::ALL.into_iter().find_map(of_layer).or(report.trace_id.as_deref())
}

/// Adds the timing of a layer. Of two for the same layer, the one that says more stays, so that their order does not
/// matter. A cached answer has the id of the first one, whose timing is the stream's own. Whether anything changed.
pub(crate) fn add_timing(layers: &mut Layers, layer: Layer, timing: &LayerTiming) -> bool {
    let held = layer.place(layers);
    if held.as_ref().is_some_and(|held| rank(held) >= rank(timing)) {
        return false;
    }
    *held = Some(timing.clone());
    layers.facts = (layers.facts + 1).min(MOST_FACTS);
    true
}

/// Adds all timings of another report of the same stream.
pub(crate) fn add_all(layers: &mut Layers, others: &Layers) {
    for layer in Layer::ALL {
        if let Some(timing) = layer.of(others) {
            add_timing(layers, layer, timing);
        }
    }
    layers.facts = layers.facts.max(others.facts);
}

/// Rounds the times to a microsecond, as the probe does: files of streams have no more.
pub(crate) fn round(timing: &mut LayerTiming) {
    let LayerTiming { queue_ms, prefill_ms, ttft_ms, generation_ms, duration_ms, .. } = timing;
    for ms in [queue_ms, prefill_ms, ttft_ms, generation_ms, duration_ms].into_iter().flatten() {
        *ms = to_microsecond(*ms);
    }
}

/// The same for all layers.
pub(crate) fn round_all(layers: &mut Layers) {
    for layer in Layer::ALL {
        if let Some(timing) = layer.place(layers) {
            round(timing);
        }
    }
}

/// Whether it is of a real answer, number of its values, then its bytes: a total order.
fn rank(timing: &LayerTiming) -> (bool, usize, Vec<u8>) {
    let (mut values, mut bytes) = (0, Vec::new());
    timing.visit(&mut |_, _| values += 1);
    timing.write_record(&mut bytes);
    (!timing.cached, values, bytes)
}

/// Order of the revisions of a stream: by the page's number, and then by the number of facts in it.
pub(crate) fn revision(report: &StreamReport) -> u32 {
    let facts = report.layers.as_ref().map_or(0, |layers| layers.facts.min(MOST_FACTS));
    report.rev.min(u32::MAX >> FACT_BITS) << FACT_BITS | facts
}

/// Revisions of a page without facts, as stores of earlier versions have them.
pub(crate) const fn revision_without_facts(rev: u32) -> u32 {
    if rev > u32::MAX >> FACT_BITS { u32::MAX << FACT_BITS } else { rev << FACT_BITS }
}

/// Whether a revision contains facts.
pub(crate) const fn has_facts(revision: u32) -> bool {
    revision & MOST_FACTS > 0
}

/// How the backend says that a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BackendEnd {
    /// The client left before the end.
    pub(crate) client_gone: bool,
    /// Absent if the backend did not count them.
    pub(crate) tokens: Option<GeneratedTokens>,
}

/// Tokens of one stream by the count of the backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GeneratedTokens {
    pub(crate) all: u64,
    /// Those after the client had left.
    pub(crate) after_gone: u64,
}

impl BackendEnd {
    /// `None` if no layer says how the stream ended. The innermost layer that counted tokens is the nearest to them.
    pub(crate) fn of(layers: &Layers) -> Option<Self> {
        let told = || Layer::ALL.into_iter().rev().filter_map(|layer| layer.of(layers));
        told().find(|timing| timing.ended.is_some())?;
        let client_gone = told().any(|timing| timing.ended == Some(LayerEnd::ClientGone));
        let all = told().find_map(|timing| timing.output_tokens);
        let after_gone = match client_gone {
            true => told().find_map(|timing| timing.tokens_after_gone),
            false => Some(0),
        };
        // Two layers may have counted differently.
        let tokens = |(all, after_gone): (u64, u64)| GeneratedTokens { all: all.max(after_gone), after_gone };
        Some(Self { client_gone, tokens: all.zip(after_gone).map(tokens) })
    }
}

const FACT_BITS: u32 = 6;
const MOST_FACTS: u32 = (1 << FACT_BITS) - 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn timings() -> impl Strategy<Value = (usize, LayerTiming)> {
        let some_ms = || proptest::option::of((0_u32..3).prop_map(f64::from));
        (0..5_usize, "[ab]", some_ms(), some_ms(), some_ms(), any::<bool>()).prop_map(
            |(layer, source, queue_ms, ttft_ms, duration_ms, cached)| {
                let source = source.into();
                (
                    layer,
                    LayerTiming { source, queue_ms, ttft_ms, duration_ms, cached, ..LayerTiming::default() },
                )
            },
        )
    }

    proptest! {
        #[test]
        fn the_order_and_repetition_of_facts_do_not_matter(
            facts in proptest::collection::vec(timings(), 1..12),
            seed in any::<u64>(),
        ) {
            let add = |facts: &[(usize, LayerTiming)]| {
                let mut layers = Layers::default();
                for (layer, timing) in facts {
                    add_timing(&mut layers, Layer::ALL[*layer], timing);
                }
                Layers { facts: 0, ..layers }
            };
            let mut others = [facts.clone(), facts.clone()].concat();
            others.sort_by_key(|(layer, timing)| {
                let bytes = format!("{seed}{layer}{timing:?}");
                crc32fast::hash(bytes.as_bytes())
            });
            prop_assert_eq!(add(&facts), add(&others));
        }
    }

    #[test]
    fn a_real_answer_replaces_a_cached_one() {
        let real = LayerTiming { ttft_ms: Some(400.0), ..LayerTiming::default() };
        let cached = LayerTiming { ttft_ms: Some(5.0), output_tokens: Some(3), cached: true, ..real.clone() };
        let mut layers = Layers::default();
        assert!(add_timing(&mut layers, Layer::Gateway, &cached));
        assert!(add_timing(&mut layers, Layer::Gateway, &real));
        assert!(!add_timing(&mut layers, Layer::Gateway, &cached));
        assert_eq!(layers.gateway, Some(real));
    }

    #[test]
    fn tokens_after_the_client_left_are_known_or_absent() {
        let timing = |ended: &str, output_tokens, tokens_after_gone| {
            let ended = LayerEnd::from_word(ended);
            Some(LayerTiming { ended, output_tokens, tokens_after_gone, ..LayerTiming::default() })
        };
        let of = |app, engine| BackendEnd::of(&Layers { app, engine, ..Layers::default() });
        let end = |client_gone, tokens: Option<(u64, u64)>| {
            let tokens = tokens.map(|(all, after_gone)| GeneratedTokens { all, after_gone });
            Some(BackendEnd { client_gone, tokens })
        };
        assert_eq!(of(timing("", Some(5), None), None), None);
        assert_eq!(of(timing("complete", None, None), None), end(false, None));
        assert_eq!(of(timing("complete", Some(9), None), None), end(false, Some((9, 0))));
        assert_eq!(of(timing("client_gone", Some(9), None), None), end(true, None), "not counted is not 0");
        assert_eq!(of(timing("client_gone", Some(9), Some(0)), None), end(true, Some((9, 0))));
        let engine = timing("complete", Some(20), None);
        assert_eq!(of(timing("client_gone", Some(9), Some(4)), engine.clone()), end(true, Some((20, 4))));
        let engine = timing("client_gone", Some(20), Some(11));
        assert_eq!(of(timing("client_gone", Some(9), Some(4)), engine), end(true, Some((20, 11))));
    }

    #[test]
    fn a_revision_orders_by_the_page_and_then_by_facts() {
        let of = |rev, facts| {
            let layers = Some(Layers { facts, ..Layers::default() });
            revision(&StreamReport { rev, layers, ..StreamReport::new("0") })
        };
        assert!(of(1, 63) < of(2, 0) && of(2, 0) < of(2, 1) && !has_facts(of(2, 0)) && has_facts(of(2, 1)));
        assert_eq!(of(2, 0), revision_without_facts(2));
        assert_eq!(of(u32::MAX, 0), revision_without_facts(u32::MAX));
    }
}
