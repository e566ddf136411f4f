//! Erases reports from the journal's files while no collector uses them. Each file is replaced as a whole, so a crash
//! leaves the old or the new one. No position changes: zeros take the place of an erased batch.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use super::frame::{self, END, Scanned};
use super::preallocation;
use super::record;
use super::segments::base_of;

/// Decides by arrival and site whether a batch is erased. A batch is one beacon, so it has one site.
pub(crate) type IsErased<'a> = &'a dyn Fn(i64, &str) -> bool;

/// A file of the journal.
pub(crate) struct JournalFile {
    pub(crate) path: PathBuf,
    /// Position of its first byte.
    base: u64,
    /// Position of the next file. `None` for the newest.
    next_base: Option<u64>,
}

/// The files of the journal, oldest first.
pub(crate) fn files(folder: &Path) -> io::Result<Vec<JournalFile>> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if let Some(base) = path.file_name().and_then(|name| base_of(name.to_str()?)) {
            found.push((base, path));
        }
    }
    found.sort();
    let bases: Vec<_> = found.iter().skip(1).map(|(base, _)| Some(*base)).chain([None]).collect();
    let files = found.into_iter().zip(bases);
    Ok(files.map(|((base, path), next_base)| JournalFile { path, base, next_base }).collect())
}

/// Files that are kept to be used again. They still have the reports of their earlier use.
pub(crate) fn spares(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = entries(folder)?;
    let is_spare = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        [Some(preallocation::EXTENSION), Some(PART)].contains(&extension)
    };
    found.retain(is_spare);
    Ok(found)
}

/// Names that the journal does not use are skipped, and so is a folder that does not exist.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

impl JournalFile {
    /// Number of reports in the batches that are erased. 0 if the journal has just deleted the file.
    pub(crate) fn count(&self, is_erased: IsErased<'_>) -> io::Result<u64> {
        let mut bytes = match self.read() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
            read => read?,
        };
        Ok(erase(&mut bytes, self.base, u64::MAX, is_erased).reports)
    }

    /// Whether it has a batch from this position on.
    pub(crate) fn has_batch_from(&self, position: u64) -> io::Result<bool> {
        let mut bytes = self.read()?;
        let end = erase(&mut bytes, self.base, 0, &|_, _| false).end;
        Ok(self.base + end as u64 > position)
    }

    /// Erases batches before the position `counted_up_to`, from which on a start reads the journal. Also erases
    /// everything that is no batch: a file that is used again ends in reports of its earlier use.
    pub(crate) fn erase(&self, counted_up_to: u64, is_erased: IsErased<'_>) -> io::Result<()> {
        let mut bytes = self.read()?;
        let Erased { end, is_changed, .. } = erase(&mut bytes, self.base, counted_up_to, is_erased);
        if !is_changed {
            return Ok(());
        }
        // The journal continues at this position, so the newest file must extend to it.
        let counted = usize::try_from(counted_up_to.saturating_sub(self.base)).unwrap_or(usize::MAX);
        bytes.truncate(if self.next_base.is_none() { end.max(counted) } else { end });
        bytes.extend_from_slice(&END);
        let part = self.path.with_file_name("new").with_extension(PART);
        let mut file = File::create(&part)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&part, &self.path)?;
        sync_folder_of(&self.path)
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let file = File::open(&self.path)?;
        let mut bytes = Vec::new();
        let len = self.next_base.map_or(u64::MAX, |next| next - self.base);
        file.take(len).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Makes sure that a new name is on the disk.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[derive(Debug, PartialEq, Eq)]
struct Erased {
    /// Reports in erased batches.
    reports: u64,
    /// Whether any byte that was not zero is zero now.
    is_changed: bool,
    /// End of the last batch that stays.
    end: usize,
}

/// Erases in the bytes of a file that begins at `base`.
fn erase(bytes: &mut [u8], base: u64, up_to: u64, is_erased: IsErased<'_>) -> Erased {
    let mut erased = Erased { reports: 0, is_changed: false, end: 0 };
    let mut at = 0;
    loop {
        let (stays, end) = match frame::next(bytes, base, at) {
            Scanned::Whole { payload, end } | Scanned::Damaged { payload, end } => {
                let is_counted = base + (at as u64) < up_to;
                let reports = is_counted.then(|| erased_reports(payload, is_erased)).flatten();
                erased.reports += reports.unwrap_or(0);
                (reports.is_none(), end)
            }
            Scanned::Nothing => match frame::resync(bytes, base, at) {
                Some(found) => (false, found),
                None => {
                    erased.zero(&mut bytes[at..]);
                    return erased;
                }
            },
        };
        if stays {
            erased.end = end;
        } else {
            erased.zero(&mut bytes[at..end]);
        }
        at = end;
    }
}

impl Erased {
    fn zero(&mut self, bytes: &mut [u8]) {
        self.is_changed |= bytes.iter().any(|byte| *byte != 0);
        bytes.fill(0);
    }
}

/// Number of reports in a batch that is erased; `None` if it stays. A damaged batch is read as far as possible, because
/// single reports of it may still be listed. A batch without a readable report is of no use and is erased.
fn erased_reports(payload: &[u8], is_erased: IsErased<'_>) -> Option<u64> {
    let Some((received_ms, ranges)) = frame::unpack(payload) else { return Some(0) };
    let records = || ranges.iter().map(|range| range.of(payload));
    let sites: Vec<_> = records().filter_map(record::read).map(|record| record.report.site).collect();
    let fact_site = || records().find_map(record::read_fact).map(|fact| fact.site.into());
    let first = sites.first().cloned().or_else(|| Some(fact_site()).filter(Option::is_some));
    let stays = |site: Option<_>| !is_erased(received_ms, site.as_deref().unwrap_or_default());
    (!first.is_some_and(stays)).then_some(sites.len() as u64)
}

