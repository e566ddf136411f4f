//! Chooses an exemplar for each histogram bucket of each series: the newest stored stream in it.

use std::collections::HashMap;

use beacon::StreamReport;

use super::native::Exemplar;
use crate::aggregate::cumulative_stats::bucket_of;
use crate::aggregate::metric::{Metric, MetricDefinition, exported};
use crate::aggregate::own_edges::OwnEdges;
use crate::aggregate::series::Series;
use crate::report::server_fact::trace_id;
use crate::store::query::StoredStream;

/// The newest stream of each bucket that has a recent stream.
#[derive(Default)]
pub(super) struct Exemplars(HashMap<Series, HashMap<(Metric, usize), Exemplar>>);

impl Exemplars {
    /// Chooses from streams sorted newest first. Skips open streams, which are not counted yet, and streams
    /// that count as `other`, because no series has their labels.
    pub(super) fn of(newest: &[StoredStream], own_edges: &OwnEdges) -> Self {
        let edges: Vec<_> =
            exported().map(|(definition, _)| (definition, own_edges.all(definition.metric))).collect();
        let mut exemplars = Self::default();
        for stored in newest {
            if let Ok(report) = serde_json::from_str::<StreamReport>(&stored.json)
                && !report.open
            {
                exemplars.add(&report, stored.received_ms, &edges);
            }
        }
        exemplars
    }

    /// The exemplar of a bucket of a series.
    pub(super) fn get(&self, series: &Series, metric: Metric, bucket: usize) -> Option<&Exemplar> {
        self.0.get(series)?.get(&(metric, bucket))
    }

    fn add(
        &mut self,
        report: &StreamReport,
        received_ms: i64,
        edges: &[(&'static MetricDefinition, Vec<f64>)],
    ) {
        let of_series = self.0.entry(Series::named_by(report)).or_default();
        for (definition, edges) in edges {
            let Some(value) = definition.value(report) else { continue };
            let value = definition.unit.to_export(value);
            let exemplar = || Exemplar {
                stream_id: report.id.clone(),
                trace_id: trace_id(report).map(str::to_owned),
                value,
                received_ms,
            };
            let at = (definition.metric, bucket_of(edges, value));
            of_series.entry(at).or_insert_with(exemplar);
        }
    }
}
