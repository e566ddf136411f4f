//! The journal's files: groups of frames are appended, records are read by their location, and files that are no
//! longer needed are reused.
//!
//! A position counts bytes since the journal began. A file is named after the position of its first byte, and ends
//! where the next one begins.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beacon::StreamReport;

use super::frame::{END, Frame};
use super::preallocation::{self, PreallocatedSegments};
use super::record::{self, Record};
use crate::config::Sync;

/// Location of a report's bytes in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordLocation {
    pub(crate) position: u64,
    pub(crate) len: u32,
}

/// All files of the journal.
pub(crate) struct Segments {
    folder: PathBuf,
    sync: Sync,
    /// Oldest first; the last one is being written.
    files: Mutex<VecDeque<Segment>>,
    spares: PreallocatedSegments,
    /// Set by the first log message about lost data, which is the only one: queries may read the same record
    /// often.
    told_of_loss: AtomicBool,
}

/// One file.
#[derive(Clone)]
pub(super) struct Segment {
    /// Position of its first byte.
    pub(super) base: u64,
    pub(super) file: Arc<File>,
}

impl Segments {
    /// Opens the folder, and creates it if it is missing.
    pub(crate) fn open(folder: &Path, sync: Sync) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let (mut files, mut spares) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == preallocation::EXTENSION) {
                spares.push(path);
            } else if let Some(base) = path.file_name().and_then(|name| base_of(name.to_str()?)) {
                let file = OpenOptions::new().read(true).write(true).open(&path);
                let file = file.map_err(|error| {
                    io::Error::new(error.kind(), format!("cannot open {}: {error}", path.display()))
                })?;
                files.push(Segment { base, file: Arc::new(file) });
            }
        }
        files.sort_by_key(|segment| segment.base);
        let (files, spares) = (Mutex::new(files.into()), PreallocatedSegments::new(spares));
        Ok(Self { folder: folder.into(), sync, files, spares, told_of_loss: AtomicBool::new(false) })
    }

    /// The report at `at`. `None` if it is no longer stored, or if the disk has lost it.
    pub(crate) fn report(&self, at: RecordLocation) -> io::Result<Option<StreamReport>> {
        Ok(self.record(at)?.map(|record| record.report))
    }

    /// The report at `at` with its id and country.
    pub(crate) fn record(&self, at: RecordLocation) -> io::Result<Option<Record>> {
        Ok(self.read(at)?.and_then(|bytes| record::read(&bytes)))
    }

    /// The files as they are now. Their records can be read although the journal drops them meanwhile.
    pub(crate) fn hold(&self) -> HeldSegments {
        HeldSegments(self.files().iter().cloned().collect())
    }

    /// The report at `at`, also if the journal has dropped its file since it was held.
    pub(crate) fn held_record(&self, held: &HeldSegments, at: RecordLocation) -> io::Result<Option<Record>> {
        if let Some(record) = self.record(at)? {
            return Ok(Some(record));
        }
        let holds = |segment: &&Segment| segment.base <= at.position;
        let Some(segment) = held.0.iter().rev().find(holds) else { return Ok(None) };
        Ok(self.read_from(segment, at)?.and_then(|bytes| record::read(&bytes)))
    }

    fn read(&self, at: RecordLocation) -> io::Result<Option<Vec<u8>>> {
        let holds = |segment: &&Segment| segment.base <= at.position;
        let Some(segment) = self.files().iter().rev().find(holds).cloned() else { return Ok(None) };
        self.read_from(&segment, at)
    }

    /// A file is not reused while it is being read: see `drop_before`.
    fn read_from(&self, segment: &Segment, at: RecordLocation) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; at.len as usize];
        match segment.file.read_exact_at(&mut bytes, at.position - segment.base) {
            Ok(()) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            Err(error) if is_lost(&error) => {
                if !self.told_of_loss.swap(true, Ordering::Relaxed) {
                    tracing::error!(%error, "The disk cannot read a part of the journal");
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Removes every file that ends at or before `position`.
    pub(crate) fn drop_before(&self, position: u64) -> io::Result<()> {
        loop {
            let mut files = self.files();
            if files.get(1).is_none_or(|next| next.base > position) {
                return Ok(());
            }
            let Some(oldest) = files.pop_front() else { return Ok(()) };
            drop(files);
            self.retire(oldest)?;
        }
    }

    fn retire(&self, Segment { base, file }: Segment) -> io::Result<()> {
        let path = self.path(base);
        // A request that still reads this file must not find another file's bytes in it.
        if Arc::try_unwrap(file).is_err() { fs::remove_file(path) } else { self.spares.add(&path) }
    }

    /// Preallocates the next file if writes wait for the disk. It does so only once the newest file has some
    /// content: most collectors take long to need a second one.
    pub(crate) fn lay_by(&self) -> io::Result<()> {
        let Some(newest) = self.files().back().cloned() else { return Ok(()) };
        if self.sync == Sync::Normal || newest.file.metadata()?.len() < SEGMENT_BYTES / 8 {
            return Ok(());
        }
        self.spares.make(&self.folder, SEGMENT_BYTES)
    }

    /// Creates the file for everything from `base` on.
    fn begin(&self, base: u64) -> io::Result<Segment> {
        let path = self.path(base);
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = match self.spares.take().map(|spare| fs::rename(spare, &path)) {
            Some(Ok(())) => options.open(&path)?,
            Some(Err(_)) | None => options.create(true).truncate(true).open(&path)?,
        };
        if self.sync == Sync::Full {
            File::open(&self.folder)?.sync_all()?;
        }
        let segment = Segment { base, file: Arc::new(file) };
        let mut files = self.files();
        // An earlier file with the same base is empty: it was created, and could not be written.
        files.retain(|other| other.base != base);
        files.push_back(segment.clone());
        Ok(segment)
    }

    pub(super) fn files(&self) -> MutexGuard<'_, VecDeque<Segment>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, base: u64) -> PathBuf {
        self.folder.join(format!("{base:016x}.{EXTENSION}"))
    }
}

/// Files of the journal that stay readable.
pub(crate) struct HeldSegments(Vec<Segment>);

/// Writes to the end of the journal.
pub(super) struct SegmentWriter {
    segments: Arc<Segments>,
    /// `None` before the first group, and after a failure.
    active: Option<Segment>,
    /// A file in which a failed write may have left bytes after the end. They are cut off before the next
    /// write.
    torn: Option<Segment>,
    /// Position after the last complete frame.
    end: u64,
}

impl SegmentWriter {
    /// Continues at `end`, in the newest file if it extends to that position.
    pub(super) fn resume(segments: Arc<Segments>, end: u64) -> io::Result<Self> {
        let newest = segments.files().back().cloned();
        let mut log = Self { segments, active: None, torn: None, end };
        if let Some(newest) = newest
            && newest.base <= end
            && newest.file.metadata()?.len() >= end - newest.base
        {
            newest.file.set_len(end - newest.base)?;
            log.active = Some(newest);
        }
        Ok(log)
    }

    /// Appends one frame, and returns its position. After an error none of its bytes remain.
    pub(super) fn append(&mut self, frame: &mut Frame) -> io::Result<u64> {
        let position = self.end;
        let len = frame.len();
        self.write(frame.sealed_last(position), len)?;
        Ok(position)
    }

    /// Appends all frames or none, and returns the position of the first. `scratch` is a buffer for their
    /// bytes.
    pub(super) fn append_all(&mut self, frames: &mut [Frame], scratch: &mut Vec<u8>) -> io::Result<u64> {
        if let [one] = frames {
            return self.append(one);
        }
        let position = self.end;
        scratch.clear();
        for frame in frames {
            let at = position + scratch.len() as u64;
            scratch.extend_from_slice(frame.sealed(at));
        }
        let len = scratch.len();
        scratch.extend_from_slice(&END);
        self.write(scratch, len)?;
        Ok(position)
    }

    /// Tests whether the disk accepts bytes. None of them are kept.
    pub(super) fn probe(&mut self) -> io::Result<()> {
        self.write(&[0; PROBE_BYTES], 0)?;
        match &self.active {
            Some(active) => active.file.set_len(self.end - active.base),
            None => Ok(()),
        }
    }

    /// Writes `bytes` at the end, and keeps the first `batch` of them.
    fn write(&mut self, bytes: &[u8], batch: usize) -> io::Result<()> {
        self.mend()?;
        let segment = self.segment()?;
        let written = segment.file.write_all_at(bytes, self.end - segment.base).and_then(|()| {
            match self.segments.sync {
                Sync::Full => segment.file.sync_data(),
                Sync::Normal => Ok(()),
            }
        });
        if let Err(error) = written {
            // A refused batch must not be found at the next start. After a failed sync, the content of the
            // file on the disk is unknown: it is not written again.
            self.torn = Some(segment);
            self.active = None;
            // If this fails too, the next write repeats it first.
            let _mended = self.mend();
            return Err(error);
        }
        self.end += batch as u64;
        self.active = Some(segment);
        Ok(())
    }

    fn mend(&mut self) -> io::Result<()> {
        if let Some(torn) = &self.torn {
            torn.file.set_len(self.end - torn.base)?;
            if self.segments.sync == Sync::Full {
                torn.file.sync_all()?;
            }
            self.torn = None;
        }
        Ok(())
    }

    /// The file for the next group.
    fn segment(&self) -> io::Result<Segment> {
        match &self.active {
            Some(active) if self.end - active.base < SEGMENT_BYTES => Ok(active.clone()),
            _ => self.segments.begin(self.end),
        }
    }
}

/// The disk cannot read these bytes. A retry would fail too, but other bytes may be readable.
pub(super) fn is_lost(error: &io::Error) -> bool {
    error.raw_os_error() == Some(EIO)
}

/// Position of the first byte of the file with this name. `None` if it is not a file of the journal.
pub(crate) fn base_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(EXTENSION)?.strip_suffix('.')?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// Size from which on a file is full: small enough to be removed soon, large enough that new files are rare.
const SEGMENT_BYTES: u64 = 8 * 1024 * 1024;

/// More than a file system reserves for one file in advance.
const PROBE_BYTES: usize = 64 * 1024;

/// EIO has the same value on every Unix.
const EIO: i32 = 5;

const EXTENSION: &str = "log";
