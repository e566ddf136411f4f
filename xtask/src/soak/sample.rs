//! What a process holds at one moment, as the kernel accounts for it.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};

/// What the collector held at one moment.
pub(super) struct Sample {
    pub(super) minutes: f64,
    /// Resident memory.
    pub(super) memory_mb: f64,
    /// Bytes of all files in the data folder.
    pub(super) disk_mb: f64,
    /// Open files and sockets.
    pub(super) descriptors: f64,
}

impl Sample {
    /// Of the collector with this process id and data folder, whose soak began at `began`.
    pub(super) fn take(pid: u32, data: &Path, began: Instant) -> Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let resident =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("memory is told")?;
        let kib: f64 = resident.split_whitespace().next().context("a number of kB")?.parse()?;
        Ok(Self {
            minutes: began.elapsed().as_secs_f64() / 60.0,
            memory_mb: kib * 1_024.0 / 1e6,
            disk_mb: bytes_below(data)? as f64 / 1e6,
            descriptors: fs::read_dir(format!("/proc/{pid}/fd"))?.count() as f64,
        })
    }
}

fn bytes_below(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // A file may be removed between the two calls.
        let Ok(metadata) = entry.metadata() else { continue };
        bytes += if metadata.is_dir() { bytes_below(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
