//! Skips builds that would make what is there already. A stamp holds the hash of the inputs that a product was
//! built from, and the hash of its outputs. If either differs now, the product is built again.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::profile::Profile;
use crate::unchanged::Before;

/// A set of files that is built as a whole.
pub(crate) struct Product {
    /// Names the stamp.
    pub name: &'static str,
    /// A release may stand in for what a demo needs, not the other way round.
    pub profile: Profile,
    /// Files and folders. What is not there counts as well: it may appear.
    pub inputs: Vec<PathBuf>,
    /// What else decides the result, such as versions of compilers.
    pub settings: Vec<String>,
    /// Files and folders that the build makes.
    pub outputs: Vec<PathBuf>,
}

/// When a product was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Built {
    /// By this call.
    Now,
    /// By an earlier one, from the same inputs.
    Before,
}

impl Product {
    /// Builds unless the stamp in the folder `stamps` says that the outputs belong to the inputs. Two calls for
    /// one product take turns.
    pub(crate) fn build_if_stale(&self, stamps: &Path, build: impl FnOnce() -> Result<()>) -> Result<Built> {
        fs::create_dir_all(stamps)?;
        let lock = File::create(stamps.join(format!("{}.lock", self.name)))?;
        lock.lock().with_context(|| format!("cannot keep other builds of {} waiting", self.name))?;
        let stamp = stamps.join(self.name);
        // Before the build: an input that changes meanwhile makes the next call build again.
        let inputs = self.hash_of_inputs()?;
        if self.is_fresh(&fs::read_to_string(&stamp).unwrap_or_default(), &inputs)? {
            return Ok(Built::Before);
        }
        match fs::remove_file(&stamp) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let before = Before::of(self.outputs.iter().cloned())?;
        build()?;
        before.give_times_back()?;
        for output in &self.outputs {
            ensure!(output.exists(), "the build of {} made no {}", self.name, output.display());
        }
        fs::write(&stamp, stamp_text(self.profile, &inputs, &self.hash_of_outputs()?))?;
        Ok(Built::Now)
    }

    fn is_fresh(&self, stamp: &str, inputs: &str) -> Result<bool> {
        let outputs = self.hash_of_outputs()?;
        let good_enough = [Profile::Release, self.profile];
        Ok(good_enough.into_iter().any(|profile| stamp == stamp_text(profile, inputs, &outputs)))
    }

    fn hash_of_inputs(&self) -> Result<String> {
        let mut hash = Sha256::new();
        for setting in &self.settings {
            add(&mut hash, setting.as_bytes());
        }
        self.inputs.iter().try_for_each(|input| add_tree(&mut hash, input, &NOT_INPUTS))?;
        Ok(hex(hash))
    }

    fn hash_of_outputs(&self) -> Result<String> {
        let mut hash = Sha256::new();
        self.outputs.iter().try_for_each(|output| add_tree(&mut hash, output, &[]))?;
        Ok(hex(hash))
    }
}

fn stamp_text(profile: Profile, inputs: &str, outputs: &str) -> String {
    format!("{profile:?}\ninputs {inputs}\noutputs {outputs}\n")
}

/// Adds the names and contents of a file or folder, without entries of folders that are called as in `except`.
fn add_tree(hash: &mut Sha256, path: &Path, except: &[&str]) -> Result<()> {
    let cannot_read = || format!("cannot read {}", path.display());
    if path.is_dir() {
        let entries = fs::read_dir(path).with_context(cannot_read)?;
        let names = entries.map(|entry| Ok(entry?.file_name())).collect::<Result<BTreeSet<_>>>()?;
        add(hash, b"folder");
        for name in names.iter().filter(|name| !except.iter().any(|except| name == except)) {
            add(hash, name.as_encoded_bytes());
            add_tree(hash, &path.join(name), except)?;
        }
        add(hash, b"end");
    } else if path.exists() {
        add(hash, b"file");
        add(hash, &fs::read(path).with_context(cannot_read)?);
    } else {
        add(hash, b"absent");
    }
    Ok(())
}

/// With its length, so that no two sequences of parts have one hash.
fn add(hash: &mut Sha256, part: &[u8]) {
    hash.update((part.len() as u64).to_le_bytes());
    hash.update(part);
}

