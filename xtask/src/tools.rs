//! What the commands need beyond Rust and Node: installed where that is possible (a Rust target by
//! rustup, npm packages by lockfile, Python packages into a folder of their own, Debian packages as root), otherwise named.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::paths::target_dir;
use crate::run::{output, run};

/// A program and the Debian package that brings it.
pub(crate) struct Program {
    name: &'static str,
    package: &'static str,
}

pub(crate) const CHROMIUM: Program = Program { name: "chromium", package: "chromium" };
pub(crate) const CHROMEDRIVER: Program = Program { name: "chromedriver", package: "chromium-driver" };
pub(crate) const FIREFOX: Program = Program { name: "firefox-esr", package: "firefox-esr" };
/// Brings WebKitGTK and its MiniBrowser, too.
pub(crate) const WEBKIT_DRIVER: Program = Program { name: "WebKitWebDriver", package: "webkit2gtk-driver" };
/// A display for WebKit, which has no headless mode.
pub(crate) const XVFB: Program = Program { name: "Xvfb", package: "xvfb" };
/// A client that the middleware sends no comment.
pub(crate) const CURL: Program = Program { name: "curl", package: "curl" };
/// A clock of another day.
pub(crate) const FAKETIME: Program = Program { name: "faketime", package: "faketime" };
const PYTHON: Program = Program { name: "python3", package: "python3-venv" };
pub(crate) const PROMETHEUS: Program = Program { name: "prometheus", package: "prometheus" };
/// The package that starts no server.
pub(crate) const NGINX: Program = Program { name: "nginx", package: "nginx-light" };
/// A C compiler for programs that are linked statically.
pub(crate) const MUSL_GCC: Program = Program { name: "musl-gcc", package: "musl-tools" };
/// It judges units without a systemd that runs.
pub(crate) const SYSTEMD: Program = Program { name: "systemd-analyze", package: "systemd" };

/// Adds the Wasm target to the toolchain in use, unless it is there.
pub(crate) fn wasm_target() -> Result<()> {
    rust_target("wasm32-unknown-unknown")
}

/// Adds a target to the toolchain in use, unless it is there.
pub(crate) fn rust_target(name: &str) -> Result<()> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(name).exists() {
        return Ok(());
    }
    run(Command::new("rustup").args(["target", "add", name]))
        .with_context(|| format!("the Rust target {name} is missing, and rustup could not add it"))
}

/// What the three browser engines need to be driven.
pub(crate) fn browsers(root: &Path) -> Result<()> {
    browser_programs()?;
    geckodriver(root)
}

/// The programs among them that are Debian packages.
pub(crate) fn browser_programs() -> Result<()> {
    programs(&[CHROMIUM, CHROMEDRIVER, FIREFOX, WEBKIT_DRIVER, XVFB])
}

/// Debian has no package of Firefox's driver: built from crates.io into the target folder, where tests
/// look for it, unless it is there or on the path.
pub(crate) fn geckodriver(root: &Path) -> Result<()> {
    let tools = target_dir(root).join("tools");
    if find("geckodriver").is_some() || tools.join("bin/geckodriver").exists() {
        return Ok(());
    }
    let version = ["--version", GECKODRIVER_VERSION];
    run(Command::new("cargo")
        // Not optimised: it mostly waits for Firefox.
        .args(["install", "--quiet", "--locked", "--debug", "geckodriver"])
        .args(version)
        .arg("--root")
        .arg(&tools))
    .context("geckodriver, which drives Firefox, is missing and could not be built")
}

