//! Builds the probe that pages load: the `probe-wasm` crate and its JavaScript come in,
//! `probe-wasm/dist` goes out. Says how large each part is.

mod glue;
mod shrink;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

use crate::notices;
use crate::paths::{cargo_home, target_dir};
use crate::profile::Profile;
use crate::run::{output, run};

/// Builds everything in `probe-wasm/dist`.
pub(crate) fn build(root: &Path, profile: Profile) -> Result<()> {
    let package = root.join("probe-wasm");
    let dist = package.join("dist");
    let made = target_dir(root).join("probe");
    fs::create_dir_all(&dist)?;
    fs::create_dir_all(&made)?;
    let _alone = alone_in(&made)?;
    let mut glues = Vec::new();
    for (file, features) in MODULES {
        compile(root, &made, features, profile)?;
        glues.push(optimise(&package, &made, &dist.join(file), profile)?);
    }
    ensure!(glues.iter().all(|glue| *glue == glues[0]), "a page has one glue, and the modules want others");
    for (entry, file, format) in BUNDLES {
        bundle(&package, &made, &package.join("js").join(entry), &package.join(file), format)?;
    }
    for types in ["llm-rum.d.ts", "more.d.ts"] {
        fs::copy(package.join(types), dist.join(types))?;
    }
    for licence in notices::OWN {
        fs::copy(root.join(licence), dist.join(licence))?;
    }
    fs::write(dist.join(notices::FILE), notices::of_probe(root)?)?;
    pack(&package, &made, &dist)?;
    run(Command::new("node").current_dir(&package).arg(root.join("xtask/compress.mjs")).arg(&dist))
}

/// The glue between JavaScript and Wasm, which [`size`] measures with the parts around it.
pub(crate) fn glue_file(root: &Path) -> PathBuf {
    target_dir(root).join("probe").join(GLUE)
}

/// Bytes of what pages download.
pub(crate) struct Sizes {
    /// The parts, then the files that pages load.
    pub(crate) files: Vec<FileSize>,
    /// Script and Wasm together: what a page downloads.
    pub(crate) total: FileSize,
}

/// One file as it is, and as servers send it.
pub(crate) struct FileSize {
    /// What it is.
    pub(crate) name: &'static str,
    /// As it lies on disk.
    pub(crate) raw: u64,
    /// With `gzip -9`.
    pub(crate) gzip: u64,
    /// With brotli, quality 11.
    pub(crate) brotli: u64,
}

/// Measures what [`build`] made.
pub(crate) fn size(root: &Path) -> Result<Sizes> {
    let package = root.join("probe-wasm");
    let made = target_dir(root).join("probe");
    let _alone = alone_in(&made)?;
    for (_, entry, file) in PARTS {
        bundle(&package, &made, &package.join("js").join(entry), &made.join(file), "esm")?;
    }
    let parts = PARTS.map(|(name, _, file)| (name, made.join(file)));
    let extensions = EXTENSIONS.map(|(name, file, _)| (name, made.join(file)));
    for (_, file, _) in EXTENSIONS {
        bundle(&package, &made, &package.join("js/extensions").join(file), &made.join(file), "esm")?;
    }
    let dist = [
        "llm-rum.mjs",
        "llm-rum.js",
        "llm-rum.wasm",
        "llm-rum-all.wasm",
        "stub.js",
        "llm-rum-more.js",
        "llm-rum-worker.mjs",
    ];
    let files = parts
        .into_iter()
        .chain(extensions)
        .chain(dist.map(|name| (name, package.join("dist").join(name))))
        .map(|(name, path)| measure(name, &path))
        .collect::<Result<Vec<_>>>()?;
    let mut sizes = Sizes { files, total: FileSize { name: TOTAL, raw: 0, gzip: 0, brotli: 0 } };
    for name in ["llm-rum.js", "llm-rum.wasm"] {
        let FileSize { raw, gzip, brotli, .. } = *sizes.of(name)?;
        sizes.total.raw += raw;
        sizes.total.gzip += gzip;
        sizes.total.brotli += brotli;
    }
    Ok(sizes)
}

