//! Chooses the exposition format by the `Accept` header.

use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, HeaderValue};

/// An exposition format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpositionFormat {
    /// Prometheus text format 0.0.4: classic buckets only.
    Text,
    /// Delimited protobuf messages: classic and native buckets, and exemplars.
    Protobuf,
}

impl ExpositionFormat {
    /// Protobuf if the client names it with at least the priority of plain text; otherwise text. Prometheus
    /// names it only if its native histograms are enabled.
    pub(super) fn wanted(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(ACCEPT).into_iter().filter_map(|line| line.to_str().ok());
        let (mut protobuf, mut text) = (0.0f64, 0.0f64);
        for range in lines.flat_map(|line| line.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
            let of =
                |name: &str| parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            let liking = of("q").and_then(|q| q.parse().ok()).unwrap_or(1.0);
            let delimited = of("proto") == Some(MESSAGE) && of("encoding") == Some("delimited");
            match media {
                "application/vnd.google.protobuf" if delimited => protobuf = protobuf.max(liking),
                "text/plain" => text = text.max(liking),
                _ => {}
            }
        }
        if protobuf > 0.0 && protobuf >= text { Self::Protobuf } else { Self::Text }
    }

    pub(super) const fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Text => prometheus::TEXT_FORMAT,
            Self::Protobuf => prometheus::PROTOBUF_FORMAT,
        })
    }
}

const MESSAGE: &str = "io.prometheus.client.MetricFamily";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(accept: &'static str, wanted: ExpositionFormat) {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
        assert_eq!(ExpositionFormat::wanted(&headers), wanted, "{accept}");
    }

    #[test]
    fn a_prometheus_with_native_histograms_gets_protobuf() {
        check(
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
             application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            ExpositionFormat::Protobuf,
        );
    }

    #[test]
    fn a_scrape_that_does_not_ask_for_protobuf_gets_text() {
        for accept in [
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "*/*",
            "",
            "application/vnd.google.protobuf",
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0",
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.2,\
             text/plain",
        ] {
            check(accept, ExpositionFormat::Text);
        }
    }
}