/// As `sha256sum` prints it.
pub(crate) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Packages are decided by their lock file; what is built and what tests it decide nothing.
const NOT_INPUTS: [&str; 3] = ["node_modules", "dist", "test"];

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a product `out` of the input `in`, and a count of its builds.
    struct Tree {
        folder: PathBuf,
        builds: u32,
    }

    impl Tree {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("llm-rum-stamp-{name}-{}", std::process::id()));
            fs::create_dir_all(folder.join("in/node_modules")).unwrap();
            let tree = Self { folder, builds: 0 };
            tree.write("in/source", "1");
            tree
        }

        fn write(&self, path: &str, content: &str) {
            fs::write(self.folder.join(path), content).unwrap();
        }

        fn product(&self, profile: Profile) -> Product {
            Product {
                name: "product",
                profile,
                inputs: vec![self.folder.join("in"), self.folder.join("later")],
                settings: vec!["compiler 1".to_owned()],
                outputs: vec![self.folder.join("out")],
            }
        }

        fn build(&mut self, product: &Product) -> Built {
            let out = self.folder.join("out");
            let built = product.build_if_stale(&self.folder.join("stamps"), || {
                self.builds += 1;
                fs::create_dir_all(&out)?;
                Ok(fs::write(out.join("made"), b"made")?)
            });
            built.unwrap()
        }

        /// Whether a build for a release is made after `change`, and none after that.
        fn is_stale_after(&mut self, change: impl FnOnce(&Self)) -> bool {
            let product = self.product(Profile::Release);
            self.build(&product);
            change(self);
            let built = self.build(&product);
            assert_eq!(self.build(&product), Built::Before);
            built == Built::Now
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.folder).unwrap();
        }
    }

    #[test]
    fn an_unchanged_product_is_not_built_again() {
        let mut tree = Tree::new("changes");
        assert!(!tree.is_stale_after(|_| {}));
        assert!(!tree.is_stale_after(|tree| tree.write("in/source", "1")));
        assert!(tree.is_stale_after(|tree| tree.write("in/source", "2")));
        assert!(tree.is_stale_after(|tree| tree.write("in/another", "")));
        assert!(tree.is_stale_after(|tree| fs::remove_file(tree.folder.join("in/another")).unwrap()));
        assert!(tree.is_stale_after(|tree| tree.write("later", "appeared")));
        assert!(!tree.is_stale_after(|tree| tree.write("in/node_modules/package", "installed")));
        assert_eq!(tree.builds, 5);
    }

    #[test]
    fn outputs_that_something_else_changed_are_built_again() {
        let mut tree = Tree::new("outputs");
        assert!(tree.is_stale_after(|tree| tree.write("out/made", "by another program")));
        assert!(tree.is_stale_after(|tree| tree.write("out/extra", "")));
        assert!(tree.is_stale_after(|tree| fs::remove_file(tree.folder.join("out/made")).unwrap()));
        assert!(tree.is_stale_after(|tree| fs::remove_dir_all(tree.folder.join("out")).unwrap()));
    }

    #[test]
    fn a_release_build_serves_the_demo_and_not_the_reverse() {
        let mut tree = Tree::new("profiles");
        let (demo, release) = (tree.product(Profile::Demo), tree.product(Profile::Release));
        assert_eq!(
            [&demo, &release, &demo].map(|product| tree.build(product)),
            [Built::Now, Built::Now, Built::Before]
        );
    }

    #[test]
    fn another_compiler_version_causes_a_build() {
        let mut tree = Tree::new("settings");
        let mut product = tree.product(Profile::Release);
        tree.build(&product);
        product.settings = vec!["compiler 2".to_owned()];
        assert_eq!(tree.build(&product), Built::Now);
    }

    #[test]
    fn a_failed_build_leaves_no_stamp() {
        let mut tree = Tree::new("failure");
        let product = tree.product(Profile::Release);
        tree.build(&product);
        tree.write("in/source", "2");
        let failed = product.build_if_stale(&tree.folder.join("stamps"), || anyhow::bail!("no disk"));
        assert_eq!(failed.unwrap_err().to_string(), "no disk");
        tree.write("in/source", "1");
        assert_eq!(tree.build(&product), Built::Now);
    }

    #[test]
    fn an_input_changed_during_a_build_causes_another_build() {
        let mut tree = Tree::new("race");
        let product = tree.product(Profile::Release);
        let built = product.build_if_stale(&tree.folder.join("stamps"), || {
            fs::create_dir_all(tree.folder.join("out"))?;
            Ok(fs::write(tree.folder.join("in/source"), "2")?)
        });
        assert_eq!(built.unwrap(), Built::Now);
        assert_eq!(tree.build(&product), Built::Now);
    }
}
