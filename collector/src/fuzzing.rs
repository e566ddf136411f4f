//! Entry points of the fuzz targets. The tests that replay the seeds call them too.

use std::sync::Arc;

use crate::config::Config;
use crate::ingest::site::IngestSite;
use crate::ingest::validate::{ValidatedBatch, validate};
use crate::journal::record::{self, Record, read_discarded, write_discarded};

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
