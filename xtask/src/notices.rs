//! The licences of all packages whose code is in a release: crates in the collector and in the probe, and npm
//! packages in the dashboard.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::run::output;

/// A package with the licence that it declares.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    licence: String,
    /// Where its files are.
    folder: PathBuf,
}

/// Writes the notices to where the collector embeds them.
pub(crate) fn write(root: &Path, target: &str) -> Result<()> {
    let folder = root.join("collector/notices");
    fs::create_dir_all(&folder)?;
    let (file, text) = (folder.join(FILE), text(root, target)?);
    // A newer file would compile the collector again.
    if fs::read_to_string(&file).is_ok_and(|written| written == text) {
        return Ok(());
    }
    Ok(fs::write(file, text)?)
}

/// The Rust target of this machine.
pub(crate) fn host() -> Result<String> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc has a host")?;
    Ok(host.to_owned())
}

/// The notices of the npm package `llm-rum`.
pub(crate) fn of_probe(root: &Path) -> Result<String> {
    let mut packages = crates(root, &[("probe-wasm", WASM)])?;
    packages.extend(npm_packages(&root.join("probe-wasm"))?);
    all_of(&packages, "")
}

/// The notices of a release whose collector runs on the Rust target `target`.
pub(crate) fn text(root: &Path, target: &str) -> Result<String> {
    let mut packages = crates(root, &[("collector", target), ("probe-wasm", WASM)])?;
    for folder in ["www", "probe-wasm"] {
        packages.extend(npm_packages(&root.join(folder))?);
    }
    all_of(&packages, target)
}

fn all_of(packages: &BTreeSet<Package>, target: &str) -> Result<String> {
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages {
        for text in licence_texts(&package.folder)? {
            texts.entry(text).or_default().insert(package.full_name());
        }
    }
    if target.ends_with("musl") {
        texts.entry(MUSL.trim().to_owned()).or_default().insert("musl libc".to_owned());
    }
    Ok(written(packages, &texts))
}

/// The crates that the code of `programs` comes from, each compiled for its target, without the workspace's own.
fn crates(root: &Path, programs: &[(&str, &str)]) -> Result<BTreeSet<Package>> {
    let mut all = BTreeSet::new();
    for (program, target) in programs {
        // Crates of other platforms need not be there.
        let metadata = ["metadata", "--locked", "--format-version", "1", "--filter-platform", target];
        let metadata = output(Command::new("cargo").current_dir(root).args(metadata))?;
        let metadata: Value = serde_json::from_str(&metadata)?;
        let known = metadata["packages"].as_array().context("cargo metadata has packages")?;
        let tree =
            ["tree", "--locked", "--prefix", "none", "--format", "{p}", "--edges", "normal,no-proc-macro"];
        let mut tree_command = Command::new("cargo");
        tree_command.current_dir(root).args(tree).args(["--package", program, "--target", target]);
        let linked: BTreeSet<_> = output(&mut tree_command)?.lines().filter_map(name_and_version).collect();
        for package in known.iter().filter(|package| !package["source"].is_null()) {
            let package = crate_of(package).context("a package of cargo metadata")?;
            if linked.contains(&(package.name.clone(), package.version.clone())) {
                all.insert(package);
            }
        }
    }
    Ok(all)
}

/// Of a line such as `serde v1.0.229 (*)`.
fn name_and_version(line: &str) -> Option<(String, String)> {
    let mut words = line.split(' ');
    Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
}

fn crate_of(package: &Value) -> Option<Package> {
    let text = |field: &str| package[field].as_str();
    let licence = text("license").map(str::to_owned);
    Some(Package {
        name: text("name")?.to_owned(),
        version: text("version")?.to_owned(),
        licence: licence.or_else(|| text("license_file").map(|file| format!("see {file}")))?,
        folder: Path::new(text("manifest_path")?).parent()?.to_owned(),
    })
}

/// The packages of a folder's lock file that its own code imports: not those for development.
fn npm_packages(folder: &Path) -> Result<BTreeSet<Package>> {
    let lockfile = folder.join("package-lock.json");
    let lock =
        fs::read_to_string(&lockfile).with_context(|| format!("cannot read {}", lockfile.display()))?;
    let lock: Value = serde_json::from_str(&lock)?;
    let packages = lock["packages"].as_object().context("a lock file has packages")?;
    let in_bundles = packages.iter().filter(|(path, package)| !path.is_empty() && package["dev"] != true);
    in_bundles
        .map(|(path, package)| {
            let name = path.rsplit("node_modules/").next().unwrap_or(path).to_owned();
            let field = |field: &str| package[field].as_str().map(str::to_owned);
            Ok(Package {
                version: field("version").with_context(|| format!("{name} has no version"))?,
                licence: field("license").with_context(|| format!("{name} has no licence"))?,
                folder: folder.join(path),
                name,
            })
        })
        .collect()
}