impl Sizes {
    /// The file or part of that name.
    pub(crate) fn of(&self, name: &str) -> Result<&FileSize> {
        self.files.iter().find(|file| file.name == name).with_context(|| format!("{name} was not measured"))
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<26} {:>9} {:>9} {:>9}", "file", "raw", "gzip", "brotli")?;
        for FileSize { name, raw, gzip, brotli } in self.files.iter().chain([&self.total]) {
            writeln!(f, "{name:<26} {raw:>9} {gzip:>9} {brotli:>9}")?;
        }
        Ok(())
    }
}

/// Waits until no other build works in this target folder, and keeps others out while the file lives: both
/// modules come out of cargo under one name, and what lies in `made` is each build's own.
fn alone_in(made: &Path) -> Result<fs::File> {
    let lock = fs::File::create(made.join("lock"))?;
    lock.lock().context("cannot keep other builds of the probe waiting")?;
    Ok(lock)
}

/// Compiles the crate. wasm-bindgen writes the module and its JavaScript into `made`.
fn compile(root: &Path, made: &Path, features: &str, profile: Profile) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = "wasm32-unknown-unknown";
    let mut flags = vec![NO_REFERENCES.to_owned()];
    flags.extend(folders_in_panics()?.map(|folder| format!("--remap-path-prefix={folder}/=")));
    run(Command::new(cargo)
        .args(["rustc", "--quiet", "--package", "probe-wasm", "--lib", "--crate-type", "cdylib"])
        .args(["--profile", profile.of_wasm(), "--target", target])
        .args(["--no-default-features", "--features", features])
        .args(["--", STACK])
        // This form allows for spaces in paths.
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .current_dir(root))?;
    let compiled = target_dir(root).join(target).join(profile.of_wasm()).join("probe_wasm.wasm");
    let mut module = shrink::parse(&fs::read(&compiled).context("cargo made no module")?)?;
    shrink::trap_instead_of_panicking(&mut module);
    shrink::keep_objects_outside(&mut module);
    shrink::number_closures(&mut module);
    let mut output =
        Bindgen::new().input_module("glue", module).bundler(true)?.typescript(false).generate_output()?;
    fs::write(made.join(GLUE_ENTRY), glue::entry(output.wasm()))?;
    output.emit(made)
}

/// Folders that the places of panics would name. Those of crates differ with the machine and its registry. Without the
/// folders of our own the module is 90 bytes smaller (brotli).
fn folders_in_panics() -> Result<impl Iterator<Item = String>> {
    let registries = cargo_home()?.join("registry/src");
    let registries = fs::read_dir(registries).into_iter().flatten().flatten();
    let registries = registries.map(|folder| folder.path().display().to_string());
    Ok(["beacon/src", "probe-core/src", "probe-wasm/src"].map(str::to_owned).into_iter().chain(registries))
}

/// Makes `output` of the module, and the glue of its JavaScript.
fn optimise(package: &Path, made: &Path, output: &Path, profile: Profile) -> Result<String> {
    let glue = made.join(GLUE);
    run(tool(package, "esbuild")
        .arg(made.join(GLUE_ENTRY))
        .args(["--bundle", "--format=iife", "--target=es2022", "--log-level=warning"])
        .args([format!("--banner:js={}", glue::HEAD), format!("--footer:js={}", glue::FOOT)])
        .arg(format!("--outfile={}", glue.display())))?;
    let script = fs::read_to_string(glue)?;
    let bound = made.join("glue_bg.wasm");
    let mut module = shrink::parse(&fs::read(&bound)?)?;
    glue::number_imports(&mut module);
    shrink::remove_unused_exports(&mut module, &script);
    module.emit_wasm_file(&bound)?;
    match profile {
        Profile::Release => {
            // A second run makes the module 26 bytes smaller (brotli).
            run(tool(package, "wasm-opt").arg("-Oz").arg("-o").args([&bound, &bound]))?;
            run(tool(package, "wasm-opt").args(WASM_OPT).arg("-o").args([output, &bound]))?;
        }
        Profile::Demo => _ = fs::copy(&bound, output)?,
    }
    Ok(script)
}

