//! The figures as a table, and as one JSON object.

use serde_json::{Map, Value, json};

use crate::client::{CONNECTIONS, SERIES, beacon_bytes};
use crate::contender::Figures;

/// Everything that was measured.
pub(crate) struct Results {
    /// Bare handler first.
    pub(crate) single: Vec<Figures>,
    /// As fast as they are answered.
    pub(crate) batches: Vec<Figures>,
    /// At a steady rate; times are from the moment that a request was due.
    pub(crate) steady: Vec<Figures>,
    pub(crate) many_series: Vec<Figures>,
}

impl Results {
    pub(crate) fn print(&self) {
        println!(
            "{:<10} {:>12} {:>8} {:>8} {:>8} {:>8} {:>8}",
            "server", "requests/s", "ratio", "p50 ms", "p99 ms", "CPU µs", "RSS MB"
        );
        for figures in &self.single {
            row(figures, figures.requests_per_second, self.ratio(figures));
        }
        println!("\n{:<10} {:>12}", "batches", "reports/s");
        for figures in &self.batches {
            row(figures, figures.reports_per_second, f64::NAN);
        }
        println!("\nbatches, steady");
        for figures in &self.steady {
            row(figures, figures.reports_per_second, f64::NAN);
        }
        println!("\n{SERIES} series");
        for figures in &self.many_series {
            row(figures, figures.requests_per_second, f64::NAN);
        }
    }

    pub(crate) fn json(&self) -> Value {
        let by_name = |all: &[Figures]| -> Map<String, Value> {
            all.iter().map(|figures| (figures.name.to_owned(), object(figures))).collect()
        };
        json!({
            "name": "ingest",
            "ratio": self.ratio(&self.single[1]),
            "ratio_full": self.ratio(&self.single[2]),
            "connections": CONNECTIONS,
            "beacon_bytes": beacon_bytes().unwrap_or_default(),
            "servers": by_name(&self.single),
            "batches": by_name(&self.batches),
            "batches_steady": by_name(&self.steady),
            "many_series": by_name(&self.many_series),
            "series": SERIES,
        })
    }

    fn ratio(&self, figures: &Figures) -> f64 {
        figures.requests_per_second / self.single[0].requests_per_second
    }
}

fn row(figures: &Figures, per_second: f64, ratio: f64) {
    let ratio = if ratio.is_nan() { String::new() } else { format!("{ratio:.2}") };
    let Figures { name, p50_ms, p99_ms, cpu_us_per_request, peak_rss_mb, .. } = figures;
    println!(
        "{name:<10} {per_second:>12.0} {ratio:>8} {p50_ms:>8.2} {p99_ms:>8.2} {cpu_us_per_request:>8.1} \
         {peak_rss_mb:>8.0}"
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
