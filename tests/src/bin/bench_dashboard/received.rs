//! Counts what a page receives, headers included, by the route that sent it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tests::DevTools;
use tokio::time::timeout;

#[derive(Default)]
pub(crate) struct Received {
    routes: BTreeMap<String, Route>,
    /// Route of each request, by its id.
    requests: HashMap<String, String>,
}

#[derive(Default)]
struct Route {
    requests: u64,
    unchanged: u64,
    /// As they came over the network.
    bytes: u64,
    /// Of the bodies, after decompression.
    decoded: u64,
}

impl Received {
    /// Counts for so long.
    pub(crate) async fn listen(&mut self, page: &mut DevTools, duration: Duration) -> Result<()> {
        let all = async {
            loop {
                self.add(&page.next().await?);
            }
        };
        timeout(duration, all).await.unwrap_or(Ok(()))
    }

    /// Forgets the counts, but not the requests that are in flight.
    pub(crate) fn forget(&mut self) {
        self.routes.clear();
    }

    fn add(&mut self, event: &Value) {
        let of = &event["params"];
        let id = of["requestId"].as_str().unwrap_or_default();
        let number = |value: &Value| value.as_f64().unwrap_or(0.0).max(0.0) as u64;
        if event["method"] == "Network.requestWillBeSent" {
            let route = route(of["request"]["url"].as_str().unwrap_or_default());
            self.routes.entry(route.clone()).or_default().requests += 1;
            self.requests.insert(id.to_owned(), route);
            return;
        }
        let Some(name) = self.requests.get(id) else { return };
        let route = self.routes.entry(name.clone()).or_default();
        match event["method"].as_str() {
            // The headers.
            Some("Network.responseReceived") => {
                route.bytes += number(&of["response"]["encodedDataLength"]);
                route.unchanged += u64::from(of["response"]["status"] == 304);
            }
            Some("Network.dataReceived") => {
                route.bytes += number(&of["encodedDataLength"]);
                route.decoded += number(&of["dataLength"]);
            }
            _ => {}
        }
    }
}

/// What a tab received while it showed one view.
pub(crate) struct View {
    pub(crate) name: &'static str,
    pub(crate) received: Received,
    pub(crate) hours: f64,
    /// Of the collector, in an hour, for the tab alone.
    pub(crate) cpu_seconds: f64,
}

impl View {
    pub(crate) fn to_json(&self) -> Value {
        let per_hour = |count: u64| count as f64 / self.hours;
        let routes = self.received.routes.iter().map(|(name, route)| {
            let figures = json!({
                "requests": per_hour(route.requests), "not_modified": per_hour(route.unchanged),
                "bytes": per_hour(route.bytes), "decoded_bytes": per_hour(route.decoded),
            });
            (name.clone(), figures)
        });
        json!({
            "name": self.name, "cpu_seconds_per_hour": self.cpu_seconds, "per_hour": Value::Object(routes.collect()),
        })
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, received, hours, cpu_seconds } = self;
        writeln!(
            f,
            "{:<42}{:>12}{:>12}{:>10}{:>14}",
            format!("{name}, in an hour"),
            "requests",
            "unchanged",
            "MB",
            "MB of bodies"
        )?;
        let mut all = Route::default();
        for (name, route) in &received.routes {
            line(f, name, route, *hours)?;
            all.requests += route.requests;
            all.unchanged += route.unchanged;
            all.bytes += route.bytes;
            all.decoded += route.decoded;
        }
        line(f, "all", &all, *hours)?;
        writeln!(f, "{cpu_seconds:.1} s of the collector's processor time")
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, route: &Route, hours: f64) -> fmt::Result {
    let per_hour = |count: u64| count as f64 / hours;
    let (requests, unchanged) = (per_hour(route.requests), per_hour(route.unchanged));
    let (bytes, decoded) = (per_hour(route.bytes) / 1e6, per_hour(route.decoded) / 1e6);
    writeln!(f, "  {name:<40}{requests:>12.0}{unchanged:>12.0}{bytes:>10.2}{decoded:>14.2}")
}

/// Path of an address.
fn route(url: &str) -> String {
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    format!("/{}", path.split('?').next().unwrap_or_default())
}
