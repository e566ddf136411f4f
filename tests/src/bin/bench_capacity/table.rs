//! The figures as tables, and as one JSON object.

use serde_json::{Value, json};

use crate::cluster::{Cluster, Published};
use crate::cost::Cost;
use crate::day::{Day, SITES, Windows};
use crate::disk::Table;

/// Everything that was measured.
pub(crate) struct Results {
    pub(crate) costs: Vec<Cost>,
    pub(crate) day: Day,
    pub(crate) cluster: Cluster,
}

impl Results {
    pub(crate) fn print(&self) {
        println!(
            "{:<8} {:>9} {:>10} {:>10} {:>12} {:>8} {:>8} {:>9} {:>9} {:>9}",
            "load",
            "streams",
            "reports",
            "reports/s",
            "CPU s/mill.",
            "RSS MB",
            "peak MB",
            "sent B",
            "body B",
            "journal B"
        );
        for cost in &self.costs {
            println!(
                "{:<8} {:>9} {:>10} {:>10.0} {:>12.1} {:>8.0} {:>8.0} {:>9.0} {:>9.0} {:>9.0}",
                cost.load.name,
                cost.load.streams,
                cost.reports,
                cost.reports as f64 / cost.seconds,
                cost.cpu_seconds_per_million(),
                cost.rss_mb,
                cost.peak_rss_mb,
                cost.per_stream(cost.sent_bytes),
                cost.per_stream(cost.body_bytes),
                cost.per_stream(cost.journal_bytes),
            );
        }
        for cost in &self.costs {
            println!(
                "\n{}: {} revisions remembered, files of the journal {:.0} MB",
                cost.load.name, cost.remembered, cost.journal_mb
            );
            tables(&cost.tables);
        }
        println!("\na day of {} series at {} sites", self.day.series, SITES.len());
        tables(&self.day.tables);
        println!(
            "\n{:<8} {:>9} {:>7} {:>9} {:>9} {:>10} {:>12}",
            "site", "streams", "minutes", "rows", "B/row", "MB/day", "streams/row"
        );
        for windows in &self.day.windows {
            println!(
                "{:<8} {:>9} {:>7} {:>9} {:>9.0} {:>10.2} {:>12.1}",
                windows.site,
                windows.streams(),
                windows.length,
                windows.rows,
                windows.bytes / windows.rows as f64,
                windows.bytes / 1e6,
                windows.streams_per_row(),
            );
        }
        println!(
            "\n{:<8} {:>9} {:>9} {:>9} {:>9} {:>12} {:>12}",
            "table", "rows", "rows/s", "B/row", "MB", "CPU s/mill.", "engine"
        );
        for Published { table, rows, bytes, seconds, cpu_seconds, engine_cpu_seconds } in self.published() {
            let count = *rows as f64;
            println!(
                "{table:<8} {rows:>9} {:>9.0} {:>9.0} {:>9.1} {:>12.0} {:>12.0}",
                count / seconds,
                *bytes as f64 / count,
                *bytes as f64 / 1e6,
                cpu_seconds * 1e6 / count,
                engine_cpu_seconds * 1e6 / count,
            );
        }
    }

    pub(crate) fn json(&self) -> Value {
        let of_tables = |tables: &[Table]| -> Value {
            let table = |table: &Table| {
                (
                    table.name.clone(),
                    json!({ "rows": table.rows, "bytes": table.bytes, "payload": table.payload }),
                )
            };
            tables.iter().map(table).collect::<serde_json::Map<_, _>>().into()
        };
        let loads: serde_json::Map<_, _> = self
            .costs
            .iter()
            .map(|cost| {
                let figures = json!({
                    "streams": cost.load.streams, "reports": cost.reports, "seconds": cost.seconds,
                    "sync": cost.load.sync, "ids": cost.load.ids,
                    "cpu_seconds_per_million_streams": cost.cpu_seconds_per_million(),
                    "rss_mb": cost.rss_mb, "peak_rss_mb": cost.peak_rss_mb,
                    "sent_bytes_per_stream": cost.per_stream(cost.sent_bytes),
                    "body_bytes_per_stream": cost.per_stream(cost.body_bytes),
                    "journal_bytes_per_stream": cost.per_stream(cost.journal_bytes),
                    "journal_mb": cost.journal_mb, "remembered": cost.remembered,
                    "tables": of_tables(&cost.tables),
                });
                (cost.load.name.to_owned(), figures)
            })
            .collect();
        let windows: Vec<_> = self
            .day
            .windows
            .iter()
            .map(|windows| {
                json!({
                    "site": windows.site, "streams": windows.streams(), "minutes": windows.length,
                    "rows": windows.rows, "bytes": windows.bytes,
                })
            })
            .collect();
        let published: serde_json::Map<_, _> = self
            .published()
            .map(|published| {
                let figures = json!({
                    "rows": published.rows, "bytes": published.bytes, "seconds": published.seconds,
                    "cpu_seconds": published.cpu_seconds, "engine_cpu_seconds": published.engine_cpu_seconds,
                });
                (published.table.to_owned(), figures)
            })
            .collect();
        json!({
            "name": "capacity",
            // Processor time in which a collector takes a million streams, beside an hour of one core.
            "ratio": self.costs[0].cpu_seconds_per_million() / 3_600.0,
            "loads": loads,
            "day": { "series": self.day.series, "windows": windows, "tables": of_tables(&self.day.tables) },
            "clickhouse": published,
        })
    }

    fn published(&self) -> impl Iterator<Item = &Published> {
        [&self.cluster.day, &self.cluster.streams].into_iter()
    }
}

impl Windows {
    fn streams(&self) -> u64 {
        SITES.iter().find(|(site, _)| *site == self.site).map_or(0, |(_, streams)| *streams)
    }

    /// A sum stands once for each choice of labels that it tells apart.
    fn streams_per_row(&self) -> f64 {
        let times = if self.length == 1 { 1 } else { 9 };
        (self.streams() * times) as f64 / self.rows as f64
    }
}

fn tables(tables: &[Table]) {
    println!("{:<12} {:>9} {:>9} {:>9} {:>7}", "table", "rows", "MB", "B/row", "full");
    for Table { name, rows, bytes, payload } in tables {
        println!(
            "{name:<12} {rows:>9} {:>9.2} {:>9.0} {:>6.0}%",
            *bytes as f64 / 1e6,
            *bytes as f64 / *rows as f64,
            100.0 * *payload as f64 / *bytes as f64
        );
    }
}
