//! `cargo xtask check` and `cargo xtask test`: every stage runs, failures are counted, and the last
//! line is the sum.

use std::cmp::Reverse;
use std::io::{BufRead, BufReader};
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::paths::target_dir;
use crate::profile::Profile;
use crate::run::{output, run};
use crate::{artefacts, rules, size, tools};

/// Format, lints, unit tests: what a change should pass before it is committed.
pub(crate) fn check(root: &Path) -> Result<()> {
    let mut checks = Checks::default();
    fast(root, &mut checks);
    checks.close()
}

/// Writes the generated types and tables.
pub(crate) fn generate(root: &Path) -> Result<()> {
    ["beacon", "collector"].iter().try_for_each(|package| {
        run(&mut cargo(root, &["run", "--quiet", "-p", package, "--example", GENERATOR]))
    })
}

/// Everything, from a fresh clone.
pub(crate) fn test(root: &Path) -> Result<()> {
    let mut checks = Checks::default();
    let start = Instant::now();
    tools::programs(&[tools::PROMETHEUS, tools::NGINX, tools::SYSTEMD, tools::FAKETIME, tools::CURL])?;
    tools::browser_programs()?;
    let (python, mcp_client) = std::thread::scope(|scope| {
        // To build takes the processor, to download the network.
        let geckodriver = scope.spawn(|| tools::geckodriver(root));
        tools::python_packages(root)?;
        let packages = (tools::middleware_packages(root)?, tools::mcp_client_packages(root)?);
        geckodriver.join().expect("it returns errors").map(|()| packages)
    })?;
    checks.took("tools", start.elapsed());
    // First, because the programs embed it: what was built before would be built again.
    let built = checks.stage("probe and pages", || artefacts::embedded(root));
    fast(root, &mut checks);
    checks.stage(&format!("{NODE_MIDDLEWARE}: tests"), || {
        let folder = root.join(NODE_MIDDLEWARE);
        tools::npm_packages(&folder)?;
        tools::npm_script(&folder, "test")
    });
    checks.stage("documentation", || {
        run(cargo(root, &["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links"))
    });
    let middleware = |program: &str| python_program(root, &python.join(program));
    checks.stage("Python middleware: types", || run(&mut middleware("mypy")));
    checks.tests("Python middleware", middleware("pytest").arg("-q"));
    let built = built & checks.stage("programs", || programs(root));
    // Without the artefacts every journey would fail with the same reason: one failure says it.
    if built {
        checks.stage("types of Grafana", || tools::npm_packages(&root.join("tests/grafana")));
        for folder in TESTED_PAGES {
            checks.stage(&format!("{folder}: tests"), || tools::npm_script(&root.join(folder), "test"));
        }
        checks.tests(
            "MCP server and the official client",
            Command::new(mcp_client.join("pytest"))
                .current_dir(root.join("tests/mcp"))
                .args(["-q", "-p", "no:cacheprovider"])
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .env("LLM_RUM", target_dir(root).join("debug/llm-rum")),
        );
        checks.stage("size budgets", || size::hold_budgets(root));
        checks.stage("recipes", || {
            let recipes = root.join("docs/recipes");
            tools::npm_packages(&recipes)?;
            tools::npm_script(&recipes, "build")
        });
        let side_by_side = JOURNEYS_SIDE_BY_SIDE.map(|module| format!("{module}::"));
        let others = side_by_side.iter().flat_map(|module| ["--skip", module]);
        checks.tests("journeys", journeys(root, 1).args(others));
        checks.tests("journeys side by side", journeys(root, 3).args(&side_by_side));
    }
    println!(
        "left out: LiteLLM, OpenTelemetry, Gradio, Chainlit, Open WebUI, Streamlit, NiceGUI, Shiny, Panel, FastAPI, Next.js: `cargo xtask test-products`"
    );
    checks.close()
}

/// Real products send timings to the collector. Apart from the other tests, because their packages take long to install.
pub(crate) fn test_products(root: &Path) -> Result<()> {
    tools::browsers(root)?;
    tools::programs(&[tools::NGINX])?;
    let suites = [
        ("OpenTelemetry", "test_opentelemetry.py", tools::product_packages(root, "opentelemetry")?),
        ("LiteLLM", "test_litellm.py", tools::product_packages(root, "litellm")?),
        ("Gradio", "test_gradio.py", tools::product_packages(root, "gradio")?),
        ("Chainlit", "test_chainlit.py", tools::product_packages(root, "chainlit")?),
        ("Open WebUI", "test_open_webui.py", tools::product_packages(root, "open-webui")?),
        ("Streamlit", "test_streamlit.py", tools::product_packages(root, "streamlit")?),
        ("NiceGUI", "test_nicegui.py", tools::product_packages(root, "nicegui")?),
        ("Shiny", "test_shiny.py", tools::product_packages(root, "shiny")?),
        ("Panel", "test_panel.py", tools::product_packages(root, "panel")?),
        ("accuracy of each part of the wait", "test_accuracy.py", tools::middleware_packages(root)?),
        ("FastAPI from its page", "test_recipe_fastapi.py", tools::middleware_packages(root)?),
        ("LiteLLM from its page", "test_recipe_litellm.py", tools::product_packages(root, "litellm")?),
        (
            "OpenTelemetry from its page",
            "test_recipe_opentelemetry.py",
            tools::product_packages(root, "opentelemetry")?,
        ),
        ("Next.js from its page", "test_recipe_nextjs.py", tools::middleware_packages(root)?),
    ];
    let mut checks = Checks::default();
    if checks.stage("build", || artefacts::build(root)) {
        for (product, file, programs) in suites {
            let mut pytest = Command::new(programs.join("pytest"));
            pytest.current_dir(root.join("tests/products")).args([
                "-q",
                "-s",
                "-p",
                "no:cacheprovider",
                file,
            ]);
            pytest
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .env("LLM_RUM", artefacts::program(root, Profile::Release, "llm-rum"));
            checks.tests(product, &mut pytest);
        }
    }
    checks.close()
}

fn fast(root: &Path, checks: &mut Checks) {
    checks.stage("rules", || rules::hold(root));
    checks.stage("format", || run(&mut cargo(root, &["fmt", "--all", "--check"])));
    checks.stage("lints", || {
        run(&mut cargo(root, &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))
    });
    checks.stage("lints of the probe", || {
        tools::wasm_target()?;
        // The larger of the two that pages load, and the first.
        [&[][..], &["--no-default-features"]].into_iter().try_for_each(|features| {
            run(cargo(root, &["clippy", "-p", "probe-wasm", "--target", "wasm32-unknown-unknown", "--quiet"])
                .args(features)
                .args(["--", "-D", "warnings"]))
        })
    });
    checks.stage("JavaScript: types", || {
        TYPED_PACKAGES.iter().try_for_each(|folder| {
            let folder = root.join(folder);
            tools::npm_packages(&folder)?;
            tools::npm_script(&folder, "check")
        })
    });
    checks.stage("parser to compare with", || tools::npm_packages(&root.join(ORACLE)));
    match unit_tests(root) {
        Ok(targets) => {
            let quiet = ["--no-fail-fast", "--quiet"];
            // Many of them wait for a process or a clock.
            let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
            let at_a_time = format!("--test-threads={}", 2 * cores);
            let mut tests = cargo(root, &["test"]);
            tests.args(ALL_BUT_XTASK).args(targets).args(quiet).args(["--", &at_a_time]);
            checks.tests("unit tests", &mut tests);
            checks.stage("examples in docs", || {
                run(cargo(root, &["test", "--doc"]).args(ALL_BUT_XTASK).args(quiet))
            });
            checks.tests("unit tests of xtask", cargo(root, &["test", "-p", "xtask"]).args(quiet));
        }
        Err(error) => checks.fail("unit tests", &format!("{error:#}")),
    }
}

/// Builds the programs that journeys start. Cargo builds them with the tests of their packages.
fn programs(root: &Path) -> Result<()> {
    run(cargo(root, &["test", "--no-run", "--quiet", "--test", JOURNEYS, "--test", "it"]).args(ALL_BUT_XTASK))
}

/// Arguments that choose all tests but the journeys.
fn unit_tests(root: &Path) -> Result<Vec<String>> {
    let metadata = output(&mut cargo(root, &["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("packages")?;
    let targets = packages.iter().filter_map(|package| package["targets"].as_array()).flatten();
    let tests = targets.filter(|target| target["kind"] == json!(["test"]) && target["name"] != JOURNEYS);
    let names = tests.filter_map(|target| target["name"].as_str());
    let chosen = names.flat_map(|name| ["--test", name]).map(str::to_owned);
    let others = ["--lib", "--bins", "--example", GENERATOR];
    Ok(others.map(str::to_owned).into_iter().chain(chosen).collect())
}

/// What has run so far.
#[derive(Default)]
struct Checks {
    passed: u64,
    failed: u64,
    failures: Vec<String>,
    /// What each failing test said, to be said again where it is found.
    said: Vec<Vec<String>>,
    /// How long each stage took.
    stages: Vec<(String, Duration)>,
    /// How long each test took that ran alone.
    tests: Vec<(String, Duration)>,
}

impl Checks {
    /// Runs one stage that passes or fails as a whole.
    fn stage(&mut self, name: &str, stage: impl FnOnce() -> Result<()>) -> bool {
        let start = Instant::now();
        let result = stage();
        let seconds = self.took(name, start.elapsed());
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

    /// Runs a command of cargo or pytest and adds up what its runners say.
    fn tests(&mut self, name: &str, command: &mut Command) {
        let start = Instant::now();
        let alone = command.get_args().any(|argument| argument == "--test-threads=1");
        let mut times = Vec::new();
        let counted = counted(command, &mut times, &mut self.said);
        // Of tests side by side it is not known when each began.
        self.tests.extend(times.into_iter().filter(|_| alone));
        let seconds = self.took(name, start.elapsed());
        match counted {
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
                println!("stage {name}: {passed} passed, {failed} failed in {seconds} s");
            }
            Err(error) => self.fail(name, &format!("{error:#}")),
        }
    }

    fn took(&mut self, name: &str, time: Duration) -> u64 {
        self.stages.push((name.to_owned(), time));
        time.as_secs()
    }

    fn fail(&mut self, name: &str, why: &str) {
        self.failed += 1;
        self.failures.push(format!("{name}: {why}"));
    }

    fn close(self) -> Result<()> {
        print_longest("stage", self.stages);
        print_longest("test", self.tests);
        for line in self.said.iter().flat_map(|lines| last(lines)) {
            println!("{line}");
        }
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

/// The longest first, and what all took together.
fn print_longest(what: &str, mut times: Vec<(String, Duration)>) {
    times.sort_by_key(|(_, time)| Reverse(*time));
    let all: Duration = times.iter().map(|(_, time)| time).sum();
    for (name, time) in times.iter().take(MOST_TIMES) {
        println!("{:>7.1} s  {what} {name}", time.as_secs_f64());
    }
    if !times.is_empty() {
        println!("{:>7.1} s  all {}", all.as_secs_f64(), times.len());
    }
}

/// The heading, and the end of what a test said: its reason, which comes last, where that is known.
fn last(said: &[String]) -> impl Iterator<Item = &String> {
    let (heading, lines) = said.split_at(said.len().min(1));
    let is_reason = |line: &String| line.starts_with("Error: ") || line.contains("panicked at ");
    let reason = lines.iter().rposition(is_reason).unwrap_or(0);
    heading.iter().chain(&lines[reason.max(lines.len().saturating_sub(MOST_LINES))..])
}

/// Passes the runners' output through, and sums the tests that passed and failed. Where they run one test at a
/// time and name each, adds how long it took; and what those that fail have `said`.
fn counted(
    command: &mut Command,
    tests: &mut Vec<(String, Duration)>,
    said: &mut Vec<Vec<String>>,
) -> Result<(u64, u64, bool)> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start the tests")?;
    let output = child.stdout.take().context("stdout is piped")?;
    let (mut passed, mut failed) = (0, 0);
    let mut begun = Instant::now();
    let mut in_failures = false;
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        if line.starts_with("running ") {
            begun = Instant::now();
        } else if let Some((name, _)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
            tests.push((name.to_owned(), begun.elapsed()));
            begun = Instant::now();
        }
        // Once above what they said, and once above their names.
        if line == "failures:" {
            in_failures = !in_failures;
        } else if in_failures && line.starts_with("---- ") {
            said.push(vec![line.clone()]);
        } else if in_failures && let Some(lines) = said.last_mut() {
            lines.push(line.clone());
        }
        // Pytest names each test that failed once more at its end.
        if !in_failures && line.starts_with("FAILED ") {
            said.push(vec![line.clone()]);
        }
        if let Some(result) = line.strip_prefix("test result: ").or_else(|| pytest_result(&line)) {
            passed += number_before(result, " passed");
            failed += number_before(result, " failed");
        }
    }
    Ok((passed, failed, child.wait()?.success()))
}

/// The counts in the last line of pytest: `1 failed, 2 passed in 0.30s`.
fn pytest_result(line: &str) -> Option<&str> {
    let (counts, time) = line.rsplit_once(" in ")?;
    let is_count = |part: &str| part.split_once(' ').is_some_and(|(number, _)| number.parse::<u64>().is_ok());
    let is_time = time.starts_with(|first: char| first.is_ascii_digit()) && time.ends_with(['s', ')']);
    (is_time && counts.split(", ").all(is_count)).then_some(counts)
}

fn number_before(line: &str, word: &str) -> u64 {
    let before = line.split(word).next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A program of the middleware's environment, which writes nothing beside the sources.
fn python_program(root: &Path, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root.join("instrumentation/python")).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root).args(arguments);
    cargo
}

/// Runs so many journeys at a time. The caller adds their names.
fn journeys(root: &Path, at_a_time: usize) -> Command {
    let mut command = cargo(root, &["test", "--test", JOURNEYS]);
    // A reason that ends in fifty lines of where it came from is not found again.
    command.env("RUST_LIB_BACKTRACE", "0").args(ALL_BUT_XTASK);
    command.args(["--no-fail-fast", "--", "--show-output", &format!("--test-threads={at_a_time}")]);
    command
}

/// Cargo builds a dependency anew for each set of packages that want other features of it: tests are run of
/// the same set, and `xtask` is one of its own as it is when it runs.
const ALL_BUT_XTASK: [&str; 3] = ["--workspace", "--exclude", "xtask"];
/// The examples that write generated files. Run as tests, they check that the files are up to date.
const GENERATOR: &str = "generate";
/// The test that needs everything built.
const JOURNEYS: &str = "journeys";
/// Its modules that check no time a browser measured, and wait more than they compute. Each other journey has the
/// machine for itself.
const JOURNEYS_SIDE_BY_SIDE: [&str; 15] = [
    "access",
    "accessibility",
    "cluster",
    "crash",
    "dashboard",
    "dashboard_controls",
    "deploy",
    "grafana",
    "hostile",
    "notifications",
    "openapi",
    "planted_incident",
    "prometheus",
    "recomputed",
    "stream_export",
];
/// Lines of a table of times.
const MOST_TIMES: usize = 30;
/// Lines of what one failing test said.
const MOST_LINES: usize = 40;
/// What the parser of server-sent events is tested against.
const ORACLE: &str = "probe-core/tests/oracle";
/// It runs on servers: its tests need nothing that is built.
const NODE_MIDDLEWARE: &str = "instrumentation/node";
const TYPED_PACKAGES: [&str; 4] = ["probe-wasm", "www", "demo-site/web", NODE_MIDDLEWARE];
/// The demo page is tested by the journeys through it.
const TESTED_PAGES: [&str; 2] = ["probe-wasm", "www"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journeys_side_by_side_measure_in_no_engine() -> Result<()> {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("a parent")?.join("tests/journeys");
        for module in JOURNEYS_SIDE_BY_SIDE {
            let source = std::fs::read_to_string(folder.join(module).with_extension("rs"))?;
            assert!(!source.contains("in_every_engine"), "{module}");
        }
        Ok(())
    }

    #[test]
    fn only_failing_tests_keep_their_output() -> Result<()> {
        let runner = "running 2 tests\ntest good ... ok\ntest bad ... FAILED\n\nsuccesses:\n\n---- good stdout ----\nfine\n\n\
            failures:\n\n---- bad stdout ----\nError: one of three\n\nfailures:\n    bad\n\n\
            test result: FAILED. 1 passed; 1 failed; 0 ignored\n";
        let (mut tests, mut said) = (Vec::new(), Vec::new());
        let (passed, failed, _) = counted(Command::new("printf").arg(runner), &mut tests, &mut said)?;
        assert_eq!((passed, failed, tests.len()), (1, 1, 2));
        assert_eq!(said, [["---- bad stdout ----", "Error: one of three", ""]]);
        Ok(())
    }

    #[test]
    fn tests_of_pytest_are_counted() -> Result<()> {
        let runner =
            "..F\n====\nFAILED tests/test_a.py::test_a - assert 1 in 2s\n1 failed, 2 passed in 0.30s\n";
        let (mut tests, mut said) = (Vec::new(), Vec::new());
        let (passed, failed, _) = counted(Command::new("printf").arg(runner), &mut tests, &mut said)?;
        assert_eq!((passed, failed), (2, 1));
        assert_eq!(said, [["FAILED tests/test_a.py::test_a - assert 1 in 2s"]]);
        assert_eq!(pytest_result("901 passed in 61.17s (0:01:01)"), Some("901 passed"));
        assert_eq!(pytest_result("passed in 2s"), None);
        Ok(())
    }

    #[test]
    fn long_output_is_cut_to_its_reason_or_its_end() {
        let heading = "---- bad stdout ----".to_owned();
        let rows = |count| (0..count).map(|row| format!("row {row}"));
        let of = |lines: Vec<String>| -> Vec<String> { last(&lines).cloned().collect() };
        let said = |rows_before, why: &str, rows_after| {
            let lines = rows(rows_before).chain([why.to_owned()]).chain(rows(rows_after));
            of([heading.clone()].into_iter().chain(lines).collect())
        };
        assert_eq!(said(100, "Error: why", 1), [&heading, "Error: why", "row 0"]);
        assert_eq!(said(100, "thread 'bad' (7) panicked at src/lib.rs:1:1:", 0).len(), 2);
        // Too long a reason, and none.
        assert_eq!(said(1, "Error: why", 100).len(), 1 + MOST_LINES);
        assert_eq!(said(1, "none", 100).last().unwrap(), "row 99");
        assert_eq!(said(1, "none", 1).len(), 4);
        assert!(of(Vec::new()).is_empty());
    }
}
