//! The figures of engines by minute in ClickHouse. If several collectors scrape an engine, one row of each minute counts.

use serde::Deserialize;

use super::client::Params;
use super::queries::ClusterTables;
use super::rows::{self, Rows, Value};
use crate::engine_metrics::minute::{Level, MinuteFigures};
use crate::store::engine_minutes::EngineMinute;
use crate::store::error::StoreError;
use crate::store::markers::{non_empty, stored_site};

impl ClusterTables {
    /// Calls `each` with the rows of a range of minutes, in the order of their times. The end is exclusive.
    pub(in crate::store) fn engine_minutes(
        &self,
        (from, to): (i64, i64),
        mut each: impl FnMut(EngineMinute),
    ) -> Result<(), StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM {} FINAL WHERE minute >= {from} AND minute < {to} ORDER BY minute, engine, model",
            self.client.table(NAME)
        );
        rows::each(&self.client.query(&query, &Params::default())?, |row: Row| {
            let Row(minute, engine, model, site, waiting, waiting_mean, scrapes, running, mean, runs, ..) =
                row;
            let Row(.., kv_usage_max, preemptions, cache_hits, cache_queries, drafted, accepted) = row;
            let figures = MinuteFigures {
                waiting: level(waiting, waiting_mean, scrapes),
                running: level(running, mean, runs),
                kv_usage_max,
                preemptions,
                cache_hits,
                cache_queries,
                drafted,
                accepted,
            };
            each(EngineMinute { minute, engine, model, site: non_empty(site), figures });
            Ok(())
        })
    }
}

/// The columns of a row, in their order.
#[derive(Deserialize)]
struct Row(
    i64,
    String,
    String,
    String,
    Option<f64>,
    Option<f64>,
    u32,
    Option<f64>,
    Option<f64>,
    u32,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
);

/// The columns of [`rows()`].
pub(super) fn columns() -> String {
    format!("{COLUMNS}, version")
}

pub(super) fn rows(minutes: &[EngineMinute], version: u64) -> Rows {
    let mut rows = Rows::default();
    for EngineMinute { minute, engine, model, site, figures } in minutes {
        let key = [(*minute).into(), engine.as_str().into(), model.as_str().into(), stored_site(site).into()];
        let others = [
            figures.kv_usage_max,
            figures.preemptions,
            figures.cache_hits,
            figures.cache_queries,
            figures.drafted,
            figures.accepted,
        ];
        let levels = [figures.waiting, figures.running].into_iter().flat_map(level_values);
        let values = key.into_iter().chain(levels).chain(others.map(Value::Figure));
        rows.push(values.chain([version.into()]));
    }
    rows
}

/// The first two are null without a scrape.
fn level(max: Option<f64>, mean: Option<f64>, scrapes: u32) -> Option<Level> {
    max.zip(mean).map(|(max, mean)| Level { max, mean, scrapes })
}

fn level_values<'a>(level: Option<Level>) -> [Value<'a>; 3] {
    [
        Value::Figure(level.map(|level| level.max)),
        Value::Figure(level.map(|level| level.mean)),
        u64::from(level.map_or(0, |level| level.scrapes)).into(),
    ]
}

pub(super) const NAME: &str = "engine_minutes";
const COLUMNS: &str = "minute, engine, model, site, waiting_max, waiting_mean, waiting_scrapes, running_max, running_mean, \
                       running_scrapes, kv_usage_max, preemptions, cache_hits, cache_queries, drafted, accepted";
