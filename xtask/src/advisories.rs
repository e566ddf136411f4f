//! Crates with a known vulnerability, by a clone of RustSec's database beside cargo's files. Without a clone nothing is
//! checked: a check of the project needs no network.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use semver::{Version, VersionReq};

use crate::paths::cargo_home;

/// The database that the environment names, or the one that `cargo audit` has cloned.
pub(crate) fn database() -> Result<Option<PathBuf>> {
    let named = std::env::var_os("ADVISORY_DB").map(PathBuf::from);
    let folder = named.map_or_else(|| Ok(cargo_home()?.join("advisory-db")), Ok::<_, anyhow::Error>)?;
    Ok(Some(folder).filter(|folder| folder.join("crates").is_dir()))
}

/// The advisories of `database` about these crates, each a name with a version, but for the `ignored` ones.
pub(crate) fn about(crates: &[(String, String)], database: &Path, ignored: &[String]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (name, version) in crates {
        let Ok(entries) = fs::read_dir(database.join("crates").join(name)) else { continue };
        let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md")) {
            let text = fs::read_to_string(file)?;
            let id = id_if_affected(&text, &Version::parse(version)?);
            let id = id.with_context(|| format!("cannot read the advisory {}", file.display()))?;
            found.extend(id.filter(|id| !ignored.contains(id)).map(|id| format!("{name} {version}: {id}")));
        }
    }
    Ok(found)
}

/// The id of an advisory about this version. `None` if the version is not affected, or nothing is wrong with the code.
fn id_if_affected(text: &str, version: &Version) -> Result<Option<String>> {
    let (_, rest) = text.split_once("```toml").context("it begins with no TOML")?;
    let (table, _) = rest.split_once("```").context("its TOML has no end")?;
    let table: toml::Value = toml::from_str(table)?;
    let advisory = table.get("advisory").context("it has no `advisory`")?;
    let is_notice = advisory.get("informational").is_some_and(|kind| kind.as_str() != Some("unsound"));
    if is_notice || advisory.get("withdrawn").is_some() {
        return Ok(None);
    }
    for safe in ["patched", "unaffected"] {
        let ranges = table.get("versions").and_then(|versions| versions.get(safe)?.as_array());
        for range in ranges.into_iter().flatten().filter_map(toml::Value::as_str) {
            if VersionReq::parse(range)?.matches(version) {
                return Ok(None);
            }
        }
    }
    Ok(Some(advisory.get("id").and_then(toml::Value::as_str).context("it has no id")?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advisory(more: &str, patched: &str) -> String {
        format!(
            "```toml\n[advisory]\nid = \"RUSTSEC-2026-0001\"\npackage = \"a\"\n{more}\n[versions]\n\
             patched = [{patched}]\nunaffected = [\"< 0.3\"]\n```\n\n# Title\n"
        )
    }

    #[test]
    fn only_versions_without_a_patch_are_affected() {
        let patched = "\">= 1.2.0\", \"^0.9.4\"";
        for (more, version, is_affected) in [
            ("", "1.1.9", true),
            ("", "1.2.0", false),
            ("", "0.9.3", true),
            ("", "0.9.4", false),
            ("", "0.2.9", false),
            ("informational = \"unmaintained\"", "1.1.9", false),
            ("informational = \"unsound\"", "1.1.9", true),
            ("withdrawn = \"2026-01-02\"", "1.1.9", false),
        ] {
            let id = id_if_affected(&advisory(more, patched), &Version::parse(version).unwrap()).unwrap();
            assert_eq!(id.is_some(), is_affected, "{more} {version}");
        }
        assert!(id_if_affected("# No table", &Version::new(1, 0, 0)).is_err());
    }

    #[test]
    fn advisories_of_used_crates_are_found_and_may_be_ignored() {
        let folder = std::env::temp_dir().join(format!("llm-rum-advisories-{}", std::process::id()));
        fs::create_dir_all(folder.join("crates/a")).unwrap();
        fs::write(folder.join("crates/a/RUSTSEC-2026-0001.md"), advisory("", "")).unwrap();
        let crates = [("a", "1.0.0"), ("b", "1.0.0")].map(|(name, version)| (name.into(), version.into()));
        let found = about(&crates, &folder, &[]).unwrap();
        let ignored = about(&crates, &folder, &["RUSTSEC-2026-0001".to_owned()]).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((found, ignored), (vec!["a 1.0.0: RUSTSEC-2026-0001".to_owned()], Vec::new()));
    }
}
