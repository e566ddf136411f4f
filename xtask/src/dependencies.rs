//! The rules of `deny.toml` for crates, without the network: licences, sources, second versions, and advisories if a
//! database is at hand. The same for npm packages, whose install scripts do not run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::Peekable;
use std::path::Path;
use std::process::Command;
use std::str::SplitWhitespace;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::advisories;
use crate::notices;
use crate::run::output;

/// What `deny.toml` allows.
struct Allowed {
    licences: BTreeSet<String>,
    /// Further licences of one crate.
    exceptions: BTreeSet<(String, String)>,
    /// Second versions, as `name@version`.
    second_versions: BTreeSet<String>,
    /// Ids of advisories.
    advisories: Vec<String>,
}

/// Every crate and npm package that breaks a rule.
pub(crate) fn violations(root: &Path) -> Result<Vec<String>> {
    let allowed = Allowed::of(&fs::read_to_string(root.join("deny.toml"))?)?;
    let lock_file = fs::read_to_string(root.join("Cargo.lock"))?;
    let mut found = allowed.in_lock_file(&lock_file);
    if let Some(database) = advisories::database()? {
        let crates: Vec<_> = crates_of(&lock_file).map(|[name, version, _]| (name, version)).collect();
        found.extend(advisories::about(&crates, &database, &allowed.advisories)?);
    }
    found.extend(allowed.in_metadata(&metadata(root)?)?);
    for lock in
        output(Command::new("git").current_dir(root).args(["ls-files", "*package-lock.json"]))?.lines()
    {
        let folder = root.join(lock);
        let folder = folder.parent().context("a file has a folder")?;
        let settings = fs::read_to_string(folder.join(".npmrc")).unwrap_or_default();
        if !settings.lines().any(|line| line == NO_SCRIPTS) {
            found.push(format!("{lock}: the .npmrc beside it lacks `{NO_SCRIPTS}`"));
        }
        let lock_file = serde_json::from_str(&fs::read_to_string(root.join(lock))?)?;
        found.extend(in_npm_lock_file(&lock_file).map(|problem| format!("{lock}: {problem}")));
    }
    Ok(found)
}

/// The crates that this platform compiles: those of others need not be there.
fn metadata(root: &Path) -> Result<Value> {
    let host = notices::host()?;
    let metadata = ["metadata", "--locked", "--format-version", "1", "--filter-platform", &host];
    Ok(serde_json::from_str(&output(Command::new("cargo").current_dir(root).args(metadata))?)?)
}

impl Allowed {
    fn of(text: &str) -> Result<Self> {
        let rules: toml::Value = toml::from_str(text)?;
        let texts = |value: &toml::Value| {
            let list = value.as_array().into_iter().flatten();
            list.filter_map(|item| item.as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        let crate_of = |entry: &toml::Value| {
            entry
                .get("crate")
                .and_then(toml::Value::as_str)
                .map(str::to_owned)
                .context("an entry names a crate")
        };
        let mut exceptions = BTreeSet::new();
        for entry in rules["licenses"]["exceptions"].as_array().into_iter().flatten() {
            let name = crate_of(entry)?;
            exceptions.extend(texts(&entry["allow"]).into_iter().map(|licence| (name.clone(), licence)));
        }
        let skipped = rules["bans"]["skip"].as_array().into_iter().flatten();
        Ok(Self {
            licences: texts(&rules["licenses"]["allow"]).into_iter().collect(),
            exceptions,
            second_versions: skipped.map(crate_of).collect::<Result<_>>()?,
            advisories: rules
                .get("advisories")
                .and_then(|rule| Some(texts(rule.get("ignore")?)))
                .unwrap_or_default(),
        })
    }

    /// Crates from elsewhere, and second versions.
    fn in_lock_file(&self, text: &str) -> Vec<String> {
        let (mut found, mut unused) = (Vec::new(), self.second_versions.clone());
        let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for [name, version, source] in crates_of(text) {
            if ![CRATES_IO, ""].contains(&source.as_str()) {
                found.push(format!("{name} {version} comes from {source}: use crates.io"));
            }
            let full = format!("{name}@{version}");
            if !unused.remove(&full) {
                versions.entry(name).or_default().push(version);
            }
        }
        for (name, several) in versions.into_iter().filter(|(_, several)| several.len() > 1) {
            let several = several.join(" and ");
            found.push(format!("{name} has the versions {several}: list all but one in `skip` of deny.toml"));
        }
        found.extend(unused.iter().map(|entry| format!("{entry} in `skip` of deny.toml is not needed")));
        found
    }

    /// Crates with a licence that is not allowed.
    fn in_metadata(&self, metadata: &Value) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for package in metadata["packages"].as_array().context("cargo metadata has packages")? {
            let name = package["name"].as_str().context("a package has a name")?;
            let licence = package["license"].as_str().unwrap_or_default();
            let is_allowed = |id: &str| {
                self.licences.contains(id) || self.exceptions.contains(&(name.to_owned(), id.to_owned()))
            };
            if !allows(licence, is_allowed) {
                found.push(format!("{name} has the licence `{licence}`, which deny.toml does not allow"));
            }
        }
        Ok(found)
    }
}

/// Name, version and source of each crate in a lock file. The project's own have an empty source.
fn crates_of(lock_file: &str) -> impl Iterator<Item = [String; 3]> {
    lock_file.split("[[package]]").skip(1).map(|package| {
        ["name", "version", "source"].map(|field| {
            let start = format!("{field} = \"");
            let value = package.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix('"'));
            value.unwrap_or_default().to_owned()
        })
    })
}

