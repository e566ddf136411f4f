//! The dictionary of the fuzzers has every word that the dialects know.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The words between quotes in code, without comments and tests. Texts with blanks and the like are not words of the
/// wire.
fn words(code: &str) -> impl Iterator<Item = &str> {
    let code = code.split("#[cfg(test)]").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let quoted = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    quoted.filter(|word| !word.is_empty() && !word.contains(|char: char| " {}:\\!?".contains(char)))
}

#[test]
fn every_word_of_every_dialect_is_in_the_dictionary() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dictionary = fs::read_to_string(crate_folder.join("fuzz/words.dict")).unwrap();
    let known: BTreeSet<_> = dictionary.lines().collect();
    let folders = ["src/dialect", "src/dialect/app_queue", "src/dialect/formats"]
        .map(|folder| fs::read_dir(crate_folder.join(folder)).unwrap());
    let files = folders
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && !path.ends_with("tests.rs"));
    let mut all = 0;
    for path in files.chain([crate_folder.join("src/dialect.rs")]) {
        for word in words(&fs::read_to_string(&path).unwrap()) {
            let entry = format!(r#""\"{word}\"""#);
            assert!(known.contains(entry.as_str()), "{}: {entry} is missing", path.display());
            all += 1;
        }
    }
    assert!(all > 250, "{all} words");
}
