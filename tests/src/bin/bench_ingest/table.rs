//! The figures as a table, and as one JSON object.

use serde_json::{Map, Value, json};

use crate::client::{CONNECTIONS, MANY_CONNECTIONS, SERIES, beacon_bytes};
use crate::contender::Figures;

/// Everything that was measured; what was not asked for is empty.
#[derive(Default)]
pub(crate) struct Results {
    /// Bare handler first.
    pub(crate) single: Vec<Figures>,
    /// The same over more connections.
    pub(crate) many_connections: Vec<Figures>,
    /// As fast as they are answered.
    pub(crate) batches: Vec<Figures>,
    /// At a steady rate, bare handler first; times are from the moment that a request was due.
    pub(crate) steady: Vec<Figures>,
    pub(crate) many_series: Vec<Figures>,
}

impl Results {
    pub(crate) fn print(&self) {
        println!(
            "{:<18} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8}",
            "", "reports/s", "ratio", "p50 ms", "p99 ms", "CPU µs", "RSS MB"
        );
        let parts = [
            ("single beacons", &self.single, Some(ratio_of_rates as Ratio)),
            ("single beacons, many connections", &self.many_connections, Some(ratio_of_rates)),
            ("batches", &self.batches, None),
            ("batches, steady; ratio of p99", &self.steady, Some(ratio_of_p99)),
            ("many series", &self.many_series, None),
        ];
        for (title, all, ratio) in parts.into_iter().filter(|(_, all, _)| !all.is_empty()) {
            println!("{title}");
            all.iter().for_each(|figures| row(figures, ratio.map(|ratio| ratio(figures, &all[0]))));
        }
    }

    pub(crate) fn json(&self) -> Value {
        let by_name = |all: &[Figures]| -> Map<String, Value> {
            all.iter().map(|figures| (figures.name.to_owned(), object(figures))).collect()
        };
        let ratio_to_bare = |at: usize| Some(ratio_of_rates(self.single.get(at)?, &self.single[0]));
        json!({
            "name": "ingest",
            "ratio": ratio_to_bare(1),
            "ratio_full": ratio_to_bare(2),
            "connections": CONNECTIONS,
            "beacon_bytes": beacon_bytes().unwrap_or_default(),
            "servers": by_name(&self.single),
            "many_connections": MANY_CONNECTIONS,
            "servers_many_connections": by_name(&self.many_connections),
            "batches": by_name(&self.batches),
            "batches_steady": by_name(&self.steady),
            "many_series": by_name(&self.many_series),
            "series": SERIES,
        })
    }
}

type Ratio = fn(&Figures, &Figures) -> f64;

fn ratio_of_rates(figures: &Figures, bare: &Figures) -> f64 {
    figures.requests_per_second / bare.requests_per_second
}

fn ratio_of_p99(figures: &Figures, bare: &Figures) -> f64 {
    figures.p99_ms / bare.p99_ms
}

/// The rate is of reports; a single beacon is one.
fn row(figures: &Figures, ratio: Option<f64>) {
    let ratio = ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
    let Figures { name, reports_per_second, p50_ms, p99_ms, cpu_us_per_request, peak_rss_mb, .. } = figures;
    println!(
        "  {name:<16} {reports_per_second:>10.0} {ratio:>8} {p50_ms:>8.2} {p99_ms:>8.2} \
         {cpu_us_per_request:>8.1} {peak_rss_mb:>8.0}"
    );
}

fn object(figures: &Figures) -> Value {
    json!({
        "per_second": figures.requests_per_second,
        "reports_per_second": figures.reports_per_second,
        "p50_ms": figures.p50_ms,
        "p99_ms": figures.p99_ms,
        "cpu_us_per_request": figures.cpu_us_per_request,
        "peak_rss_mb": figures.peak_rss_mb,
    })
}