/// Extension of a file that is not complete.
const PART: &str = "part";

#[cfg(test)]
mod tests {
    use beacon::{LayerTiming, StreamReport};
    use proptest::prelude::*;

    use super::super::frame::Frame;
    use super::*;
    use crate::report::server_fact::{Layer, ServerFact};

    const SITES: [&str; 3] = ["shop", "blog", "docs"];

    /// A file of batches, as their sites and arrivals tell, with the position after each.
    fn file(base: u64, batches: &[(usize, i64)]) -> (Vec<u8>, Vec<u64>) {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for (number, (site, received_ms)) in batches.iter().enumerate() {
            let reports = (0..=number % 3).map(|_| StreamReport {
                site: Some(SITES[*site].into()),
                ..StreamReport::new(format!("{number:032x}"))
            });
            let mut frame = Frame::pack(*received_ms, reports, |report, into| {
                record::write(number as u128, None, None, &report, into);
            });
            let sealed = frame.sealed(base + bytes.len() as u64).to_vec();
            bytes.extend(sealed);
            ends.push(base + bytes.len() as u64);
        }
        (bytes, ends)
    }

    fn has(bytes: &[u8], text: &str) -> bool {
        memchr::memmem::find(bytes, text.as_bytes()).is_some()
    }

    proptest! {
        #[test]
        fn erasing_a_site_leaves_all_other_bytes(
            base in 0_u64..5_000,
            batches in proptest::collection::vec((0_usize..3, 0_i64..10), 0..12),
            junk in proptest::collection::vec(any::<u8>(), 0..60),
            before_ms in 0_i64..12,
        ) {
            let (original, ends) = file(base, &batches);
            let mut bytes = original.clone();
            bytes.extend(&junk);
            let is_erased = |received_ms: i64, site: &str| site == "shop" && received_ms < before_ms;
            let found = erase(&mut bytes, base, u64::MAX, &is_erased);
            let mut from = 0;
            let mut reports = 0;
            for (number, ((site, received_ms), end)) in batches.iter().zip(&ends).enumerate() {
                let to = (end - base) as usize;
                if is_erased(*received_ms, SITES[*site]) {
                    reports += number as u64 % 3 + 1;
                    prop_assert!(bytes[from..to].iter().all(|byte| *byte == 0));
                } else {
                    prop_assert_eq!(&bytes[from..to], &original[from..to]);
                }
                from = to;
            }
            prop_assert!(bytes[from..].iter().all(|byte| *byte == 0), "junk is erased");
            prop_assert_eq!(found.reports, reports);
            let again = erase(&mut bytes, base, u64::MAX, &is_erased);
            prop_assert_eq!(again, Erased { reports: 0, is_changed: false, end: found.end });
        }
    }

    #[test]
    fn batches_that_are_not_counted_stay() {
        let (mut bytes, ends) = file(7, &[(0, 1), (0, 2)]);
        let found = erase(&mut bytes, 7, ends[0], &|_, site| site == "shop");
        assert_eq!((found.reports, found.end), (1, bytes.len()));
        assert!(has(&bytes, "shop"));
    }

    #[test]
    fn facts_of_the_backend_are_erased_with_their_site() {
        for (site, stays) in [("shop", false), ("blog", true)] {
            let fact = ServerFact {
                site: site.to_owned(),
                response_id: "chatcmpl-7f3a".to_owned(),
                layer: Layer::App,
                timing: LayerTiming::default(),
            };
            let mut frame = Frame::pack(1, [fact], |fact, into| record::write_fact(&fact, into));
            let mut bytes = frame.sealed(0).to_vec();
            erase(&mut bytes, 0, u64::MAX, &|_, site| site == "shop");
            assert_eq!(has(&bytes, "chatcmpl-7f3a"), stays, "{site}");
        }
    }

    #[test]
    fn a_damaged_batch_of_another_site_stays() {
        for (site, stays) in [(0, false), (1, true)] {
            let (mut bytes, _) = file(0, &[(site, 1)]);
            // The arrival is wrong now, and so is the checksum.
            bytes[16] ^= 1;
            let found = erase(&mut bytes, 0, u64::MAX, &|_, site| site == "shop");
            assert_eq!((found.is_changed, has(&bytes, SITES[site])), (!stays, stays));
        }
    }

    #[test]
    fn the_newest_file_keeps_its_length_for_the_next_batch() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0000000000000000.log");
        let (bytes, ends) = file(0, &[(1, 1), (0, 2)]);
        fs::write(&path, [&bytes[..], b"earlier shop"].concat()).unwrap();
        let files = files(folder.path()).unwrap();
        let is_erased: IsErased<'_> = &|_, site| site == "shop";
        assert_eq!((files.len(), files[0].count(is_erased).unwrap()), (1, 2));
        assert!(files[0].has_batch_from(ends[0]).unwrap() && !files[0].has_batch_from(ends[1]).unwrap());
        files[0].erase(ends[1], is_erased).unwrap();
        let after = fs::read(&path).unwrap();
        assert!(after.len() as u64 >= ends[1] && !has(&after, "shop") && has(&after, "blog"));
        assert_eq!(files[0].count(is_erased).unwrap(), 0);
    }
}