fn bundle(package: &Path, made: &Path, entry: &Path, output: &Path, format: &str) -> Result<()> {
    let path = |option: &str, path: &Path| {
        let mut option = OsString::from(format!("--{option}"));
        option.push(path);
        option
    };
    // esbuild adds to the file the names that are not in it.
    let names = made.join("names.json");
    fs::write(&names, SHORT_NAMES)?;
    // A worker has neither window nor document.
    let inject = entry.ends_with(WORKER).then(|| format!("--inject:{WORKER_PAGE}"));
    run(tool(package, "esbuild")
        .arg(entry)
        .args(inject)
        .args(entry.ends_with(FACADE).then_some(BESIDE_THE_FACADE).into_iter().flatten())
        .args(["--bundle", "--minify", "--target=es2022", "--legal-comments=none", "--log-level=warning"])
        .args([format!("--format={format}"), "--mangle-props=[a-z]_$".to_owned()])
        .arg(path("mangle-cache=", &names))
        .arg(path("alias:llm-rum-glue=", &made.join(GLUE)))
        .arg(path("outfile=", output)))?;
    let unknown = names_without_entry(&fs::read_to_string(&names)?)?;
    ensure!(unknown.is_empty(), "{}: {unknown:?} are missing in SHORT_NAMES", entry.display());
    // terser makes the script 580 bytes smaller (brotli), its further passes another 34, and short methods 22: nothing
    // calls `new` with one.
    run(tool(package, "terser")
        .args([
            "--compress",
            "passes=3,unsafe_methods=true",
            "--mangle",
            "--toplevel",
            "--ecma",
            "2022",
            "-o",
        ])
        .args([output, output]))
}

/// The names in esbuild's `cache` that are not in [`SHORT_NAMES`]: another bundle would shorten them in another way.
fn names_without_entry(cache: &str) -> Result<Vec<String>> {
    let known: BTreeMap<String, String> = serde_json::from_str(SHORT_NAMES)?;
    let cache: BTreeMap<String, String> = serde_json::from_str(cache)?;
    Ok(cache.into_keys().filter(|name| !known.contains_key(name)).collect())
}

/// The npm package as one file, which npm installs from the collector's address.
fn pack(package: &Path, made: &Path, dist: &Path) -> Result<()> {
    let mut npm = Command::new("npm");
    npm.current_dir(package).args(["pack", "--silent", "--pack-destination"]).arg(made);
    let name = output(&mut npm)?;
    fs::copy(made.join(name.trim()), dist.join("llm-rum.tgz")).context("npm has packed nothing")?;
    Ok(())
}

fn measure(name: &'static str, path: &Path) -> Result<FileSize> {
    let output = Command::new("node")
        .args([OsStr::new("-e"), OsStr::new(MEASURE), path.as_os_str()])
        .stderr(Stdio::inherit())
        .output()
        .context("node is needed to measure the probe")?;
    let figures = String::from_utf8(output.stdout)?;
    let figures = figures.split_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>()?;
    let [raw, gzip, brotli] = figures[..] else { anyhow::bail!("{} cannot be measured", path.display()) };
    Ok(FileSize { name, raw, gzip, brotli })
}

fn tool(package: &Path, name: &str) -> Command {
    let mut command = Command::new(package.join("node_modules/.bin").join(name));
    command.current_dir(package);
    command
}

/// Short names of the members that end in `_`, the same in every file: the stub in a page, the probe that comes later,
/// and its extensions see the same objects. A name that is missing here fails the build. A stub stays in its page when a
/// newer probe comes, so an entry never changes.
///
/// Without them the stub exceeds its budget (1,370 bytes gzip), and script and stub are 159 bytes larger (brotli).
const SHORT_NAMES: &str = r#"{"answered_":"B","asked_":"a","bodies_":"b","broken_":"k","buffered_":"h",
     "cancelled_":"c","clock_":"t","due_":"d","emittedBytes_":"e","ended_":"z","facts_":"F","inspect_":"x",
     "latest_":"m","left_":"L","native_":"n","onAbort_":"q","ours_":"o","overflowed_":"l","own_":"O","replayBytes_":"R",
     "replay_":"r","sink_":"s","tap_":"p","toldAt_":"T","visibilityBits_":"v","wantsWhole_":"f","wrap_":"w"}"#;

const TOTAL: &str = "llm-rum.js + llm-rum.wasm";

const GLUE: &str = "glue.js";
const GLUE_ENTRY: &str = "glue-entry.js";

/// What pages have inline.
const STUB: &str = "entry/stub.js";

/// The entry for workers, and what stands in the place of its window and document.
const WORKER: &str = "entry/worker.js";
const WORKER_PAGE: &str = "js/page/worker-page.js";

/// The probe for most streams, the one for all of them, and the features that make each.
const MODULES: [(&str, &str); 2] = [("llm-rum.wasm", ""), ("llm-rum-all.wasm", "all")];

