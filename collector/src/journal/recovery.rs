//! Reads the journal at the start: replays every intact frame from a position on, logs and skips damage, and finds the
//! end.

use std::io;
use std::os::unix::fs::FileExt;

use super::frame::{self, END, Scanned};
use super::segments::{Segment, Segments, is_lost};

/// Findings of a recovery, apart from the frames.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Recovered {
    /// Position after the last whole frame.
    pub(super) end: u64,
    /// Bytes of a frame that was being written when the process or the machine died.
    pub(super) torn_bytes: u64,
    /// Ranges that were written completely and are damaged now, or that the disk cannot read.
    pub(super) damaged: u64,
    pub(super) damaged_bytes: u64,
    /// Bytes before the begin that the files no longer hold: a file was emptied, cut or removed.
    pub(super) missing_bytes: u64,
}

/// Calls `each` for every intact frame from `from` on, with its position, its payload and the position after
/// it. `from` is the position of a frame, or lies before everything that is stored.
pub(super) fn replay<E: From<io::Error>>(
    segments: &Segments,
    from: u64,
    mut each: impl FnMut(u64, &[u8], u64) -> Result<(), E>,
) -> Result<Recovered, E> {
    let files: Vec<_> = segments.files().iter().cloned().collect();
    let mut recovered = Recovered { end: from, ..Recovered::default() };
    for (at, segment) in files.iter().enumerate() {
        let next_base = files.get(at + 1).map(|next| next.base);
        if next_base.is_some_and(|next| next <= from) {
            continue;
        }
        let SegmentBytes { bytes, lost_until } = read(segment, next_base)?;
        let begin = usize::try_from(from.saturating_sub(segment.base)).unwrap_or(usize::MAX);
        let end = scan(&bytes, segment.base, begin, &mut recovered, &mut each)?;
        let rest = bytes.get(end..).unwrap_or_default();
        match next_base {
            _ if rest.starts_with(&END) => {}
            Some(_) => recovered.damage(rest.len()),
            None if lost_until > end => recovered.damage(lost_until - end),
            None => recovered.torn_bytes = rest.len() as u64,
        }
        recovered.end = recovered.end.max(segment.base + end.min(bytes.len()) as u64);
    }
    let newest = files.last().map(|newest| Ok::<_, io::Error>(newest.base + newest.file.metadata()?.len()));
    recovered.missing_bytes = from.saturating_sub(newest.transpose()?.unwrap_or(0));
    Ok(recovered)
}

/// Calls `each` for the frames of one file from `at` on. Returns where the last one ends.
fn scan<E>(
    bytes: &[u8],
    base: u64,
    mut at: usize,
    recovered: &mut Recovered,
    each: &mut impl FnMut(u64, &[u8], u64) -> Result<(), E>,
) -> Result<usize, E> {
    let mut whole_until = at;
    loop {
        at = match frame::next(bytes, base, at) {
            Scanned::Whole { payload, end } => {
                recovered.damage(at - whole_until);
                each(base + at as u64, payload, base + end as u64)?;
                whole_until = end;
                end
            }
            Scanned::Damaged { end, .. } => end,
            Scanned::Nothing => match frame::resync(bytes, base, at) {
                Some(found) => found,
                None => return Ok(whole_until),
            },
        };
    }
}

/// Content of a file.
struct SegmentBytes {
    bytes: Vec<u8>,
    /// End of the last page that the disk cannot read; 0 if it can read all.
    lost_until: usize,
}

fn read(segment: &Segment, next_base: Option<u64>) -> io::Result<SegmentBytes> {
    let held = segment.file.metadata()?.len();
    let len = next_base.map_or(held, |next| held.min(next - segment.base));
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
    match segment.file.read_exact_at(&mut bytes, 0) {
        Ok(()) => Ok(SegmentBytes { bytes, lost_until: 0 }),
        Err(error) if is_lost(&error) => read_pages(segment, bytes),
        Err(error) => Err(error),
    }
}

/// Reads a file page by page. A lost page is filled with bytes that are neither a frame nor an end.
fn read_pages(segment: &Segment, mut bytes: Vec<u8>) -> io::Result<SegmentBytes> {
    let (mut at, mut lost_until) = (0, 0);
    for page in bytes.chunks_mut(PAGE_BYTES) {
        let read = segment.file.read_exact_at(page, at as u64);
        at += page.len();
        match read {
            Ok(()) => {}
            Err(error) if is_lost(&error) => {
                page.fill(0xff);
                lost_until = at;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(SegmentBytes { bytes, lost_until })
}

impl Recovered {
    fn damage(&mut self, bytes: usize) {
        if bytes > 0 {
            self.damaged += 1;
            self.damaged_bytes += bytes as u64;
        }
    }
}

/// Disks lose at least a sector, and the system reads whole pages.
const PAGE_BYTES: usize = 4_096;