/// Installs a folder's npm packages exactly as its lockfile says, unless that has been done.
pub(crate) fn npm_packages(folder: &Path) -> Result<()> {
    let lockfile = folder.join("package-lock.json");
    let wanted = fs::read(&lockfile).with_context(|| format!("cannot read {}", lockfile.display()))?;
    let installed = folder.join("node_modules/.installed-lockfile");
    if fs::read(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    run(npm(folder).args(["ci", "--no-audit", "--no-fund"]))?;
    fs::write(&installed, wanted).with_context(|| format!("cannot write {}", installed.display()))
}

/// Runs one of a folder's npm scripts.
pub(crate) fn npm_script(folder: &Path, script: &str) -> Result<()> {
    run(npm(folder).args(["run", "--silent", script]))
}

/// Makes sure that the programs are on the path: by apt where this is Debian and the user is root,
/// otherwise by saying which packages to install.
pub(crate) fn programs(wanted: &[Program]) -> Result<()> {
    let missing: Vec<_> = wanted.iter().filter(|program| find(program.name).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<_> = missing.iter().map(|program| program.package).collect();
    install(&packages)?;
    match wanted.iter().find(|program| find(program.name).is_none()) {
        Some(program) => bail!("package {} did not bring {}", program.package, program.name),
        None => Ok(()),
    }
}

/// Puts the Python packages that the journeys run under `target/python`, unless they are there.
pub(crate) fn python_packages(root: &Path) -> Result<()> {
    python_environment(&root.join("target/python"), &PYTHON_PACKAGES, &[])
}

/// Puts the packages that the tests of the Python middleware need under `target/python-middleware`, unless they are
/// there. Gives back the folder of their programs.
pub(crate) fn middleware_packages(root: &Path) -> Result<PathBuf> {
    listed_packages(root, "instrumentation/python/requirements-test.txt", "target/python-middleware", &[])
}

/// Puts the official MCP client under `target/python-mcp`, unless it is there. Gives back the folder of its programs.
pub(crate) fn mcp_client_packages(root: &Path) -> Result<PathBuf> {
    listed_packages(root, "tests/mcp/requirements.txt", "target/python-mcp", &[])
}

/// Puts a product of `tests/products` and what it needs under `target/python-NAME`, unless it is there. Gives back the
/// folder of its programs.
pub(crate) fn product_packages(root: &Path, name: &str) -> Result<PathBuf> {
    let list = format!("tests/products/requirements-{name}.txt");
    // It depends on some GB that it imports only for documents, speech and local models.
    let options: &[_] = if name == "open-webui" { &["--no-deps"] } else { &[] };
    listed_packages(root, &list, &format!("target/python-{name}"), options)
}

/// Makes an environment of Python with the packages of a list. Gives back the folder of its programs.
fn listed_packages(root: &Path, list: &str, folder: &str, options: &[&str]) -> Result<PathBuf> {
    let list = root.join(list);
    let list = fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
    let packages: Vec<_> = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let folder = root.join(folder);
    python_environment(&folder, &packages, options)?;
    Ok(folder.join("bin"))
}

/// Makes an environment of Python with exactly these packages, unless it is there. `options` are pip's.
fn python_environment(folder: &Path, packages: &[&str], options: &[&str]) -> Result<()> {
    let marker = folder.join(".installed");
    let wanted = packages.join(" ");
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    programs(&[PYTHON])?;
    let make = || run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder));
    if make().is_err() {
        // Debian's python3 comes without it.
        install(&["python3-venv"])?;
        make()?;
    }
    let pip = folder.join("bin/pip");
    run(Command::new(pip)
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .args(options)
        .args(packages))?;
    fs::write(&marker, wanted).with_context(|| format!("cannot write {}", marker.display()))
}

fn install(packages: &[&str]) -> Result<()> {
    if !(Path::new("/etc/debian_version").exists() && is_root()?) {
        bail!("missing programs; install the Debian packages {} or their like", packages.join(" "));
    }
    run(Command::new("apt-get").args(["update", "-qq"]))?;
    run(Command::new("apt-get")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["install", "-y", "-qq", "--no-install-recommends"])
        .args(packages)
        .stdout(Stdio::null()))
}

fn npm(folder: &Path) -> Command {
    let mut npm = Command::new("npm");
    npm.current_dir(folder);
    npm
}

fn find(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        // Debian puts servers where only root's path leads.
        .chain([PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

fn is_root() -> Result<bool> {
    Ok(output(Command::new("id").arg("-u"))?.trim() == "0")
}

const GECKODRIVER_VERSION: &str = "0.37.1";
/// A schema fuzzer, ClickHouse's engine, the schemas of Kubernetes, and what reads exported streams.
const PYTHON_PACKAGES: [&str; 6] = [
    "schemathesis==4.32.5",
    "chdb-core==26.9.0",
    "kubernetes-validate==1.37.0",
    "duckdb==2.0.1",
    "pandas==3.1.1",
    "pyarrow==26.0.1",
];
