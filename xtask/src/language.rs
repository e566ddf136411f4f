//! Rules for names and words: tests have short names, and retired words stay out of code and docs.

pub(crate) mod markdown;
pub(crate) mod requirements;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::sources::{files, shown};

/// Words of former times and the terms that replaced them, as `docs/glossary.md` defines these.
const RETIRED: [(&str, &str); 27] = [
    ("alarm sounds", "alert fires"),
    ("by lot", "at random"),
    ("crowded_out", "evict_next"),
    ("front door", "ingest"),
    ("give_up", "abort"),
    ("holds_most", "over_memory_limit"),
    ("how fast they go", "burn rates"),
    ("hurry", "flush_soon"),
    ("in vain", "censored wait, or abandonment"),
    ("in_vain", "censored_wait"),
    ("is_elsewhere", "owned_by_peer"),
    ("judged", "eligible"),
    ("llm_rum_cluster_behind_seconds", "llm_rum_replication_lag_seconds"),
    ("llm_rum_live_refused_total", "llm_rum_live_rejected_total"),
    ("llm_rum_overflow_total", "llm_rum_label_limit_exceeded_total"),
    ("met_by", "is_met_by"),
    ("rhythm", "inter-chunk latency"),
    ("take back", "retract"),
    ("take_back", "retract"),
    ("taken back", "retracted"),
    ("takes back", "retracts"),
    ("tally", "window stats, or report builder"),
    ("the books", "ingest accounting"),
    ("the way between", "overhead"),
    ("those who saw nothing", "abandonment, or censored waits"),
    ("totalled", "finalized"),
    ("under_way", "in_flight"),
];

/// Every test whose name is longer than it may be: in Rust, Python and JavaScript, and of the conformance suite.
pub(crate) fn long_test_names(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in files(root, &["rs", "py", "js", "mjs", "ts", "tsx"])? {
        let text = read(&file)?;
        let names = match file.extension().and_then(OsStr::to_str) {
            Some("rs") => rust_tests(&text),
            Some("py") => python_tests(&text),
            _ => script_tests(&text),
        };
        for (line, name) in names {
            let length = name.chars().count();
            if length > LONGEST_TEST_NAME {
                found.push(format!("{}:{line}: {length} characters: {name}", shown(root, &file)));
            }
        }
    }
    Ok(found)
}

/// Every retired word in code and docs.
pub(crate) fn retired_words(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let is_written = |path: &&PathBuf| {
        // This file lists the words, and lock files have names that others chose.
        !path.ends_with("xtask/src/language.rs") && !path.ends_with("package-lock.json")
    };
    for file in files(root, &WRITTEN)?.iter().filter(is_written) {
        for (at, line) in read(file)?.lines().enumerate() {
            for (retired, term) in retired_in(line) {
                found.push(format!("{}:{}: `{retired}` is `{term}` now", shown(root, file), at + 1));
            }
        }
    }
    Ok(found)
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Line and name of each function under a test attribute.
fn rust_tests(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut is_test) = (Vec::new(), false);
    for (at, line) in text.lines().map(str::trim).enumerate() {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if is_test && let Some((_, after)) = line.split_once("fn ") {
            let name = after.split(['(', '<']).next().unwrap_or(after);
            found.push((at + 1, name));
            is_test = false;
        }
    }
    found
}

/// Line and name of each function that pytest takes for a test.
fn python_tests(text: &str) -> Vec<(usize, &str)> {
    let names = text.lines().map(|line| line.trim_start().trim_start_matches("async ").strip_prefix("def "));
    let names = names.map(|rest| rest.and_then(|rest| rest.split('(').next()));
    let tests = names.enumerate().filter_map(|(at, name)| Some((at + 1, name?)));
    tests.filter(|(_, name)| name.starts_with("test_")).collect()
}

/// Line and name of each call of `test`, `it` or `check` whose first argument is a text.
fn script_tests(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for call in ["test(", "it(", "check("] {
        for (at, _) in text.match_indices(call) {
            let is_part = text[..at].ends_with(|last: char| last.is_alphanumeric() || "_$.".contains(last));
            let argument = text[at + call.len()..].trim_start();
            let quote = argument.chars().next().filter(|first| "\"'`".contains(*first));
            if let Some(quote) = quote.filter(|_| !is_part) {
                let name = argument[1..].split(quote).next().unwrap_or(argument);
                found.push((text[..at].matches('\n').count() + 1, name));
            }
        }
    }
    found.sort_unstable();
    found
}

/// The retired words of a line, in any case, each with its term.
fn retired_in(line: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let line = line.to_lowercase();
    let is_inside = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '_');
    RETIRED.into_iter().filter(move |(retired, _)| {
        line.match_indices(retired).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + retired.len()..]);
            !is_inside(before.chars().next_back()) && !is_inside(after.chars().next())
        })
    })
}

/// Characters of a test's name.
const LONGEST_TEST_NAME: usize = 60;

/// What people write by hand.
const WRITTEN: [&str; 14] =
    ["rs", "js", "mjs", "ts", "tsx", "css", "html", "md", "toml", "yml", "yaml", "json", "py", "conf"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_names_are_found_in_rust() {
        let text = "#[test]\nfn one() {}\n#[tokio::test(start_paused = true)]\n#[expect(x)]\nasync fn two() {}\n\
            fn no_test() {}\n";
        assert_eq!(rust_tests(text), [(2, "one"), (5, "two")]);
    }

    #[test]
    fn test_names_are_found_in_python() {
        let text = "def test_one() -> None:\n    pass\n\n\nclass Two:\n    async def test_two(self): ...\n\n\n\
            def latest(): test(\"no\")\n";
        assert_eq!(python_tests(text), [(1, "test_one"), (6, "test_two")]);
    }

    #[test]
    fn test_names_are_found_in_scripts() {
        let text = "test(\"one\", () => {});\n  it('two', f);\nlatest(\"no\");\n/x/.test(\"no\");\n\
            check(\n  `three`, f);\nconst it = 1;\n";
        assert_eq!(script_tests(text), [(1, "one"), (2, "two"), (5, "three")]);
    }

    #[test]
    fn retired_words_are_found_whole_and_in_any_case() {
        let of = |line: &str| retired_in(line).map(|(retired, _)| retired).collect::<Vec<_>>();
        assert_eq!(
            of("Samples by lot; `Tally::take_back` of the books."),
            ["by lot", "take_back", "tally", "the books"]
        );
        assert_eq!(of("fn is_met_by(); a tallying slot_by_lots"), [""; 0]);
    }
}
