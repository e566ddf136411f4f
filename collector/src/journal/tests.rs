//! Recovery after a cut or damage anywhere in the files.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use beacon::StreamReport;
use proptest::prelude::*;
use tempfile::TempDir;

use super::frame::Frame;
use super::recovery::{Recovered, replay};
use super::segments::{SegmentWriter, Segments};
use super::*;
use crate::report::accepted::Discarded;

/// A journal in its own folder. Each frame contains one text.
struct Fixture {
    folder: TempDir,
    /// Position after each frame. The first entry is the beginning of the journal.
    ends: Vec<u64>,
}

impl Fixture {
    fn of(frames: usize) -> Self {
        let mut fixture = Self { folder: TempDir::new().unwrap(), ends: vec![0] };
        let mut log = fixture.log(0);
        for at in 0..frames {
            let mut frame = packed(&text(at));
            log.append(&mut frame).unwrap();
            fixture.ends.push(fixture.ends[at] + frame.len() as u64);
        }
        fixture
    }

    fn segments(&self) -> Arc<Segments> {
        Arc::new(Segments::open(self.folder.path(), Sync::Normal).unwrap())
    }

    fn log(&self, end: u64) -> SegmentWriter {
        SegmentWriter::resume(self.segments(), end).unwrap()
    }

    /// Numbers of the replayed frames, and the findings about the rest.
    fn replayed(&self, from: u64) -> (Vec<usize>, Recovered) {
        let mut numbers = Vec::new();
        let recovered = replay(&self.segments(), from, |_, payload, _| {
            let (_, spans) = frame::unpack(payload).unwrap();
            let text = std::str::from_utf8(spans[0].of(payload)).unwrap();
            numbers.push(text.split(' ').next().unwrap().parse().unwrap());
            Ok::<_, io::Error>(())
        });
        (numbers, recovered.unwrap())
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> =
            fs::read_dir(self.folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    }

    fn change(&self, at: u64, change: impl Fn(u8) -> u8) {
        let file = OpenOptions::new().read(true).write(true).open(&self.files()[0]).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[change(byte[0])], at).unwrap();
    }
}

fn packed(text: &str) -> Frame {
    Frame::pack(0, &[text], |text, into| into.extend_from_slice(text.as_bytes()))
}

fn text(at: usize) -> String {
    format!("{at} {}", "x".repeat(at % 40))
}

#[test]
fn a_tail_cut_at_any_byte_loses_only_the_last_frame() {
    let fixture = Fixture::of(3);
    let (batch, end) = (fixture.ends[2], fixture.ends[3]);
    let whole = fs::read(&fixture.files()[0]).unwrap();
    for cut in batch..end {
        fs::write(&fixture.files()[0], &whole[..cut as usize]).unwrap();
        let (numbers, found) = fixture.replayed(0);
        assert_eq!(
            (numbers, found.end, found.torn_bytes, found.damaged),
            (vec![0, 1], batch, cut - batch, 0)
        );
    }
}

#[test]
fn any_flipped_byte_loses_one_frame_and_is_counted() {
    for at in 0..Fixture::of(3).ends[3] {
        let fixture = Fixture::of(3);
        let hit = fixture.ends.iter().rposition(|end| *end <= at).unwrap();
        fixture.change(at, |byte| byte ^ 0x10);
        let (numbers, found) = fixture.replayed(0);
        assert_eq!(numbers, (0..3).filter(|number| *number != hit).collect::<Vec<_>>(), "byte {at}");
        let findings = (found.damaged, found.torn_bytes > 0);
        assert_eq!(findings, if hit == 2 { (0, true) } else { (1, false) }, "byte {at}");
    }
}

#[test]
fn an_end_that_was_counted_and_is_gone_is_told() {
    let fixture = Fixture::of(3);
    let [first, end] = [fixture.ends[1], fixture.ends[3]];
    let file = OpenOptions::new().write(true).open(&fixture.files()[0]).unwrap();
    assert_eq!(fixture.replayed(end).1.missing_bytes, 0);
    for cut in [first, 0] {
        file.set_len(cut).unwrap();
        let (_, found) = fixture.replayed(end);
        assert_eq!((found.end, found.missing_bytes), (end, end - cut), "no position is given out twice");
    }
    fs::remove_file(&fixture.files()[0]).unwrap();
    let (_, found) = fixture.replayed(end);
    assert_eq!((found.end, found.missing_bytes), (end, end));
}

