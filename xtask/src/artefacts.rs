//! Builds what is not Rust: the probe, the dashboard and the demo page, which the programs embed; then the
//! programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::paths::target_dir;
use crate::profile::Profile;
use crate::run::{output, run};
use crate::stamp::{Built, Product};
use crate::{notices, probe, tools};

/// Builds the release programs and everything that they embed.
pub(crate) fn build(root: &Path) -> Result<()> {
    embedded(root)?;
    programs(root, Profile::Release)
}

/// Builds everything that programs embed.
pub(crate) fn embedded(root: &Path) -> Result<()> {
    build_probe(root)?;
    for page in [DASHBOARD, DEMO_PAGE] {
        page.install(root)?;
        page.build(root)?;
    }
    notices::write(root, &notices::host()?)
}

/// The probe alone, for a release.
pub(crate) fn build_probe(root: &Path) -> Result<()> {
    tools::wasm_target()?;
    tools::npm_packages(&root.join(PROBE))?;
    probe(root, Profile::Release)?;
    Ok(())
}

/// Wasm, glue, facade and stub, unless they are there.
pub(crate) fn probe(root: &Path, profile: Profile) -> Result<Built> {
    let folders = ["dist", "test/dist"].map(|folder| root.join(PROBE).join(folder));
    let product = Product {
        name: "probe",
        profile,
        inputs: PROBE_INPUTS.map(|path| root.join(path)).to_vec(),
        settings: settings(&[&["rustc", "-vV"], &["node", "--version"]])?,
        outputs: folders.into_iter().chain([probe::glue_file(root)]).collect(),
    };
    product.build_if_stale(&stamps(root), || probe::build(root, profile))
}

/// The collector and the demo site.
pub(crate) fn programs(root: &Path, profile: Profile) -> Result<()> {
    run(Command::new("cargo").current_dir(root).args(["build", "--profile", profile.of_programs()]).args([
        "-p",
        "collector",
        "-p",
        "demo-site",
    ]))
}

/// Where [`programs`] puts the program `name`.
pub(crate) fn program(root: &Path, profile: Profile, name: &str) -> PathBuf {
    target_dir(root).join(profile.of_programs()).join(name)
}

/// A page that npm builds into `dist`.
pub(crate) struct Page {
    name: &'static str,
    folder: &'static str,
}

impl Page {
    /// Its npm packages.
    pub(crate) fn install(&self, root: &Path) -> Result<()> {
        tools::npm_packages(&root.join(self.folder))
    }

    /// Its files, unless they are there.
    pub(crate) fn build(&self, root: &Path) -> Result<Built> {
        let folder = root.join(self.folder);
        let product = Product {
            name: self.name,
            profile: Profile::Release,
            inputs: vec![folder.clone(), root.join(COMPRESS)],
            settings: settings(&[&["node", "--version"]])?,
            outputs: vec![folder.join("dist")],
        };
        product.build_if_stale(&stamps(root), || tools::npm_script(&folder, "build"))
    }
}

/// What `commands` print, which say the versions of tools, and what the environment tells them.
fn settings(commands: &[&[&str]]) -> Result<Vec<String>> {
    let versions = commands.iter().map(|command| output(Command::new(command[0]).args(&command[1..])));
    let variables = ENVIRONMENT.map(|name| Ok(format!("{name}={:?}", std::env::var_os(name))));
    versions.chain(variables).collect()
}

fn stamps(root: &Path) -> PathBuf {
    target_dir(root).join("stamps")
}

pub(crate) const DASHBOARD: Page = Page { name: "dashboard", folder: "www" };
pub(crate) const DEMO_PAGE: Page = Page { name: "demo-page", folder: "demo-site/web" };
pub(crate) const PROBE: &str = "probe-wasm";

const COMPRESS: &str = "xtask/compress.mjs";

/// All that decides what the probe is: its crates, its JavaScript, and how xtask puts them together.
const PROBE_INPUTS: [&str; 19] = [
    PROBE,
    "probe-core/Cargo.toml",
    "probe-core/build.rs",
    "probe-core/src",
    "beacon/Cargo.toml",
    "beacon/build.rs",
    "beacon/src",
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    ".cargo/config.toml",
    "xtask/src/probe.rs",
    "xtask/src/probe",
    "xtask/src/profile.rs",
    "xtask/src/notices.rs",
    "LICENSE",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    COMPRESS,
];

/// Variables that change what rustc and npm's build tools make.
const ENVIRONMENT: [&str; 3] = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "NODE_ENV"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_of_the_probe_cover_every_crate_that_it_uses() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let tree = ["tree", "-p", "probe-wasm", "-e", "normal,build", "--prefix", "none", "--format", "{p}"];
        let tree = output(Command::new("cargo").current_dir(root).args(tree)).unwrap();
        // A crate of the workspace stands there with its folder.
        let of_workspace = |line: &str| Some(line.split_once(" (/")?.0.split(' ').next()?.to_owned());
        let mut crates: Vec<_> = tree.lines().filter_map(of_workspace).collect();
        crates.sort();
        crates.dedup();
        assert_eq!(crates, ["beacon", "probe-core", "probe-wasm"]);
        for name in crates.iter().filter(|name| *name != PROBE) {
            for part in ["Cargo.toml", "src"] {
                assert!(PROBE_INPUTS.contains(&&*format!("{name}/{part}")), "{name}/{part}");
            }
        }
    }

    #[test]
    fn inputs_of_products_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let may_appear = |path: &&&str| path.ends_with("build.rs");
        for path in PROBE_INPUTS.iter().filter(|path| !may_appear(path)) {
            assert!(root.join(path).exists(), "{path}");
        }
    }
}
