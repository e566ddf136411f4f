//! Bucket edges of Prometheus histograms at the configured targets, beside the edges that every collector has. An alert
//! rule compares the share of streams below an edge, which is exact, with its limit.

use crate::aggregate::metric::Metric;
use crate::config::Config;
use crate::config::targets::Targets;

/// Edges in seconds, by metric. Collectors whose histograms are summed must have the same targets.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OwnEdges {
    /// Of the times to first token.
    first_token: Vec<f64>,
    /// Of the end-to-end time.
    end: Vec<f64>,
}

impl OwnEdges {
    /// The limits of all alerts on waits. If there are too many, targets come before their multiples, and configured
    /// targets before default ones.
    pub(crate) fn of(config: &Config) -> Self {
        let mut edges = Self::default();
        let targets: Vec<_> = config.all_targets().collect();
        for (p50, p95, p99) in FACTORS {
            for targets in &targets {
                let Targets { ttft_p50_ms, ttft_p95_ms, ttft_p99_ms, .. } = targets;
                add(
                    &mut edges.first_token,
                    Metric::Ttfv,
                    [(ttft_p50_ms, p50), (ttft_p95_ms, p95), (ttft_p99_ms, p99)],
                );
                let Targets { e2e_p50_ms, e2e_p95_ms, e2e_p99_ms, .. } = targets;
                add(&mut edges.end, Metric::E2e, [(e2e_p50_ms, p50), (e2e_p95_ms, p95), (e2e_p99_ms, p99)]);
            }
        }
        edges.first_token.sort_by(f64::total_cmp);
        edges.end.sort_by(f64::total_cmp);
        edges
    }

    /// The own edges of a metric, lowest first.
    pub(crate) fn of_metric(&self, metric: Metric) -> &[f64] {
        match metric {
            Metric::Ttft | Metric::Ttfv => &self.first_token,
            Metric::E2e => &self.end,
            _ => &[],
        }
    }

    /// All edges of an exported metric, lowest first.
    pub(crate) fn all(&self, metric: Metric) -> Vec<f64> {
        let common = metric.definition().export.iter().flat_map(|export| export.edges);
        let mut all: Vec<_> = common.chain(self.of_metric(metric)).copied().collect();
        all.sort_by(f64::total_cmp);
        all
    }
}

fn add(edges: &mut Vec<f64>, metric: Metric, limits: [(&Option<f64>, &[f64]); 3]) {
    let common = metric.export().edges;
    for (target_ms, factors) in limits {
        for seconds in target_ms.iter().flat_map(|ms| factors.iter().map(move |factor| ms * factor / 1_000.0))
        {
            if edges.len() < MOST_EDGES && !common.contains(&seconds) && !edges.contains(&seconds) {
                edges.push(seconds);
            }
        }
    }
}

/// Multiples of the p50, p95 and p99 targets that alerts compare waits with.
const FACTORS: [(&[f64], &[f64], &[f64]); 2] = [(&[1.0], &[1.0], &[1.0]), (&[], &[1.5, 2.0], &[2.0])];

/// Each edge is one more line for each series.
const MOST_EDGES: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_between_two_edges_has_an_edge_of_its_own() {
        let mut config = Config::default();
        let targets = Targets { ttft_p95_ms: Some(1_700.0), ..Targets::default() };
        config.targets.insert("chat".to_owned(), targets.into());
        let edges = OwnEdges::of(&config);
        for seconds in [1.7, 2.55, 3.4] {
            assert!(edges.of_metric(Metric::Ttfv).contains(&seconds), "{edges:?}");
        }
        assert!(!edges.of_metric(Metric::Ttfv).contains(&2.0), "every collector has it");
        assert!(edges.all(Metric::Ttft).is_sorted());
        assert_eq!(edges.of_metric(Metric::Tpot), [] as [f64; 0]);
    }

    #[test]
    fn the_number_of_own_edges_is_bounded() {
        let mut config = Config::default();
        for n in 0..100 {
            let targets = Targets { ttft_p95_ms: Some(1_001.0 + f64::from(n)), ..Targets::default() };
            config.targets.insert(format!("use case {n}"), targets.into());
        }
        assert_eq!(OwnEdges::of(&config).of_metric(Metric::Ttfv).len(), MOST_EDGES);
    }
}
