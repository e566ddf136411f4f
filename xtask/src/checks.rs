//! `cargo xtask check` and `cargo xtask test`: every stage runs, failures are counted, and the last
//! line is the sum.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::run::run;
use crate::{artefacts, size, tools};

/// Format, lints, unit tests: what a change should pass before it is committed.
pub(crate) fn check(root: &Path) -> Result<()> {
    let mut checks = Checks::default();
    fast(root, &mut checks);
    checks.close()
}

/// Everything, from a fresh clone.
pub(crate) fn test(root: &Path) -> Result<()> {
    tools::programs(&[tools::PROMETHEUS, tools::NGINX])?;
    tools::browsers(root)?;
    tools::python_packages(root)?;
    let mut checks = Checks::default();
    fast(root, &mut checks);
    checks.stage("documentation", || {
        run(cargo(root, &["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links"))
    });
    let built = checks.stage("build", || artefacts::build(root));
    // Without the artefacts every journey would fail with the same reason: one failure says it.
    if built {
        for folder in TESTED_PAGES {
            checks.stage(&format!("{folder}: tests"), || tools::npm_script(&root.join(folder), "test"));
        }
        checks.stage("size budgets", || size::hold_budgets(root));
        checks.stage("recipes", || {
            let recipes = root.join("docs/recipes");
            tools::npm_packages(&recipes)?;
            tools::npm_script(&recipes, "build")
        });
        checks.tests(
            "journeys",
            cargo(
                root,
                &["test", "-p", "tests", "--no-fail-fast", "--", "--test-threads=1", "--show-output"],
            ),
        );
    }
    checks.close()
}

fn fast(root: &Path, checks: &mut Checks) {
    checks.stage("format", || run(&mut cargo(root, &["fmt", "--all", "--check"])));
    checks.stage("lints", || {
        run(&mut cargo(root, &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))
    });
    checks.stage("lints of the probe", || {
        tools::wasm_target()?;
        run(&mut cargo(
            root,
            &[
                "clippy",
                "-p",
                "probe-wasm",
                "--target",
                "wasm32-unknown-unknown",
                "--quiet",
                "--",
                "-D",
                "warnings",
            ],
        ))
    });
    checks.stage("pages: types", || {
        PAGES.iter().try_for_each(|folder| {
            let folder = root.join(folder);
            tools::npm_packages(&folder)?;
            tools::npm_script(&folder, "check")
        })
    });
    checks.stage("parser to compare with", || tools::npm_packages(&root.join(ORACLE)));
    let unit = ["test", "--workspace", "--exclude", "tests", "--no-fail-fast", "--quiet"];
    checks.tests("unit tests", cargo(root, &unit));
}

/// What has run so far.
#[derive(Default)]
struct Checks {
    passed: u64,
    failed: u64,
    failures: Vec<String>,
}

impl Checks {
    /// Runs one stage that passes or fails as a whole.
    fn stage(&mut self, name: &str, stage: impl FnOnce() -> Result<()>) -> bool {
        let start = Instant::now();
        let result = stage();
        let seconds = start.elapsed().as_secs();
        match &result {
            Ok(()) => {
                self.passed += 1;
                println!("stage {name}: passed in {seconds} s");
            }
            Err(error) => {
                self.fail(name, &format!("{error:#}"));
                println!("stage {name}: FAILED in {seconds} s: {error:#}");
            }
        }
        result.is_ok()
    }

    /// Runs a cargo test command and adds up what its runners say.
    fn tests(&mut self, name: &str, command: Command) {
        let start = Instant::now();
        match counted(command) {
            Ok((passed, failed, success)) => {
                self.passed += passed;
                self.failed += failed;
                if passed + failed == 0 {
                    self.fail(name, "no test ran");
                } else if failed > 0 {
                    self.failures.push(format!("{name}: {failed} tests"));
                } else if !success {
                    self.fail(name, "did not end well");
                }
                println!("stage {name}: {passed} passed, {failed} failed in {} s", start.elapsed().as_secs());
            }
            Err(error) => self.fail(name, &format!("{error:#}")),
        }
    }

    fn fail(&mut self, name: &str, why: &str) {
        self.failed += 1;
        self.failures.push(format!("{name}: {why}"));
    }

    fn close(self) -> Result<()> {
        for failure in &self.failures {
            println!("FAILED {failure}");
        }
        println!("{} passed, {} failed", self.passed, self.failed);
        if self.failed > 0 {
            bail!("{} checks failed", self.failed);
        }
        Ok(())
    }
}

/// Passes the runners' output through, and sums their `test result:` lines.
fn counted(mut command: Command) -> Result<(u64, u64, bool)> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let output = child.stdout.take().context("stdout is piped")?;
    let (mut passed, mut failed) = (0, 0);
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        if let Some(result) = line.strip_prefix("test result: ") {
            passed += number_before(result, " passed");
            failed += number_before(result, " failed");
        }
    }
    Ok((passed, failed, child.wait()?.success()))
}

fn number_before(line: &str, word: &str) -> u64 {
    let before = line.split(word).next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root).args(arguments);
    cargo
}

/// What the parser of server-sent events is tested against.
const ORACLE: &str = "probe-core/tests/oracle";
const PAGES: [&str; 3] = ["probe-wasm", "www", "demo-site/web"];
/// The demo page is tested by the journeys through it.
const TESTED_PAGES: [&str; 2] = ["probe-wasm", "www"];
