//! `GET /v1/accounting`: ingest accounting, which shows that nothing is lost or counted twice. Each sum is
//! defined in `docs/ingest-accounting.md#accounting`.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::aggregate::internal_metrics::{
    ACCEPTED, BEACONS, CHUNKS_US, Counts, DELETED_STREAMS, Kind, LOST_STREAM, MEMORIES, MEMORY_BYTES,
    OPEN_US2, REFUSED_CONNECTIONS, REPORTS, TIMED_CHUNKS,
};
use crate::aggregate::stream_dimension::KIND_READS;
use crate::api::request::query_string::Query;
use crate::api::state::ApiState;
use crate::config::token::{AllSites, AllowedSites};
use crate::http::access_control::Access;
use crate::http::counters::{PREFLIGHT, SAMPLED_OUT};
use crate::http::error::{ApiError, Reason};
use crate::rows::parquet_reader::FieldsRead;
use crate::store::backend::Backend;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::query::{IngestTotals, KeptQuery, WindowsQuery};
use crate::time::{self, HOUR_MS, MINUTE_MS};

/// Ingest counters from one transaction.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Accounting {
    beacons: Beacons,
    reports: Reports,
    streams: Streams,
    /// Whether statistics and single streams agree. Absent in a cluster, and if not all reports of the hour are kept or read.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_hour: Option<LastHour>,
    /// Reports that probes dropped before sending, by reason.
    probe_dropped: BTreeMap<String, u64>,
    probe_overhead: ProbeOverhead,
    /// Unknown fields in valid reports, by site. The collector skips them.
    ignored_fields: BTreeMap<String, u64>,
    /// Connections closed before the collector read from them.
    refused_connections: u64,
}

/// Requests to the ingest endpoint: `received` = `accepted` + `preflights` + `sampled_out` + all `refused` +
/// `in_flight`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BeaconAccounting")]
struct Beacons {
    received: u64,
    accepted: u64,
    preflights: u64,
    /// Beacons with no report within the `sample` of their site.
    sampled_out: u64,
    refused: BTreeMap<String, u64>,
    in_flight: i64,
}

/// Reports in accepted beacons: `received` = sum of `by_result` + `unaccounted`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportAccounting")]
struct Reports {
    received: u64,
    by_result: BTreeMap<String, u64>,
    unaccounted: i64,
    /// Valid reports outside the `sample` of their site; not included in `received`.
    sampled_out: u64,
}

/// Streams that reports describe: `new` = `counted` + sum of `apart` + `open`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StreamAccounting")]
struct Streams {
    new: u64,
    counted: u64,
    /// Finalized streams that are in no statistics of answers, by kind.
    apart: BTreeMap<String, u64>,
    open: i64,
}

/// Streams of the last whole hour. While a revision is stored, the two numbers can differ for a second.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LastHourAccounting")]
struct LastHour {
    from: i64,
    to: i64,
    /// In the statistics.
    counted: u64,
    /// With a report that can be read.
    kept: u64,
}

/// Overhead of the probe on pages with its extension `probeOverhead`, over finalized streams.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MeanProbeOverhead")]
struct ProbeOverhead {
    timed_chunks: u64,
    /// Mean time of the probe's own code per chunk, in microseconds. Absent while there are too few chunks
    /// for the resolution of the pages' clocks.
    us_per_chunk: Option<f64>,
    /// Error of `us_per_chunk` from clock resolution, with 95 % confidence. Absent if `us_per_chunk` is
    /// absent.
    error_us: Option<f64>,
    /// Mean memory size of the Wasm module. Absent if no page reported one.
    memory_bytes: Option<u64>,
}

impl ProbeOverhead {
    fn of(counts: &Counts) -> Self {
        let sum = |word| counts.get(Kind::ProbeOverhead, word);
        let (timed_chunks, us) = (sum(TIMED_CHUNKS), sum(CHUNKS_US) as f64);
        // The page's clock advances in steps, which gives each time an error. Its variance is at most the product of the
        // time and the step.
        let error_us = 2.0 * (sum(OPEN_US2) as f64).sqrt();
        let per_chunk = |sum_us: f64| (error_us < us).then(|| sum_us / timed_chunks as f64);
        Self {
            timed_chunks,
            us_per_chunk: per_chunk(us),
            error_us: per_chunk(error_us),
            memory_bytes: sum(MEMORY_BYTES).checked_div(sum(MEMORIES)),
        }
    }
}

