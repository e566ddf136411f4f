//! Imports between JavaScript and TypeScript files, which name each other by relative paths.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

use super::import::Import;
use crate::sources;

/// All imports between the project's scripts below `root`.
pub(super) fn imports(root: &Path) -> Result<Vec<Import>> {
    let mut imports = Vec::new();
    for file in sources::files(root, &EXTENSIONS)? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        for (at, line) in text.lines().enumerate() {
            let imported = imported(line).and_then(|path| existing(&normal(&file.with_file_name(path))));
            if let Some(to) = imported {
                let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
                let text = line.trim().to_owned();
                imports.push(Import { from: relative(&file), to: relative(&to), line: at + 1, text });
            }
        }
    }
    Ok(imports)
}

/// The relative path that a line imports. A statement over several lines has it in its last.
fn imported(line: &str) -> Option<&str> {
    let line = line.trim();
    let is_comment = ["//", "/*", "*"].iter().any(|start| line.starts_with(start));
    let is_statement = ["import", "export", "}"].iter().any(|start| line.starts_with(start));
    let quoted = match () {
        () if is_comment => None,
        () if is_statement => line.rsplit_once(" from ").map(|(_, path)| path),
        () => None,
    };
    let quoted = quoted
        .or_else(|| line.strip_prefix("import "))
        .or_else(|| line.split_once("import(").filter(|_| !is_comment).map(|(_, path)| path))?;
    let path = quoted.strip_prefix(['"', '\''])?.split(['"', '\'']).next()?;
    path.starts_with('.').then_some(path)
}

/// The file that a path names, which may leave its extension out.
fn existing(path: &Path) -> Option<PathBuf> {
    let with = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
    let ends = [""].into_iter().chain(ENDS).map(with);
    ends.into_iter().find(|path| path.is_file())
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = normal.pop(),
            other => normal.push(other),
        }
    }
    normal
}

const EXTENSIONS: [&str; 5] = ["js", "mjs", "ts", "tsx", "jsx"];
const ENDS: [&str; 5] = [".ts", ".tsx", ".js", ".mjs", "/index.ts"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_statements_with_a_relative_path() {
        for line in [
            r#"import { a } from "./a";"#,
            r#"import type { A } from "./a";"#,
            r#"export * from "./a";"#,
            r#"} from "./a";"#,
            r#"import "./a";"#,
            r#"  const { a } = await import("./a");"#,
        ] {
            assert_eq!(imported(line), Some("./a"), "{line}");
        }
        for line in [r#"import { h } from "preact";"#, r#"// import "./a";"#, r#" * {import("./a").A}"#] {
            assert_eq!(imported(line), None, "{line}");
        }
    }
}