#[test]
fn frames_written_after_a_cut_are_replayed() {
    let fixture = Fixture::of(3);
    fixture.change(fixture.ends[2] + 20, |byte| !byte);
    let (_, found) = fixture.replayed(0);
    let mut frame = packed("7 ");
    assert_eq!(fixture.log(found.end).append(&mut frame).unwrap(), fixture.ends[2]);
    let (numbers, found) = fixture.replayed(0);
    assert_eq!((numbers, found.damaged, found.torn_bytes), (vec![0, 1, 7], 0, 0));
}

#[test]
fn frames_are_written_after_the_position_of_the_store() {
    let fixture = Fixture::of(1);
    let mut frame = packed("1 ");
    assert_eq!(fixture.log(5_000).append(&mut frame).unwrap(), 5_000);
    assert_eq!(fixture.replayed(5_000).0, [1]);
    assert_eq!(
        fixture.replayed(0),
        (vec![0, 1], Recovered { end: 5_000 + frame.len() as u64, ..Recovered::default() })
    );
}

#[test]
fn a_group_is_replayed_as_its_frames() {
    let fixture = Fixture::of(1);
    let mut group: Vec<_> = (1..9).map(|at| packed(&text(at))).collect();
    let position = fixture.log(fixture.ends[1]).append_all(&mut group, &mut Vec::new()).unwrap();
    assert_eq!(position, fixture.ends[1]);
    let (numbers, found) = fixture.replayed(0);
    let len: u64 = group.iter().map(|frame| frame.len() as u64).sum();
    assert_eq!((numbers, found.torn_bytes, found.end), ((0..9).collect(), 0, position + len));
}

/// Three files, in frames of 1 MiB.
fn large() -> Fixture {
    let mut fixture = Fixture { folder: TempDir::new().unwrap(), ends: vec![0] };
    let mut log = fixture.log(0);
    for at in 0..24 {
        let mut frame = packed(&format!("{at} {}", "x".repeat(1 << 20)));
        log.append(&mut frame).unwrap();
        fixture.ends.push(fixture.ends[at] + frame.len() as u64);
    }
    fixture
}

#[test]
fn a_held_report_is_read_although_its_file_is_dropped() {
    let fixture = Fixture { folder: TempDir::new().unwrap(), ends: vec![0] };
    let segments = fixture.segments();
    let mut log = SegmentWriter::resume(segments.clone(), 0).unwrap();
    let report = StreamReport::new(format!("{:032x}", 7));
    let mut first = Frame::pack(0, std::slice::from_ref(&report), |report, into| {
        record::write(7, None, None, report, into);
    });
    let at = frame::unpack(first.payload()).unwrap().1[0].at(0);
    log.append(&mut first).unwrap();
    for at in 0..24 {
        log.append(&mut packed(&format!("{at} {}", "x".repeat(1 << 20)))).unwrap();
    }
    let held = segments.hold();
    let files = fixture.files().len();
    segments.drop_before(20 << 20).unwrap();
    assert!(fixture.files().len() < files && segments.record(at).unwrap().is_none());
    assert_eq!(segments.held_record(&held, at).unwrap().unwrap().report, report);
}

#[test]
fn unneeded_segments_are_removed_or_reused() {
    let fixture = large();
    assert_eq!(fixture.files().len(), 3);
    let segments = Arc::new(Segments::open(fixture.folder.path(), Sync::Full).unwrap());
    segments.drop_before(fixture.ends[20]).unwrap();
    assert_eq!(fixture.files().len(), 3, "the newest, and two to be used again");
    assert_eq!(fixture.replayed(fixture.ends[20]).0, [20, 21, 22, 23]);
    let mut log = SegmentWriter::resume(segments, fixture.ends[24] + 100).unwrap();
    let mut frame = packed("24 ");
    let position = log.append(&mut frame).unwrap();
    assert_eq!(fixture.files().len(), 3, "one of the two is in use");
    let (numbers, found) = fixture.replayed(position);
    assert_eq!((numbers, found.damaged, found.torn_bytes), (vec![24], 0, 0), "its earlier life is forgotten");
}

#[test]
fn damage_inside_an_old_segment_loses_only_its_frame() {
    let fixture = large();
    fixture.change(fixture.ends[3] + 9, |byte| !byte);
    let (numbers, found) = fixture.replayed(0);
    assert_eq!(numbers, (0..24).filter(|number| *number != 3).collect::<Vec<_>>());
    assert_eq!((found.damaged, found.torn_bytes, found.end), (1, 0, fixture.ends[24]));
}

