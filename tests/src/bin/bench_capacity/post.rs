//! Prepared requests: streams come in as reports, go out as the bytes that a browser would send.

use std::fmt::Write;

use anyhow::{Context, Result};
use beacon::StreamReport;

use crate::streams::Stream;

/// The reports of some streams as JSON, cut where ids and models stand.
pub(crate) struct Prepared {
    pub(crate) open: Option<Cut>,
    pub(crate) ended: Cut,
}

/// One report around its id and its model.
pub(crate) struct Cut([String; 3]);

impl Prepared {
    pub(crate) fn all(streams: &[Stream]) -> Result<Vec<Self>> {
        let prepare = |stream: &Stream| {
            Ok(Self { open: stream.open.as_ref().map(Cut::of).transpose()?, ended: Cut::of(&stream.ended)? })
        };
        streams.iter().map(prepare).collect()
    }
}

impl Cut {
    fn of(report: &StreamReport) -> Result<Self> {
        let text = serde_json::to_string(report)?;
        let (before, rest) = text.split_once(&report.id).context("an id")?;
        let (between, after) = rest.split_once(r#""model":""#).context("a model")?;
        Ok(Self([before, &format!("{between}\"model\":\""), after].map(str::to_owned)))
    }

    /// Writes it under an id, the model's name after `prefix`.
    pub(crate) fn write(&self, id: u64, prefix: &str, into: &mut String) {
        let [before, between, after] = &self.0;
        // Real ids are random: what is chosen by them is spread.
        let high = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let _infallible = write!(into, "{before}{high:016x}{id:016x}{between}{prefix}{after}");
    }
}

/// A whole request for a site.
pub(crate) fn request(address: &str, site: &str, reports: &str) -> Vec<u8> {
    let length = reports.len() + r#"{"reports":[]}"#.len();
    format!(
        "POST /v1/beacons?site={site} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n{HEADERS}\r\n\
         {{\"reports\":[{reports}]}}"
    )
    .into_bytes()
}

/// Of Chromium's `fetch` with `keepalive` to another origin.
const HEADERS: &str = "Connection: keep-alive\r\n\
    sec-ch-ua: \"Chromium\";v=\"142\", \"Not_A Brand\";v=\"99\"\r\n\
    Content-Type: text/plain;charset=UTF-8\r\nsec-ch-ua-mobile: ?0\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36\r\n\
    sec-ch-ua-platform: \"Linux\"\r\nAccept: */*\r\nOrigin: http://localhost:3000\r\n\
    Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n\
    Referer: http://localhost:3000/\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\
    Accept-Language: en-GB,en;q=0.9\r\n";