/// The texts of the licence files in a package's folder, and in those of code that it bundles.
fn licence_texts(folder: &Path) -> Result<BTreeSet<String>> {
    ensure!(folder.is_dir(), "{} is missing", folder.display());
    let mut texts = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_dir() && name != "NODE_MODULES" {
            texts.append(&mut licence_texts(&path)?);
        } else if path.is_file() && FILES.iter().any(|start| name.starts_with(start)) {
            // A source file may be called so as well.
            let is_text = path.extension().is_none_or(|end| ["md", "txt"].iter().any(|text| end == *text))
                || name.starts_with("LICENSE-");
            if let (true, Ok(text)) = (is_text, fs::read_to_string(&path)) {
                let lines: Vec<_> = text.trim().lines().map(str::trim_end).collect();
                texts.insert(lines.join("\n"));
            }
        }
    }
    Ok(texts)
}

/// A list of the packages, then each text once with the packages that it belongs to.
fn written(packages: &BTreeSet<Package>, texts: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut notices = String::from("Code of these packages is in the files of this release.\n\n");
    let with_text: BTreeSet<_> = texts.values().flatten().collect();
    for package in packages {
        let name = package.full_name();
        let note = if with_text.contains(&name) { "" } else { " (its package has no file with the text)" };
        writeln!(notices, "{name}: {}{note}", package.licence).expect(WRITABLE);
    }
    for (text, names) in texts {
        let names = Vec::from_iter(names.iter().map(String::as_str)).join(", ");
        write!(notices, "\n{RULE}\n{names}\n\n{text}\n").expect(WRITABLE);
    }
    notices
}

impl Package {
    fn full_name(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

/// Name of the file with the notices.
pub(crate) const FILE: &str = "THIRD-PARTY-NOTICES.txt";

/// The licence of the project.
pub(crate) const OWN: [&str; 3] = ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"];

const WASM: &str = "wasm32-unknown-unknown";

/// How the names of licence files begin.
const FILES: [&str; 6] = ["COPYING", "COPYRIGHT", "LICENCE", "LICENSE", "NOTICE", "UNLICENSE"];

/// Rust links this C library into static programs; it is no package.
const MUSL: &str = include_str!("../notices/musl.txt");

const RULE: &str = "--------------------------------------------------------------------------------";

const WRITABLE: &str = "a string takes what is written to it";

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, folder: &Path) -> Package {
        let (name, version, licence) = (name.to_owned(), "1.0.0".to_owned(), "MIT".to_owned());
        Package { name, version, licence, folder: folder.to_owned() }
    }

    #[test]
    fn a_licence_text_of_two_packages_is_written_once() {
        let packages = BTreeSet::from(["a", "b", "c"].map(|name| package(name, Path::new(""))));
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let texts = BTreeMap::from([("The text.".to_owned(), names(&["a 1.0.0", "b 1.0.0"]))]);
        let notices = written(&packages, &texts);
        assert_eq!(notices.matches("The text.").count(), 1);
        assert!(notices.contains("\na 1.0.0, b 1.0.0\n\nThe text.\n"), "{notices}");
        assert!(notices.contains("\nc 1.0.0: MIT (its package has no file with the text)\n"), "{notices}");
    }

    #[test]
    fn licence_texts_are_found_in_folders_of_bundled_code() {
        let folder = std::env::temp_dir().join(format!("llm-rum-notices-{}", std::process::id()));
        fs::create_dir_all(folder.join("src/bundled")).unwrap();
        fs::write(folder.join("LICENSE-MIT"), "one \r\ntwo\n\n").unwrap();
        fs::write(folder.join("src/bundled/licence.md"), "three").unwrap();
        fs::write(folder.join("src/license.rs"), "no text").unwrap();
        let texts = licence_texts(&folder).unwrap();
        assert_eq!(texts.into_iter().collect::<Vec<_>>(), ["one\ntwo", "three"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn names_and_versions_are_read_from_cargo_tree() {
        let found = name_and_version("serde v1.0.229 (*)").unwrap();
        assert_eq!(found, ("serde".to_owned(), "1.0.229".to_owned()));
        assert_eq!(name_and_version(""), None);
    }
}
