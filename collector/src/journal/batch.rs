//! A batch of reports before and after it is written to the journal.

use beacon::StreamReport;

use crate::journal::frame::{self, Frame, RecordRange};
use crate::journal::record::{self, Record};
use crate::journal::segments::RecordLocation;
use crate::report::accepted::{AcceptedReport, Discarded};
use crate::report::country::Country;
use crate::report::server_fact::ServerFact;
use crate::report::source::ReportSource;
use crate::report::stream_id::StreamId;
use crate::report::visit::VisitHash;

/// Reports that are stored or refused together.
pub(crate) struct Batch {
    pub(crate) received_ms: i64,
    pub(crate) source: ReportSource,
    /// `None` if unknown.
    pub(crate) country: Option<Country>,
    /// At least one.
    pub(crate) reports: Vec<AcceptedReport>,
    pub(crate) discarded: Discarded,
}

/// Facts of the backend, and the stream that they changed, if there is one.
pub(crate) struct FactBatch {
    /// When the facts arrived. If they changed a stream: when that arrived, so that it stays in its minute.
    pub(crate) received_ms: i64,
    pub(crate) facts: Vec<ServerFact>,
    pub(crate) changed: Option<(Option<Country>, AcceptedReport)>,
}

/// One record of a batch's frame.
enum Item<'a> {
    Report(Option<Country>, &'a AcceptedReport),
    Fact(&'a ServerFact),
    Discarded(Discarded),
}

/// A batch in the journal, in its encoded form.
pub(crate) struct WrittenBatch {
    pub(super) frame: Frame,
    pub(super) position: u64,
}

/// A batch in the journal, decoded.
pub(crate) struct JournaledBatch {
    pub(crate) received_ms: i64,
    pub(crate) reports: Vec<JournaledReport>,
    pub(crate) discarded: Discarded,
    /// The batch does not come from a page if there are any.
    pub(crate) facts: Vec<ServerFact>,
    /// Its position.
    pub(crate) position: u64,
    /// Position after the batch.
    pub(crate) end: u64,
}

impl JournaledBatch {
    /// It comes from the backend, and not from a page.
    pub(crate) const fn is_of_facts(&self) -> bool {
        !self.facts.is_empty()
    }
}

/// A report in the journal.
pub(crate) struct JournaledReport {
    pub(crate) id: StreamId,
    pub(crate) source: ReportSource,
    /// Country of the client that sent it. `None` if unknown.
    pub(crate) country: Option<Country>,
    /// `None` if the page sent no number of its visit.
    pub(crate) visit: Option<VisitHash>,
    pub(crate) report: StreamReport,
    pub(crate) at: RecordLocation,
}

/// Damage that was found in the journal.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Batches with intact bytes that this version cannot read, and ranges that were intact once and are
    /// damaged now.
    pub(crate) unreadable: u64,
    /// Incomplete writes at the end of the journal, from when the process or the machine died.
    pub(crate) torn: u64,
    /// Ends that were counted and are no longer there.
    pub(crate) missing: u64,
}

impl Batch {
    pub(super) fn pack(&self) -> Frame {
        let discarded = (self.discarded != Discarded::default()).then_some(Item::Discarded(self.discarded));
        let reports = self.reports.iter().map(|report| Item::Report(self.country, report));
        pack(self.received_ms, reports.chain(discarded)).sent_by(self.source)
    }
}

impl FactBatch {
    pub(super) fn pack(&self) -> Frame {
        let changed = self.changed.iter().map(|(country, report)| Item::Report(*country, report));
        pack(self.received_ms, self.facts.iter().map(Item::Fact).chain(changed))
    }
}

fn pack<'a>(received_ms: i64, items: impl Iterator<Item = Item<'a>>) -> Frame {
    Frame::pack(received_ms, items, |item, into| match item {
        Item::Report(country, AcceptedReport { id, visit, report }) => {
            record::write(*id, country, *visit, report, into);
        }
        Item::Discarded(discarded) => record::write_discarded(discarded, into),
        Item::Fact(fact) => record::write_fact(fact, into),
    })
}

impl WrittenBatch {
    /// Decodes the batch as a restart would. `None` if a restart would find no reports in it.
    pub(crate) fn unpack(&self) -> Option<JournaledBatch> {
        unpack(self.position, self.frame.payload(), self.end(), self.frame.source())
    }

    /// Its memory, which counts toward the queue's limit.
    pub(crate) const fn memory_bytes(&self) -> usize {
        self.frame.memory_bytes()
    }

    /// Position after the batch.
    pub(super) const fn end(&self) -> u64 {
        self.position + self.frame.len() as u64
    }
}

pub(super) fn unpack(
    position: u64,
    payload: &[u8],
    end: u64,
    source: ReportSource,
) -> Option<JournaledBatch> {
    let (received_ms, spans) = frame::unpack(payload)?;
    let mut batch = JournaledBatch {
        received_ms,
        reports: Vec::with_capacity(spans.len()),
        discarded: Discarded::default(),
        facts: Vec::new(),
        position,
        end,
    };
    for span in spans {
        let bytes = span.of(payload);
        match (record::read_discarded(bytes), record::read_fact(bytes)) {
            (Some(discarded), _) => batch.discarded = discarded,
            (None, Some(fact)) => batch.facts.push(fact),
            (None, None) => {
                let Record { id, country, visit, report } = record::read(bytes)?;
                batch.reports.push(JournaledReport {
                    id,
                    source,
                    country,
                    visit,
                    report,
                    at: span.at(position),
                });
            }
        }
    }
    Some(batch)
}

impl RecordRange {
    pub(super) const fn at(self, position: u64) -> RecordLocation {
        RecordLocation { position: position + self.offset as u64, len: self.len }
    }
}
