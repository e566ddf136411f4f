//! Builds the probe that pages load: the `probe-wasm` crate and its JavaScript come in,
//! `probe-wasm/dist` goes out. Says how large each part is.

mod glue;
mod shrink;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

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
    pack(&package, &made, &dist)?;
    run(Command::new("node").arg(root.join("xtask/compress.mjs")).arg(&dist))
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

fn compile(root: &Path, made: &Path, features: &str, profile: Profile) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = "wasm32-unknown-unknown";
    // A panic's place would name folders of this machine.
    let remapped = format!("--remap-path-prefix={}=/cargo", cargo_home()?.display());
    let flags: Vec<_> = LLVM.split_whitespace().chain([remapped.as_str()]).collect();
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
    shrink::trap_instead_of_panicking(&mut module)?;
    shrink::keep_objects_outside(&mut module);
    Bindgen::new().input_module("glue", module).bundler(true)?.typescript(false).generate_output()?.emit(made)
}

/// Removes the glue that the module does not import, then optimises the module for size.
fn optimise(package: &Path, made: &Path, output: &Path, profile: Profile) -> Result<String> {
    let (bound, used, named) = (made.join("glue_bg.wasm"), made.join("used.wasm"), made.join("named.wasm"));
    wasm_opt(package, REMOVE_UNUSED, &bound, &used)?;
    let mut module = shrink::parse(&fs::read(&used)?)?;
    let text = fs::read_to_string(made.join("glue_bg.js"))?;
    let text = glue::trim(&text, |name| module.imports.iter().any(|import| import.name == name));
    let text = shrink::shorten_names(&mut module, text);
    fs::write(made.join("trimmed.js"), &text)?;
    fs::write(&named, module.emit_wasm())?;
    match profile {
        Profile::Release => wasm_opt(package, FOR_SIZE, &named, output)?,
        Profile::Demo => _ = fs::copy(&named, output)?,
    }
    Ok(text)
}

fn wasm_opt(package: &Path, passes: &str, input: &Path, output: &Path) -> Result<()> {
    run(tool(package, "wasm-opt").args(WASM_OPT).arg(passes).arg(DEALIGN).arg("-o").args([output, input]))
}

fn bundle(package: &Path, made: &Path, entry: &Path, output: &Path, format: &str) -> Result<()> {
    let mut glue = std::ffi::OsString::from("--alias:llm-rum-glue=");
    glue.push(made.join(GLUE));
    let mut outfile = std::ffi::OsString::from("--outfile=");
    outfile.push(output);
    // esbuild adds to the file what it has named itself.
    let names = made.join("names.json");
    fs::write(&names, SHARED_NAMES)?;
    let mut cache = std::ffi::OsString::from("--mangle-cache=");
    cache.push(&names);
    // A worker has neither window nor document.
    let inject = entry.ends_with(WORKER).then(|| format!("--inject:{WORKER_PAGE}"));
    run(tool(package, "esbuild")
        .arg(entry)
        .args(inject)
        .args(entry.ends_with(FACADE).then_some(BESIDE_THE_FACADE).into_iter().flatten())
        .args(["--bundle", "--minify", "--target=es2022", "--legal-comments=none", "--log-level=warning"])
        .args([format!("--format={format}"), format!("--mangle-props={INNER_NAMES}")])
        .args([cache, glue, outfile]))?;
    let inside = entry.strip_prefix(package.join("js"))?;
    if inside.components().any(|part| part.as_os_str().to_string_lossy().starts_with("extensions")) {
        let named = named_here(&fs::read_to_string(&names)?)?;
        ensure!(named.is_empty(), "{} and the probe shorten {named:?} each by itself", entry.display());
    }
    // What esbuild has put together, terser makes smaller still.
    let shorten = if entry.ends_with(STUB) { SHORTEN_THE_STUB } else { SHORTEN };
    run(tool(package, "terser")
        .args(["--compress", shorten, "--mangle", "--ecma", "2022", "-o"])
        .args([output, output]))
}

