//! Encodes the revisions of one flush as one blob, which the next start reads. A row per stream would cost
//! more than the rest of the flush.

use std::collections::BTreeMap;

use beacon::Outcome;
use serde::{Deserialize, Serialize};

use crate::aggregate::blob_encoding::{self, UnreadableBlob};
use crate::aggregate::dedup::{Finalized, SeqNo, Stream};
use crate::aggregate::judgement::Judgement;
use crate::aggregate::rough_wait::RoughWait;
use crate::aggregate::series::SeriesId;
use crate::journal::segments::RecordLocation;
use crate::report::server_fact::revision_without_facts;

/// Encodes some revisions.
pub(super) fn encode(revisions: &[(SeqNo, Stream)]) -> Vec<u8> {
    blob_encoding::encode(
        FORMAT_VERSION,
        &Blob {
            outcomes: Outcome::ALL.map(|outcome| outcome.as_str().to_owned()).to_vec(),
            revisions: revisions.iter().map(|(seq, stream)| Revision::of(*seq, stream)).collect(),
        },
    )
}

/// Decodes revisions into `into`. If two blobs have the same sequence number, the later one wins.
pub(super) fn decode(bytes: &[u8], into: &mut BTreeMap<SeqNo, Stream>) -> Result<(), UnreadableBlob> {
    let current = blob_encoding::decode(FORMAT_VERSION, bytes);
    let is_current = current.is_ok();
    let Blob { outcomes, revisions } = match current {
        Ok(blob) => blob,
        Err(_) => blob_encoding::decode(VERSION_WITHOUT_FACTS, bytes)?,
    };
    let known = |word: &String| Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == word);
    let outcomes = outcomes.iter().map(known).collect::<Option<Vec<_>>>().ok_or(UnreadableBlob)?;
    for mut revision in revisions {
        if !is_current {
            revision.rev = revision_without_facts(revision.rev);
        }
        let outcome = *outcomes.get(usize::from(revision.outcome)).ok_or(UnreadableBlob)?;
        into.insert(revision.seq, revision.stream(outcome).ok_or(UnreadableBlob)?);
    }
    Ok(())
}

const FORMAT_VERSION: u8 = 3;
/// Its revisions are the numbers of the page.
const VERSION_WITHOUT_FACTS: u8 = 2;

#[derive(Serialize, Deserialize)]
struct Blob {
    /// Outcomes that `revisions` refer to by index.
    outcomes: Vec<String>,
    revisions: Vec<Revision>,
}

#[derive(Serialize, Deserialize)]
struct Revision {
    seq: SeqNo,
    id: [u8; 16],
    rev: u32,
    outcome: u8,
    series: SeriesId,
    /// Minute of its window, and the bits of its judgement.
    counted: Option<(i32, u16)>,
    in_cumulative: bool,
    received_ms: i64,
    position: u64,
    len: u32,
}

impl Revision {
    fn of(seq: SeqNo, stream: &Stream) -> Self {
        Self {
            seq,
            id: stream.id.to_be_bytes(),
            rev: stream.rev,
            outcome: stream.outcome as u8,
            series: stream.series,
            counted: stream.finalized.map(|counted| (counted.minute, counted.judgement.to_bits())),
            in_cumulative: stream.in_cumulative,
            received_ms: stream.received_ms,
            position: stream.at.position,
            len: stream.at.len,
        }
    }

    /// `None` if its judgement is not valid.
    fn stream(&self, outcome: Outcome) -> Option<Stream> {
        let finalized = |(minute, bits)| {
            let judgement = Judgement::from_bits(bits)?;
            Some(Finalized { minute, judgement, wait: RoughWait::UNKNOWN })
        };
        Some(Stream {
            id: u128::from_be_bytes(self.id),
            rev: self.rev,
            outcome,
            series: self.series,
            finalized: match self.counted {
                Some(counted) => Some(finalized(counted)?),
                None => None,
            },
            in_cumulative: self.in_cumulative,
            superseded: false,
            received_ms: self.received_ms,
            at: RecordLocation { position: self.position, len: self.len },
        })
    }
}
