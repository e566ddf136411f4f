//! A fact: what one layer of the backend measured of one stream. The collector adds facts to the report of the stream,
//! in any order with the same result.

use beacon::record::Record;
use beacon::{Fields, LayerTiming, Layers, StreamReport};

/// What a layer measured of the stream whose response has this id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServerFact {
    /// Name of the site.
    pub(crate) site: String,
    /// The id that the response itself carries.
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

/// Adds the timing of a layer. Of two for the same layer, the one that says more stays, so that their order does not
/// matter. Whether anything changed.
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

/// Number of its values, then its bytes: a total order.
fn rank(timing: &LayerTiming) -> (usize, Vec<u8>) {
    let (mut values, mut bytes) = (0, Vec::new());
    timing.visit(&mut |_, _| values += 1);
    timing.write_record(&mut bytes);
    (values, bytes)
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

const FACT_BITS: u32 = 6;
const MOST_FACTS: u32 = (1 << FACT_BITS) - 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn timings() -> impl Strategy<Value = (usize, LayerTiming)> {
        let some_ms = || proptest::option::of((0_u32..3).prop_map(f64::from));
        (0..5_usize, "[ab]", some_ms(), some_ms(), some_ms()).prop_map(
            |(layer, source, queue_ms, ttft_ms, duration_ms)| {
                let source = source.into();
                (layer, LayerTiming { source, queue_ms, ttft_ms, duration_ms, ..LayerTiming::default() })
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