/// The names in a bundle's `cache` that it has shortened by itself: another bundle has other names for them.
fn named_here(cache: &str) -> Result<Vec<String>> {
    let shared: BTreeMap<String, String> = serde_json::from_str(SHARED_NAMES)?;
    let cache: BTreeMap<String, String> = serde_json::from_str(cache)?;
    Ok(cache.into_keys().filter(|name| !shared.contains_key(name)).collect())
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

/// Names of members that neither the browser, the app nor the Wasm knows: they are made short, in each file
/// by itself. So extensions, which are in a file of their own and see what the probe keeps with a stream,
/// have no members called so but for the [`SHARED_NAMES`].
const INNER_NAMES: &str = "^(answered|asked|bodies|broken|buffered|cancelled|clock|countLost|drop|due|emittedBytes|\
     ended|facts|flushSoon|inspect|lastPost|latest|left|native|onAbort|ours|overflowed|post|replay|replayBytes|\
     setHidden|sink|submit|take|tap|visibilityBits|wantsWhole|watcher|wrap|_wbg_cb_unref)$";

/// Those by which the stub in a page, the probe that it waits for and its extensions know each other. A stub
/// stays in its page when a newer probe comes: what these are called is never to change.
const SHARED_NAMES: &str = r#"{"bodies":"b","broken":"k","overflowed":"l","inspect":"x","buffered":"h","native":"n",
     "ours":"o","sink":"s","wrap":"w"}"#;

const TOTAL: &str = "llm-rum.js + llm-rum.wasm";

const GLUE: &str = "trimmed.js";

/// What pages have inline.
const STUB: &str = "entry/stub.js";

/// The entry for workers, and what stands in the place of its window and document.
const WORKER: &str = "entry/worker.js";
const WORKER_PAGE: &str = "js/page/worker-page.js";

/// The probe for most streams, the one for all of them, and the features that make each.
const MODULES: [(&str, &str); 2] = [("llm-rum.wasm", ""), ("llm-rum-all.wasm", "all")];

/// What pages load, and what tests call: entry, file, format.
const BUNDLES: [(&str, &str, &str); 7] = [
    ("entry/script.js", "dist/llm-rum.js", "iife"),
    ("entry/module.js", "dist/llm-rum.mjs", "esm"),
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
pub(crate) const EXTENSIONS: [(&str, &str, u64); 7] = [
    ("eventSource", "event-source.js", 1_100),
    ("xhr", "xhr.js", 1_500),
    ("webSocket", "web-socket.js", 1_230),
    ("paint", "paint.js", 1_800),
    ("networkTiming", "network-timing.js", 1_250),
    ("lastWord", "fetch-later.js", 400),
    ("probeOverhead", "probe-overhead.js", 350),
];

/// Passes that copy code for speed, off; and one that joins it, on. Objects stay with the glue: see
/// [`shrink::keep_objects_outside`].
const LLVM: &str = "-Cllvm-args=-disable-licm-promotion -Cllvm-args=-enable-pre=0 \
     -Cllvm-args=-enable-gvn-sink -Ctarget-feature=-reference-types";

/// Nothing in the probe recurses deeper than a dialect's tables. Behind the usual stack of 1 MiB each address would
/// be a byte longer, and each page's memory so much larger.
const STACK: &str = "-Clink-arg=-zstack-size=98304";

/// The features that rustc uses for this target, as wasm-opt accepts no others than it is told of; then
/// what it may assume.
const WASM_OPT: [&str; 11] = [
    "--skip-pass=memory-packing",
    "--strip-debug",
    "--strip-producers",
    "--strip-target-features",
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
    // Safe Rust never reads beyond its memory, so no read is kept for the trap it might end in.
    "--ignore-implicit-traps",
    // The stack's far end lies there.
    "--low-memory-unused",
];

/// Removes functions and imports that nothing uses.
const REMOVE_UNUSED: &str = "-O1";
const FOR_SIZE: &str = "-Oz";

/// Hints of alignment are nothing to the machine, and noise to the compressor.
const DEALIGN: &str = "--dealign";

/// What terser may do. Shorter is not smaller: these leave what compresses best, of a page's script by brotli, of
/// the stub by gzip.
const SHORTEN: &str =
    "passes=10,arrows=false,unsafe_arrows,toplevel,keep_fargs=false,sequences=false,unsafe_methods";
const SHORTEN_THE_STUB: &str = "passes=10,arrows=false,unsafe_arrows,toplevel,keep_fargs=false";

const MEASURE: &str = "const zlib = require('node:zlib');
const bytes = require('node:fs').readFileSync(process.argv[1]);
console.log(bytes.length, zlib.gzipSync(bytes, { level: 9 }).length, zlib.brotliCompressSync(bytes).length);";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_two_bundles_shorten_apart_are_found() {
        let with = |own: &str| SHARED_NAMES.replacen('{', &format!("{{{own}"), 1);
        assert!(named_here(SHARED_NAMES).unwrap().is_empty());
        assert_eq!(named_here(&with(r#""shown":"a","ended":"c","#)).unwrap(), ["ended", "shown"]);
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