#[test]
fn the_next_file_has_its_blocks_before_it_is_written() {
    let mut fixture = Fixture { folder: TempDir::new().unwrap(), ends: vec![0] };
    let segments = Arc::new(Segments::open(fixture.folder.path(), Sync::Full).unwrap());
    let mut log = SegmentWriter::resume(segments.clone(), 0).unwrap();
    let mut append = |bytes| {
        let mut frame = packed(&format!("{} {}", fixture.ends.len() - 1, "x".repeat(bytes)));
        let position = log.append(&mut frame).unwrap();
        fixture.ends.push(position + frame.len() as u64);
    };
    append(10);
    segments.lay_by().unwrap();
    append(8 << 20);
    let lengths = || {
        let files = fixture.folder.path().read_dir().unwrap();
        let mut lengths: Vec<_> = files.map(|file| file.unwrap().metadata().unwrap().len()).collect();
        lengths.sort_unstable();
        lengths
    };
    assert_eq!(lengths().len(), 1, "one report is no reason to make room for thousands");
    (0..2).for_each(|_| segments.lay_by().unwrap());
    let laid_by = lengths();
    assert_eq!((laid_by.len(), laid_by[0]), (2, 8 << 20));
    append(10);
    assert_eq!(lengths(), laid_by, "the file that was laid by is in use");
    let (numbers, found) = fixture.replayed(0);
    assert_eq!((numbers, found.damaged, found.torn_bytes), (vec![0, 1, 2], 0, 0));
}

#[test]
fn failed_preallocation_is_not_retried() {
    let fixture = large();
    let segments = Segments::open(fixture.folder.path(), Sync::Full).unwrap();
    fs::create_dir(fixture.folder.path().join("new.part")).unwrap();
    assert!(segments.lay_by().is_err());
    segments.lay_by().unwrap();
    assert_eq!(fixture.files().len(), 4, "three, and what is in the way");
}

#[test]
fn a_missing_segment_loses_only_its_own_frames() {
    let fixture = large();
    fs::remove_file(&fixture.files()[1]).unwrap();
    let (numbers, found) = fixture.replayed(0);
    assert_eq!((numbers.first(), numbers.last(), found.end), (Some(&0), Some(&23), fixture.ends[24]));
    assert_eq!(numbers.len(), 24 - 8);
}

#[tokio::test]
async fn a_batch_is_written_although_its_sender_has_gone() {
    for sync in [Sync::Normal, Sync::Full] {
        let folder = TempDir::new().unwrap();
        let segments = Arc::new(Segments::open(folder.path(), sync).unwrap());
        let config =
            Config { journal: crate::config::Journal { sync, ..Default::default() }, ..Config::default() };
        let opened =
            Journal::open(&segments, &config, Arc::default(), Arc::default(), 0, |_| Ok::<_, io::Error>(()));
        let journal = Arc::new(opened.unwrap().0);
        let thread = journal.start().unwrap();
        let batch = Batch {
            received_ms: 0,
            source: ReportSource::Unnamed,
            country: None,
            reports: Vec::new(),
            discarded: Discarded::default(),
        };
        drop(journal.append(&batch));
        journal.append(&batch).unwrap().await.unwrap();
        journal.close();
        thread.join().unwrap();
        assert_eq!(journal.queue().take(Instant::now()).written.len(), 2, "{sync:?}");
    }
}

proptest! {
    /// After any cut, followed by any bytes: replay returns all frames before the cut, and none that was
    /// never written.
    #[test]
    fn replay_after_any_cut_returns_all_whole_frames(
        frames in 1..30_usize, cut in 0.0..1.0_f64, behind in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let fixture = Fixture::of(frames);
        let cut = (fixture.ends[frames] as f64 * cut) as usize;
        let written = fs::read(&fixture.files()[0]).unwrap();
        let bytes = [&written[..cut], &behind].concat();
        // The bytes after the cut may equal the original ones by chance.
        let same = written.iter().zip(&bytes).take_while(|(was, is)| was == is).count() as u64;
        fs::write(&fixture.files()[0], bytes).unwrap();
        let whole = fixture.ends.iter().rposition(|end| *end <= same).unwrap();
        let (numbers, found) = fixture.replayed(0);
        prop_assert_eq!(numbers, (0..whole).collect::<Vec<_>>());
        prop_assert_eq!(found.end, fixture.ends[whole]);
    }

    /// From any position, in files of any content: replay ends, and does not panic.
    #[test]
    fn replay_of_any_bytes_ends_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..500), from in 0..600_u64) {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("0000000000000000.log"), bytes).unwrap();
        let segments = Segments::open(folder.path(), Sync::Normal).unwrap();
        let found = replay(&segments, from, |_, _, _| Ok::<_, io::Error>(())).unwrap();
        prop_assert!(found.end >= from);
    }
}
