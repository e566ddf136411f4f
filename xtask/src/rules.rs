//! The rules for imports, names and texts. `cargo xtask check` fails on the enabled ones; `cargo xtask rules`
//! prints the violations of all.

use std::path::Path;

use anyhow::{Result, ensure};
use clap::Args;

use crate::dependencies;
use crate::language::{self, markdown, requirements};
use crate::structure;

/// Which rule to print.
#[derive(Args)]
pub(crate) struct Options {
    /// Which rule; all of them by default.
    rule: Option<String>,
}

struct Rule {
    name: &'static str,
    /// Whether `cargo xtask check` fails on a violation.
    is_enabled: bool,
    violations: fn(&Path) -> Result<Vec<String>>,
}

/// The one list of what `cargo xtask check` fails on.
const RULES: [Rule; 8] = [
    Rule { name: "import-cycles", is_enabled: true, violations: structure::cycles },
    Rule { name: "layers", is_enabled: true, violations: structure::upward_imports },
    Rule { name: "test-names", is_enabled: true, violations: language::long_test_names },
    Rule { name: "retired-words", is_enabled: true, violations: language::retired_words },
    Rule { name: "wide-lines", is_enabled: true, violations: markdown::wide_lines },
    Rule { name: "links", is_enabled: true, violations: markdown::broken_links },
    Rule { name: "dependencies", is_enabled: true, violations: dependencies::violations },
    Rule { name: "named-tests", is_enabled: true, violations: requirements::missing_tests },
];

/// Fails if an enabled rule is violated.
pub(crate) fn hold(root: &Path) -> Result<()> {
    let mut violated = Vec::new();
    for rule in RULES.iter().filter(|rule| rule.is_enabled) {
        let violations = (rule.violations)(root)?;
        violations.iter().for_each(|violation| println!("{}: {violation}", rule.name));
        if !violations.is_empty() {
            violated.push(format!("{} ({})", rule.name, violations.len()));
        }
    }
    ensure!(violated.is_empty(), "violated rules: {}", violated.join(", "));
    Ok(())
}

/// Prints the violations of one rule or of all, enabled or not, and their number.
pub(crate) fn print(root: &Path, options: &Options) -> Result<()> {
    let is_wanted = |rule: &&Rule| options.rule.as_deref().is_none_or(|wanted| wanted == rule.name);
    let wanted: Vec<_> = RULES.iter().filter(is_wanted).collect();
    let names = RULES.map(|rule| rule.name).join(", ");
    ensure!(!wanted.is_empty(), "no such rule; there are {names}");
    for rule in wanted {
        let violations = (rule.violations)(root)?;
        violations.iter().for_each(|violation| println!("{}: {violation}", rule.name));
        println!("{}: {} violations", rule.name, violations.len());
    }
    Ok(())
}
