//! Entry points of the fuzz targets. The tests that replay the seeds call them too.

use std::sync::Arc;

use crate::config::Config;
use crate::config::engine::{Engine, EngineKind};
use crate::engine_metrics::minute::MinuteFolder;
use crate::engine_metrics::scrape::read;
use crate::ingest::site::IngestSite;
use crate::ingest::validate::{ValidatedBatch, validate};
use crate::journal::record::{self, Record, read_discarded, write_discarded};
use crate::server_timing::{litellm, own_json, traces};

pub use crate::export::otlp::dropped_points;

/// Validates a body for a site without rules of its own. Returns the number of accepted reports, or the code
/// of the refusal. The body is used as the `User-Agent` too, which can be as hostile.
///
/// # Errors
/// The code of the refusal, as in `docs/http-api.md`.
///
/// # Panics
/// If an accepted report changes when it is written to the journal and read again.
pub fn judge(body: &[u8]) -> Result<usize, &'static str> {
    let site = Config::default().sites.remove(0);
    let open = IngestSite::new(&site, &Arc::default());
    let ValidatedBatch { reports, .. } =
        validate(body, body, &open, Some).map_err(|refused| refused.reason.code())?;
    for accepted in &reports {
        let mut bytes = Vec::new();
        record::write(accepted.id, None, accepted.visit, &accepted.report, &mut bytes);
        let read = record::read(&bytes).expect("what was written can be read");
        assert_eq!(
            (read.id, read.visit, &read.report),
            (accepted.id, accepted.visit, &accepted.report),
            "what is replayed is what was counted"
        );
    }
    Ok(reports.len())
}

/// Whether any bytes are a record of the journal, as after damage that the checksums did not detect.
///
/// # Panics
/// If a record changes when it is written and read again.
#[must_use]
pub fn reread(bytes: &[u8]) -> bool {
    if let Some(discarded) = read_discarded(bytes) {
        let mut again = Vec::new();
        write_discarded(discarded, &mut again);
        assert_eq!(read_discarded(&again), Some(discarded), "what is read again is what was read");
        return true;
    }
    if let Some(fact) = record::read_fact(bytes) {
        let written = |fact| {
            let mut bytes = Vec::new();
            record::write_fact(fact, &mut bytes);
            bytes
        };
        let once = written(&fact);
        let again = record::read_fact(&once).expect("what was written can be read");
        assert_eq!(written(&again), once, "what is read again is what was read");
        return true;
    }
    let Some(record) = record::read(bytes) else { return false };
    let written = |Record { id, country, visit, report }: &Record| {
        let mut bytes = Vec::new();
        record::write(*id, *country, *visit, report, &mut bytes);
        bytes
    };
    // Compares bytes: a damaged duration may be NaN, which equals nothing.
    let once = written(&record);
    let again = record::read(&once).expect("what was written can be read");
    assert_eq!(written(&again), once, "what is read again is what was read");
    true
}

/// Reads any bytes as an engine's metrics, twice in a minute. Returns the number of models.
///
/// # Panics
/// If a figure is not a number of at least 0, or a model has no name.
#[must_use]
pub fn engine_models(bytes: &[u8]) -> usize {
    let engine = Engine {
        url: String::new(),
        kind: EngineKind::Auto,
        every_seconds: 10,
        models: Default::default(),
        model: Some("own".to_owned()),
        site: None,
    };
    let Ok(scrape) = read(&String::from_utf8_lossy(bytes), &engine) else { return 0 };
    assert!(scrape.gauges.values().chain(scrape.counters.values()).all(|value| *value >= 0.0));
    let mut folder = MinuteFolder::default();
    folder.add(0, &scrape);
    let (_, models) = folder.add(10_000, &scrape);
    assert!(models.iter().all(|(name, figures)| {
        let unchanged = [figures.preemptions, figures.cache_hits, figures.drafted];
        !name.is_empty() && unchanged.into_iter().flatten().all(|increase| increase == 0.0)
    }));
    models.len()
}

/// Reads any bytes as timings of the backend, in each of the forms that are taken. Returns the number of facts.
///
/// # Panics
/// If a fact changes when it is written to the journal and read again.
#[must_use]
pub fn facts(bytes: &[u8]) -> usize {
    let forms = [own_json::read, litellm::read, traces::read_json, traces::read_protobuf];
    let received = forms.into_iter().filter_map(|read| read(bytes, "site").ok());
    let facts: Vec<_> = received.flat_map(|received| received.facts).collect();
    for fact in &facts {
        let mut written = Vec::new();
        record::write_fact(fact, &mut written);
        assert_eq!(record::read_fact(&written).as_ref(), Some(fact), "what is replayed is what was taken");
    }
    facts.len()
}
