//! A rule for `docs/requirements.md`: the tests that it names exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::sources::files;

/// Every test that the table names, and that no source has.
pub(crate) fn missing_tests(root: &Path) -> Result<Vec<String>> {
    let table = fs::read_to_string(root.join(TABLE)).with_context(|| format!("cannot read {TABLE}"))?;
    let mut functions = BTreeSet::new();
    for file in files(root, &["rs"])? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        functions.extend(test_functions(&text).map(str::to_owned));
    }
    let named = table.lines().enumerate().flat_map(|(at, line)| tests(line).map(move |test| (at + 1, test)));
    let missing = named.filter(|(_, test)| !functions.contains(*test));
    Ok(missing.map(|(at, test)| format!("{TABLE}:{at}: no test {test}")).collect())
}

/// The names in the last column of a table's row.
fn tests(line: &str) -> impl Iterator<Item = &str> {
    let last = line.trim_end().strip_suffix('|').and_then(|row| row.rsplit('|').next());
    last.unwrap_or_default().split('`').skip(1).step_by(2)
}

/// The names of the functions that are tests. A helper of a test holds no requirement.
fn test_functions(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().filter_map(move |line| {
        is_test |= ["#[test]", "#[tokio::test"].iter().any(|start| line.trim_start().starts_with(start));
        function(line).filter(|_| std::mem::take(&mut is_test))
    })
}

/// The name of the function that a line defines.
fn function(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
    name.split(['(', '<']).next()
}

const TABLE: &str = "docs/requirements.md";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_names_come_from_the_last_column() {
        let row = "| S1 | `field` | [metrics](m.md) | `one_is_one`, `two_is_two` |";
        assert_eq!(tests(row).collect::<Vec<_>>(), ["one_is_one", "two_is_two"]);
        assert_eq!(tests("prose with `code`").count(), 0);
    }

    #[test]
    fn a_helper_is_no_test() {
        let text = "#[tokio::test(flavor = \"multi_thread\")]\nasync fn one_is_one() {\n}\nfn helper() {}\n\
                    #[test]\n#[ignore]\nfn two_is_two() {\n";
        assert_eq!(test_functions(text).collect::<Vec<_>>(), ["one_is_one", "two_is_two"]);
    }

    #[test]
    fn a_function_is_found_by_its_definition() {
        assert_eq!(function("    async fn one_is_one() {"), Some("one_is_one"));
        assert_eq!(function("fn two_is_two<T>(t: T) {"), Some("two_is_two"));
        assert_eq!(function("// fn three() {"), None);
    }
}
