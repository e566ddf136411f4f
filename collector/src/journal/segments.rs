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

/// Where a report's bytes stand in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordLocation {
    pub(crate) position: u64,
    pub(crate) len: u32,
}

/// All files of the journal.
pub(crate) struct Segments {
    folder: PathBuf,
    sync: Sync,
    /// From the oldest to the one that is written.
    files: Mutex<VecDeque<Segment>>,
    spares: PreallocatedSegments,
    /// The log says once that a disk loses what it held: questions may ask for the same again and again.
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
    /// Opens the folder, made when missing.
    pub(crate) fn open(folder: &Path, sync: Sync) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let (mut files, mut spares) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == preallocation::EXTENSION) {
                spares.push(path);
            } else if let Some(base) = path.file_name().and_then(|name| base_of(name.to_str()?)) {
                let file = OpenOptions::new().read(true).write(true).open(&path)?;
                files.push(Segment { base, file: Arc::new(file) });
            }
        }
        files.sort_by_key(|segment| segment.base);
        let (files, spares) = (Mutex::new(files.into()), PreallocatedSegments::new(spares));
        Ok(Self { folder: folder.into(), sync, files, spares, told_of_loss: AtomicBool::new(false) })
    }

    /// The report at `at`. `None` when it is no longer kept, or the disk has lost it.
    pub(crate) fn report(&self, at: RecordLocation) -> io::Result<Option<StreamReport>> {
        Ok(self.record(at)?.map(|record| record.report))
    }

    /// The same, with what is known beside it.
    pub(crate) fn record(&self, at: RecordLocation) -> io::Result<Option<Record>> {
        Ok(self.read(at)?.and_then(|bytes| record::read(&bytes)))
    }

    fn read(&self, at: RecordLocation) -> io::Result<Option<Vec<u8>>> {
        let holds = |segment: &&Segment| segment.base <= at.position;
        // A file that is being read is not used again: see `drop_before`.
        let Some(segment) = self.files().iter().rev().find(holds).cloned() else { return Ok(None) };
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

    /// Lets go of every file that ends at or before `position`.
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
        // Whoever still reads it must not find another's bytes in it.
        if Arc::try_unwrap(file).is_err() { fs::remove_file(path) } else { self.spares.add(&path) }
    }

    /// Sees to it that there is a file to go on in, where writes wait for the disk. Not while the first holds
    /// next to nothing: most collectors take long to come to a second.
    pub(crate) fn lay_by(&self) -> io::Result<()> {
        let Some(newest) = self.files().back().cloned() else { return Ok(()) };
        if self.sync == Sync::Normal || newest.file.metadata()?.len() < SEGMENT_BYTES / 8 {
            return Ok(());
        }
        self.spares.make(&self.folder, SEGMENT_BYTES)
    }

    /// A new file for what comes after `base`.
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
        // One of the same base holds nothing: it was begun, and then could not be written.
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

/// The end of the journal, where it grows.
pub(super) struct SegmentWriter {
    segments: Arc<Segments>,
    /// `None` before the first group, and after a failure.
    active: Option<Segment>,
    /// What a failure may have left behind the end of this file, which is to be cut away first.
    torn: Option<Segment>,
    /// Position after the last frame that was kept.
    end: u64,
}

impl SegmentWriter {
    /// Goes on at `end`, in the newest file if it reaches to there.
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

    /// Keeps one frame, and gives back its position. After an error nothing of it is left.
    pub(super) fn append(&mut self, frame: &mut Frame) -> io::Result<u64> {
        let position = self.end;
        let len = frame.len();
        self.write(frame.sealed_last(position), len)?;
        Ok(position)
    }

    /// Keeps many, all or none, and gives back the position of the first; `scratch` is for their bytes.
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

    /// Whether the disk takes bytes again. None of these are kept.
    pub(super) fn probe(&mut self) -> io::Result<()> {
        self.write(&[0; PROBE_BYTES], 0)
    }

    /// Writes `bytes` at the end, of which the first `batch` stay.
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
            // What was refused must not be found at the next start. After a failed sync nobody knows
            // what of a file is on the disk: it is not written again.
            self.torn = Some(segment);
            self.active = None;
            // If that fails too, it is tried again before the next write.
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

    /// The file that the next group goes to.
    fn segment(&self) -> io::Result<Segment> {
        match &self.active {
            Some(active) if self.end - active.base < SEGMENT_BYTES => Ok(active.clone()),
            _ => self.segments.begin(self.end),
        }
    }
}

/// The disk says that it cannot read these bytes: it will say so again, and can read others.
pub(super) fn is_lost(error: &io::Error) -> bool {
    error.raw_os_error() == Some(EIO)
}

/// Position of the first byte of a file of this name. `None` for what is no file of the journal.
pub(crate) fn base_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(EXTENSION)?.strip_suffix('.')?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// A file is full from here on. Small enough to be let go soon, large enough that its making is rare.
const SEGMENT_BYTES: u64 = 8 * 1024 * 1024;

/// More than a file system keeps aside for one file.
const PROBE_BYTES: usize = 64 * 1024;

/// The same number on every Unix.
const EIO: i32 = 5;

const EXTENSION: &str = "log";