/// Handles the route.
pub(crate) async fn accounting(
    State(state): State<ApiState>,
    Access { sites, .. }: Access,
    _: Query<()>,
) -> Result<Json<Accounting>, ApiError> {
    let message = "the ingest accounting covers all sites, and the token is limited to some of them";
    let all = sites.all().ok_or_else(|| ApiError::new(Reason::SiteForbidden, message))?;
    let now_ms = time::now_ms();
    Ok(Json(state.reader.run(move |store| add_up(store, all, now_ms)).await?))
}

fn add_up(store: &Backend<'_>, all: AllSites, now_ms: i64) -> Result<Accounting, StoreError> {
    let IngestTotals { counts, counted } = store.ingest_totals(all)?;
    let received = |word| counts.get(Kind::Received, word);
    let mut refused = by_word(&counts, Kind::Beacon);
    let accepted = refused.remove(ACCEPTED).unwrap_or(0);
    let preflights = refused.remove(PREFLIGHT).unwrap_or(0);
    let sampled_out = refused.remove(SAMPLED_OUT).unwrap_or(0);
    let decided = accepted + preflights + sampled_out + refused.values().sum::<u64>();
    let mut by_result = by_word(&counts, Kind::Report);
    // A stream that can no longer be counted, or that an operator deleted, leaves only the count of its report.
    let lost = counts.get(Kind::Repair, LOST_STREAM);
    let deleted = counts.get(Kind::Deleted, DELETED_STREAMS);
    for (result, streams) in [("unreadable", lost), ("deleted", deleted)] {
        if streams > 0 {
            by_result.entry("new".to_owned()).and_modify(|new| *new = new.saturating_sub(streams));
            *by_result.entry(result.to_owned()).or_default() += streams;
        }
    }
    let handled: u64 = by_result.values().sum();
    let new = by_result.get("new").copied().unwrap_or(0);
    let apart = by_word(&counts, Kind::Apart);
    let open = difference(new, counted + apart.values().sum::<u64>());
    Ok(Accounting {
        beacons: Beacons {
            received: received(BEACONS),
            accepted,
            preflights,
            sampled_out,
            refused,
            in_flight: difference(received(BEACONS), decided),
        },
        reports: Reports {
            received: received(REPORTS),
            by_result,
            unaccounted: difference(received(REPORTS), handled),
            sampled_out: received(SAMPLED_OUT),
        },
        streams: Streams { new, counted, apart, open },
        last_hour: LastHour::read(store, now_ms)?,
        probe_dropped: by_word(&counts, Kind::Dropped),
        probe_overhead: ProbeOverhead::of(&counts),
        ignored_fields: counts.iter(Kind::Ignored).map(|(key, count)| (key.site.clone(), count)).collect(),
        refused_connections: received(REFUSED_CONNECTIONS),
    })
}

impl LastHour {
    fn read(store: &Backend<'_>, now_ms: i64) -> Result<Option<Self>, StoreError> {
        if store.is_cluster() {
            return Ok(None);
        }
        let to = now_ms.div_euclid(HOUR_MS) * HOUR_MS;
        let from = to - HOUR_MS;
        let (filter, minutes) = (Filter::of_sites(AllowedSites::All), (from / MINUTE_MS, to / MINUTE_MS));
        let mut hour = Self { from, to, counted: 0, kept: 0 };
        let windows = WindowsQuery { filter: &filter, minutes, longest: 60, metrics: &[] };
        store.windows(&windows, |_, stats| hour.counted += stats.streams())?;
        let mut since_ms = None;
        // Nothing of the reports is read but their kind, and that they can be read.
        let fields = FieldsRead::Only(KIND_READS.into());
        let kept = KeptQuery { fields, ..KeptQuery::of_statistics(&windows, []) };
        store.each_kept(kept, |since| since_ms = since, |_| hour.kept += 1)?;
        Ok(since_ms.is_none_or(|since_ms| since_ms <= from).then_some(hour))
    }
}

fn by_word(counts: &Counts, kind: Kind) -> BTreeMap<String, u64> {
    counts.iter(kind).map(|(key, count)| (key.word.clone(), count)).collect()
}

/// Signed, so that a counting error is visible in either direction.
const fn difference(all: u64, part: u64) -> i64 {
    all.wrapping_sub(part).cast_signed()
}
