//! Rules for the imports between files: no cycle, and no import from a higher layer.

mod import;
mod javascript;
mod rust;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use self::import::Import;
use crate::run::output;

/// The layers of a folder from the highest to the lowest. A layer is a folder in it, or a file without its
/// extension. It imports only from layers below it.
struct Layers {
    folder: &'static str,
    order: &'static str,
}

const LAYERS: [Layers; 6] = [
    Layers {
        folder: "collector/src",
        order: "main healthcheck lib fuzzing cli server export api notify engines slo stats store rows aggregate ingest \
                server_timing journal http memory report engine_metrics config time background_thread",
    },
    Layers {
        folder: "probe-core/src",
        order: "lib fuzz_targets meter inference sockets dialect custom_format delta_template report_builder server_timing \
                number_limits integrity framing event_numbers json hash text_kinds field_values time utf8 work_counter \
                build_variant absent",
    },
    Layers { folder: "probe-wasm/js", order: "entry development extensions page watcher session tap" },
    Layers {
        folder: "instrumentation/node/src",
        order: "index express fastify web node-response stream-fact push comment-writer event-kind event-splitter eligibility marks \
                faults async-local-storage-node async-local-storage-other",
    },
    Layers {
        folder: "instrumentation/rust/src",
        order: "lib service body comment_writer event_kind event_splitter eligibility marks stream_end",
    },
    Layers {
        folder: "www/src",
        order: "main app panels stream charts polling state ui url filters metric format theme time-zone api style",
    },
];

/// Every import cycle between files, as the lines that close it.
pub(crate) fn cycles(root: &Path) -> Result<Vec<String>> {
    Ok(cycles_of(&imports(root)?))
}

/// Every import from a layer that is not below the importing one.
pub(crate) fn upward_imports(root: &Path) -> Result<Vec<String>> {
    let imports = imports(root)?;
    Ok(LAYERS.iter().flat_map(|layers| layers.violations(&imports)).collect())
}

/// Those of all crates of the workspace, and of all scripts.
fn imports(root: &Path) -> Result<Vec<Import>> {
    let mut imports = javascript::imports(root)?;
    for main in crates(root)? {
        imports.extend(rust::imports(root, &main)?);
    }
    Ok(imports)
}

/// The first file of each crate of the workspace: libraries, programs, tests, examples and benchmarks.
fn crates(root: &Path) -> Result<Vec<PathBuf>> {
    let metadata = ["metadata", "--no-deps", "--format-version", "1"];
    let metadata: Value =
        serde_json::from_str(&output(Command::new("cargo").current_dir(root).args(metadata))?)?;
    let packages = metadata["packages"].as_array().context("packages")?;
    let targets = packages.iter().filter_map(|package| package["targets"].as_array()).flatten();
    Ok(targets.filter_map(|target| target["src_path"].as_str().map(PathBuf::from)).collect())
}

/// For each file in a cycle one that is as short as can be. A file that a former one names has none of its own.
fn cycles_of(imports: &[Import]) -> Vec<String> {
    let mut of_file: BTreeMap<&Path, Vec<&Import>> = BTreeMap::new();
    for import in imports {
        of_file.entry(&import.from).or_default().push(import);
    }
    let (mut named, mut found) = (BTreeSet::new(), Vec::new());
    for &file in of_file.keys() {
        if named.contains(file) {
            continue;
        }
        if let Some(cycle) = shortest_cycle(&of_file, file) {
            named.extend(cycle.iter().map(|import| import.from.as_path()));
            let lines: Vec<_> = cycle.iter().map(|import| format!("\n    {import}")).collect();
            found.push(format!("{} files import each other in a cycle:{}", cycle.len(), lines.concat()));
        }
    }
    found
}

/// The shortest way from a file back to it.
fn shortest_cycle<'a>(of_file: &BTreeMap<&Path, Vec<&'a Import>>, file: &Path) -> Option<Vec<&'a Import>> {
    let mut reached_by: BTreeMap<&Path, &Import> = BTreeMap::new();
    let mut to_visit = VecDeque::from([file]);
    while let Some(at) = to_visit.pop_front() {
        for &import in of_file.get(at).into_iter().flatten() {
            if reached_by.contains_key(&*import.to) {
                continue;
            }
            reached_by.insert(&import.to, import);
            if import.to == file {
                let mut cycle = vec![import];
                while cycle[0].from != file {
                    cycle.insert(0, reached_by[&*cycle[0].from]);
                }
                return Some(cycle);
            }
            to_visit.push_back(&import.to);
        }
    }
    None
}

impl Layers {
    fn violations(&self, imports: &[Import]) -> Vec<String> {
        let (mut upward, mut unknown) = (Vec::new(), BTreeSet::new());
        for import in imports {
            let (Some(from), Some(to)) = (self.layer(&import.from), self.layer(&import.to)) else { continue };
            match (self.place(&from), self.place(&to)) {
                (Some(upper), Some(lower)) if upper <= lower => {}
                (Some(_), Some(_)) => upward.push(format!("{import}\n    {from} is below {to}")),
                (None, _) => _ = unknown.insert(from),
                (_, None) => _ = unknown.insert(to),
            }
        }
        let is_missing = |layer| format!("{}/{layer}: the order of layers has no place for it", self.folder);
        upward.into_iter().chain(unknown.into_iter().map(is_missing)).collect()
    }

    /// The layer that a file is in: none if it is outside of the folder.
    fn layer(&self, file: &Path) -> Option<String> {
        let first = file.strip_prefix(self.folder).ok()?.components().next()?;
        Some(Path::new(first.as_os_str()).file_stem()?.to_string_lossy().into_owned())
    }

    fn place(&self, layer: &str) -> Option<usize> {
        self.order.split_whitespace().position(|name| name == layer)
    }
}

#[cfg(test)]
mod tests;