/// What pages load, and what tests call: entry, file, format.
const BUNDLES: [(&str, &str, &str); 9] = [
    ("entry/script.js", "dist/llm-rum.js", "iife"),
    ("entry/module.js", "dist/llm-rum.mjs", "esm"),
    ("entry/script-development.js", "dist/llm-rum-dev.js", "iife"),
    ("entry/module-development.js", "dist/llm-rum-dev.mjs", "esm"),
    (STUB, "dist/stub.js", "iife"),
    ("entry/extensions-script.js", "dist/llm-rum-more.js", "iife"),
    ("entry/extensions.js", "dist/llm-rum-more.mjs", "esm"),
    (WORKER, "dist/llm-rum-worker.mjs", "esm"),
    ("watcher/wasm-watcher.js", "test/dist/watcher.mjs", "esm"),
];

/// Parts of them that [`size`] shows alone: what it calls them, entry, file.
const PARTS: [(&str, &str, &str); 3] = [
    ("tap", "tap/tap.js", "tap.js"),
    ("facade", FACADE, "facade.js"),
    ("glue", "watcher/wasm-watcher.js", "glue.min.js"),
];
/// What holds tap and glue together. Alone it is without them; in [`BUNDLES`] others bring it in.
const FACADE: &str = "page/probe.js";
const BESIDE_THE_FACADE: [&str; 2] =
    ["--external:./js/tap/tap.js", "--external:./js/watcher/wasm-watcher.js"];

/// What watches more than fetch, each by itself: the name that pages call it by, its file, and what it
/// may come to with brotli.
pub(crate) const EXTENSIONS: [(&str, &str, u64); 14] = [
    ("eventSource", "event-source.js", 1_150),
    ("xhr", "xhr.js", 1_550),
    // It reads which texts are questions, and follows several answers over two transports.
    ("webSocket", "web-socket.js", 2_750),
    ("paint", "paint.js", 1_800),
    // It follows texts into open shadow roots.
    ("output", "output.js", 2_650),
    ("networkTiming", "network-timing.js", 1_330),
    ("failures", "failures.js", 920),
    ("lastWord", "fetch-later.js", 400),
    ("gradio", "gradio.js", 640),
    ("arrivals", "arrivals.js", 480),
    ("marks", "marks.js", 530),
    ("visits", "visits.js", 200),
    ("traceId", "trace-id.js", 260),
    ("probeOverhead", "probe-overhead.js", 350),
];

/// Objects of the page stay with the glue: a table of references in the module takes 349 bytes more (brotli). See
/// [`shrink::keep_objects_outside`].
const NO_REFERENCES: &str = "-Ctarget-feature=-reference-types";

/// Nothing in the probe recurses deeper than a dialect's tables. With the usual stack of 1 MiB each page would need as
/// much more memory.
const STACK: &str = "-Clink-arg=-zstack-size=98304";

/// Repeated until nothing changes, the passes make the module 27 bytes smaller (brotli).
const WASM_OPT: [&str; 5] =
    ["-Oz", "--converge", "--strip-debug", "--strip-producers", "--strip-target-features"];

const MEASURE: &str = "const zlib = require('node:zlib');
const bytes = require('node:fs').readFileSync(process.argv[1]);
console.log(bytes.length, zlib.gzipSync(bytes, { level: 9 }).length, zlib.brotliCompressSync(bytes).length);";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_without_an_entry_is_found() {
        let with = |own: &str| SHORT_NAMES.replacen('{', &format!("{{{own}"), 1);
        assert!(names_without_entry(SHORT_NAMES).unwrap().is_empty());
        assert_eq!(
            names_without_entry(&with(r#""shown_":"y","other_":"Z","#)).unwrap(),
            ["other_", "shown_"]
        );
    }

    #[test]
    fn a_second_build_in_one_folder_waits_for_the_first() {
        let made = std::env::temp_dir().join(format!("llm-rum-alone-{}", std::process::id()));
        fs::create_dir_all(&made).unwrap();
        let first = alone_in(&made).unwrap();
        let other = fs::File::open(made.join("lock")).unwrap();
        assert!(matches!(other.try_lock(), Err(fs::TryLockError::WouldBlock)));
        drop(first);
        other.try_lock().unwrap();
        fs::remove_dir_all(&made).unwrap();
    }
}