/// Packages without a hash, or from elsewhere.
fn in_npm_lock_file(lock: &Value) -> impl Iterator<Item = String> {
    let packages = lock["packages"].as_object().into_iter().flatten();
    let foreign = packages.filter(|(path, package)| !path.is_empty() && package["link"] != true);
    foreign.filter_map(|(path, package)| {
        let resolved = package["resolved"].as_str();
        let is_foreign = resolved.is_some_and(|from| !from.starts_with(NPM));
        match package["integrity"].as_str().is_some_and(|hash| hash.starts_with("sha512-")) {
            false => Some(format!("{path} has no hash by SHA-512")),
            true => is_foreign.then(|| format!("{path} does not come from {NPM}")),
        }
    })
}

/// Whether an SPDX expression can be met by allowed licences. A slash is an old form of `OR`.
fn allows(expression: &str, is_allowed: impl Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let allowed = any(&mut words, &is_allowed);
    allowed && words.next().is_none()
}

type Words<'a> = Peekable<SplitWhitespace<'a>>;

fn any(words: &mut Words<'_>, is_allowed: &impl Fn(&str) -> bool) -> bool {
    let mut allowed = all(words, is_allowed);
    while words.next_if_eq(&"OR").is_some() {
        // Both sides are read, whatever the first is.
        allowed |= all(words, is_allowed);
    }
    allowed
}

fn all(words: &mut Words<'_>, is_allowed: &impl Fn(&str) -> bool) -> bool {
    let mut allowed = one(words, is_allowed);
    while words.next_if_eq(&"AND").is_some() {
        allowed &= one(words, is_allowed);
    }
    allowed
}

fn one(words: &mut Words<'_>, is_allowed: &impl Fn(&str) -> bool) -> bool {
    let Some(word) = words.next() else { return false };
    if word == "(" {
        let allowed = any(words, is_allowed);
        return words.next_if_eq(&")").is_some() && allowed;
    }
    match words.next_if_eq(&"WITH").and_then(|_| words.next()) {
        Some(exception) => is_allowed(&format!("{word} WITH {exception}")),
        None => is_allowed(word),
    }
}

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";
const NPM: &str = "https://registry.npmjs.org/";
const NO_SCRIPTS: &str = "ignore-scripts=true";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RULES: &str = r#"
        [licenses]
        allow = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"]
        exceptions = [{ crate = "driver", allow = ["MPL-2.0"] }]
        [bans]
        skip = [{ crate = "twice@1.0.0" }]
    "#;

    #[test]
    fn a_licence_expression_needs_one_side_of_or_and_both_of_and() {
        let is_allowed = |id: &str| ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].contains(&id);
        let allowed =
            ["MIT", "GPL-3.0 OR MIT", "GPL/MIT", "(GPL OR MIT) AND ISC", "Apache-2.0 WITH LLVM-exception"];
        let refused = ["", "GPL-3.0", "MIT AND GPL-3.0", "MIT OR", "(MIT", "MIT)", "Apache-2.0", "MIT ISC"];
        assert!(allowed.iter().all(|expression| allows(expression, is_allowed)));
        // `MIT OR` has no second side, but its first is enough.
        let found: Vec<_> = refused.iter().filter(|expression| allows(expression, is_allowed)).collect();
        assert_eq!(found, [&"MIT OR"]);
    }

    #[test]
    fn an_exception_is_for_one_crate_alone() {
        let package = |name: &str| json!({ "name": name, "license": "MPL-2.0" });
        let found = Allowed::of(RULES).unwrap();
        let found = found.in_metadata(&json!({ "packages": [package("driver"), package("other")] })).unwrap();
        assert_eq!(found, ["other has the licence `MPL-2.0`, which deny.toml does not allow"]);
    }

    #[test]
    fn second_versions_and_foreign_sources_are_found() {
        let package = |name: &str, version: &str, source: &str| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"{source}\"\n\n")
        };
        let lock = package("twice", "1.0.0", CRATES_IO) + &package("twice", "2.0.0", CRATES_IO);
        let allowed = Allowed::of(RULES).unwrap();
        assert_eq!(allowed.in_lock_file(&lock), [""; 0]);
        let more = lock + &package("twice", "3.0.0", CRATES_IO) + &package("git", "1.0.0", "git+https://x");
        let expected = [
            "git 1.0.0 comes from git+https://x: use crates.io",
            "twice has the versions 2.0.0 and 3.0.0: list all but one in `skip` of deny.toml",
        ];
        assert_eq!(allowed.in_lock_file(&more), expected);
        let unneeded = "twice@1.0.0 in `skip` of deny.toml is not needed";
        assert_eq!(allowed.in_lock_file(&package("twice", "2.0.0", CRATES_IO)), [unneeded]);
    }

    #[test]
    fn npm_packages_without_hash_or_from_elsewhere_are_found() {
        let lock = json!({ "packages": {
            "": {}, "own": { "link": true }, "node_modules/a": { "integrity": "sha512-x" },
            "node_modules/b": { "integrity": "sha1-x" }, "node_modules/c": { "integrity": "sha512-x", "resolved": "git+ssh://x" },
        } });
        let found: Vec<_> = in_npm_lock_file(&lock).collect();
        let expected = [
            "node_modules/b has no hash by SHA-512",
            "node_modules/c does not come from https://registry.npmjs.org/",
        ];
        assert_eq!(found, expected);
    }
}
