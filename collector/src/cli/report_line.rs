//! One line of a file of reports: the body of a beacon, or a single report as `/v1/streams` lists it.

use std::borrow::Cow;
use std::sync::Arc;

use beacon::Layers;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::config::Config;
use crate::http::error::{ApiError, Reason};
use crate::ingest::normalize::Aliases;
use crate::ingest::site::IngestSite;
use crate::ingest::validate::{ValidatedBatch, check_layers, validate};
use crate::report::country::Country;
use crate::report::server_fact::{add_all, round_all};
use crate::report::visit::VisitHash;

/// The sites that lines may belong to.
pub(super) struct LineSites {
    sites: Vec<IngestSite>,
    /// Site of all lines, if given on the command line.
    site: Option<usize>,
}

/// A valid line.
pub(super) struct ReportLine {
    pub(super) batch: ValidatedBatch,
    /// Arrival at the collector that listed the report. `None` in the body of a beacon.
    pub(super) received_ms: Option<i64>,
    /// `None` if unknown.
    pub(super) country: Option<Country>,
}

/// The configuration has no site of this name.
#[derive(Debug, thiserror::Error)]
#[error("the configuration has no site `{0}`")]
pub struct UnknownSite(String);

impl LineSites {
    pub(super) fn new(config: &Config, site: Option<&str>) -> Result<Self, UnknownSite> {
        let aliases = Arc::new(Aliases::new(&config.models));
        let sites = config.sites.iter().map(|site| IngestSite::new(site, &aliases)).collect();
        let mut all = Self { sites, site: None };
        if let Some(name) = site {
            all.site = Some(all.named(name).ok_or_else(|| UnknownSite(name.to_owned()))?);
        }
        Ok(all)
    }

    fn named(&self, name: &str) -> Option<usize> {
        self.sites.iter().position(|open| open.site.name == name)
    }

    /// Validates a line like a request to the ingest endpoint.
    pub(super) fn parse(&self, line: &[u8]) -> Result<ReportLine, ApiError> {
        let hint = Hint::of(line);
        let named = hint.as_ref().and_then(|hint| hint.site.as_deref());
        let site = match (self.site, named) {
            (Some(site), _) => site,
            (None, Some(name)) => self.named(name).ok_or_else(|| {
                ApiError::new(
                    Reason::UnknownSite,
                    "the report names a site that the configuration does not have",
                )
            })?,
            (None, None) => 0,
        };
        let Some(open) = self.sites.get(site) else {
            return Err(ApiError::new(Reason::UnknownSite, "the configuration has no sites"));
        };
        let Some(mut hint) = hint.filter(|hint| hint.reports.is_none()) else {
            return Ok(ReportLine {
                batch: validate(line, &[], open, no_visit)?,
                received_ms: None,
                country: None,
            });
        };
        let mut batch = validate(&[b"{\"reports\":[", line, b"]}"].concat(), &[], open, no_visit)?;
        if let Some(listed) = &mut hint.layers {
            check_layers(listed)?;
            round_all(listed);
            for accepted in &mut batch.reports {
                add_all(accepted.report.layers.get_or_insert_default(), listed);
            }
        }
        // Reports from `/v1/streams` contain fields that the collector added; they are not unknown fields.
        let ignored = &mut batch.discarded.ignored_fields;
        *ignored = ignored.saturating_sub(hint.added());
        let received_ms = hint.received_ms.and_then(|received| received.get().parse().ok());
        let country = hint.country.and_then(|country| serde_json::from_str::<&str>(country.get()).ok());
        Ok(ReportLine { batch, received_ms, country: country.and_then(Country::of_code) })
    }
}

/// A file has no numbers of tabs that are open now.
const fn no_visit(_: u64) -> Option<VisitHash> {
    None
}

/// The fields of a line that identify its form, and those that the collector adds to a listed report.
#[derive(Deserialize)]
struct Hint<'a> {
    /// Present in the body of a beacon, absent in a single report.
    #[serde(borrow, default)]
    reports: Option<&'a RawValue>,
    /// Site of a single report from `/v1/streams`.
    #[serde(borrow, default)]
    site: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    received_ms: Option<&'a RawValue>,
    #[serde(borrow, default)]
    country: Option<&'a RawValue>,
    #[serde(borrow, default)]
    phases: Option<&'a RawValue>,
    #[serde(borrow, default)]
    links: Option<&'a RawValue>,
    /// Facts of the backend, which no page may send.
    #[serde(default)]
    layers: Option<Layers>,
}

impl<'a> Hint<'a> {
    /// `None` if the line is not a JSON object or repeats a field.
    fn of(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    fn added(&self) -> u64 {
        let added = [self.received_ms, self.country, self.phases, self.links];
        added.into_iter().flatten().count() as u64
    }
}
