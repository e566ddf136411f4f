//! Deletions that are killed, or whose disk becomes full, at any of their steps.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use super::{Folder, SIGN, answers, balances, parts, same, stop};

/// Steps at which deletions are interrupted in each test: evenly over all of them.
const POINTS: usize = 14;

/// A folder, and a deletion of it that is interrupted as `delete.c` says.
struct Interrupted {
    original: Folder,
    /// Answers about the site that stays.
    others: Vec<(String, String)>,
    library: PathBuf,
    /// Number of steps of a whole deletion.
    steps: usize,
}

impl Interrupted {
    fn new() -> Self {
        let original = Folder::with(&parts());
        let process = original.start();
        let others = answers(&process, "&site=blog");
        stop(process);
        let library = original.folder.path().join("delete.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/delete.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"]).arg(&library).args([source, "-ldl"]);
        assert!(compiler.status().expect("cc, which builds SQLite too").success());
        let mut interrupted = Self { original, others, library, steps: 0 };
        let (whole, copy) = (interrupted.steps_file(), interrupted.original.copy());
        let output = interrupted.command(&copy).env("LLM_RUM_STEPS", &whole).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        interrupted.steps = fs::read_to_string(whole).unwrap().parse().unwrap();
        interrupted
    }

    fn steps_file(&self) -> PathBuf {
        self.library.with_extension("steps")
    }

    fn command(&self, folder: &Folder) -> Command {
        let mut command = folder.command("delete");
        command.args(["--site", SIGN, "--yes"]).env("LD_PRELOAD", &self.library);
        command
    }

    /// A copy of the folder after a deletion that was interrupted at a step, and what it printed.
    fn at(&self, how: &str, step: usize) -> (Folder, Output) {
        let folder = self.original.copy();
        let output = self.command(&folder).env("LLM_RUM_STEP", format!("{how} {step}")).output().unwrap();
        (folder, output)
    }

    /// From the first step to the last.
    fn points(&self) -> impl Iterator<Item = usize> {
        let steps = self.steps;
        (0..POINTS).map(move |point| 1 + point * (steps - 1) / (POINTS - 1))
    }

    /// Checks what a collector shows: all streams or none of the deleted site, and all others. Returns their number.
    fn shows(&self, folder: &Folder) -> u64 {
        let process = folder.start();
        same(&self.others, &answers(&process, "&site=blog"));
        let streams = balances(&process)["streams"]["new"].as_u64().unwrap();
        stop(process);
        assert!([ALL, OTHERS].contains(&streams), "{streams}");
        streams
    }
}

fn nothing_is_left(folder: &Folder) {
    assert_eq!(folder.files_with(SIGN), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_deletion_is_completed_by_the_same_command() {
    let interrupted = Interrupted::new();
    for step in interrupted.points() {
        let (folder, output) = interrupted.at("kill", step);
        assert_eq!(output.status.code(), None, "killed at {step}: {output:?}");
        folder.deleted(&["--site", SIGN]);
        nothing_is_left(&folder);
        assert_eq!(interrupted.shows(&folder), OTHERS, "{step}");
    }
}

#[test]
fn a_start_after_a_killed_deletion_shows_all_or_nothing() {
    let interrupted = Interrupted::new();
    let mut completed = 0;
    for step in interrupted.points() {
        let (folder, _) = interrupted.at("kill", step);
        if interrupted.shows(&folder) == OTHERS {
            completed += 1;
            nothing_is_left(&folder);
        }
    }
    assert!((2..POINTS).contains(&completed), "{completed} of {POINTS}");
}

#[test]
fn a_full_disk_is_named_and_the_deletion_can_be_repeated() {
    let interrupted = Interrupted::new();
    let mut named = 0;
    for step in interrupted.points() {
        let (folder, output) = interrupted.at("full", step);
        if !output.status.success() {
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let paths = said.split_whitespace().map(|word| PathBuf::from(word.trim_end_matches([':', ','])));
            let is_named = paths.into_iter().any(|path| path.starts_with(folder.data()) && path.exists());
            assert!(is_named || said.contains("nothing is deleted"), "{step}: {said}");
            named += usize::from(is_named);
        }
        interrupted.shows(&folder);
        folder.deleted(&["--site", SIGN]);
        nothing_is_left(&folder);
        assert_eq!(interrupted.shows(&folder), OTHERS, "{step}");
    }
    assert!(named > 1, "{named}");
}

const ALL: u64 = 480;
const OTHERS: u64 = 240;
