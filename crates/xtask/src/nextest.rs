//! The test runner as a tool: builds the workspace's tests once, lists them, and runs chosen ones by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::workspace_root;

/// Exit code of a run in which at least one test failed.
const EXIT_TESTS_FAILED: i32 = 100;

/// One test, as the runner lists it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Test {
    /// Package and binary, `testkit::contract`.
    pub binary: String,
    /// Path inside the binary, `stop::c3_one_marker`.
    pub name: String,
    /// Marked `#[ignore]`, so it proves nothing.
    pub ignored: bool,
}

impl Test {
    /// The function's own name, without its modules.
    pub(crate) fn short_name(&self) -> &str {
        self.name.rsplit("::").next().unwrap_or(&self.name)
    }
}

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Green,
    Red,
}

/// The result of a run, by function name.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub outcomes: BTreeMap<String, Outcome>,
    /// The end of the output of each red test.
    pub failures: BTreeMap<String, String>,
}

/// Lines of a red test's output that are kept.
const FAILURE_LINES_MAX: usize = 20;

/// The built tests of the workspace; later runs reuse the binaries and ask cargo nothing.
#[derive(Debug)]
pub(crate) struct Suite {
    tests: Vec<Test>,
    binaries: PathBuf,
    metadata: PathBuf,
}

/// Which tests to run, and how.
#[derive(Debug)]
pub(crate) struct Selection<'a> {
    /// Function names start with one of these and an underscore.
    pub prefixes: &'a [&'a str],
    /// A profile of the runner's configuration.
    pub profile: &'a str,
    /// Set for the test processes.
    pub environment: &'a [(&'a str, &'a str)],
    /// How many run at a time.
    pub at_once: usize,
    pub until: Until,
}

/// When a run stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// After every chosen test.
    AllEnded,
    /// After the first red test, or after every chosen test.
    OneIsRed,
}

impl Selection<'_> {
    fn has(&self, test: &Test) -> bool {
        !test.ignored && self.prefixes.iter().any(|prefix| has_prefix(test.short_name(), prefix))
    }
}

impl Suite {
    /// Builds every test binary of the workspace and lists the tests in them.
    pub(crate) fn build() -> Result<Self> {
        let listing = succeed(cargo(&["nextest", "list", "--workspace", "--message-format", "json"]))?;
        let tests = read_listing(&listing)?;
        let arguments =
            ["nextest", "list", "--workspace", "--list-type", "binaries-only", "--message-format", "json"];
        let binaries_text = succeed(cargo(&arguments))?;
        let metadata_text = succeed(cargo(&["metadata", "--format-version", "1"]))?;
        let parsed: Value = serde_json::from_str(&metadata_text).context("read cargo metadata")?;
        let target =
            parsed["target_directory"].as_str().context("cargo metadata names no target directory")?;
        let directory = PathBuf::from(target).join("contract");
        fs::create_dir_all(&directory).context("create the scratch directory")?;
        let suite = Self {
            tests,
            binaries: directory.join("binaries.json"),
            metadata: directory.join("metadata.json"),
        };
        fs::write(&suite.binaries, binaries_text).context("write the list of test binaries")?;
        fs::write(&suite.metadata, metadata_text).context("write cargo metadata")?;
        Ok(suite)
    }

    /// Every test that was built.
    pub(crate) fn tests(&self) -> &[Test] {
        &self.tests
    }

    /// Runs the chosen tests and returns the outcome of each one that ended.
    pub(crate) fn run(&self, selection: &Selection<'_>) -> Result<Results> {
        let expected: Vec<&Test> = self.tests.iter().filter(|test| selection.has(test)).collect();
        // Binaries that are not named are not even asked what they hold.
        let binaries: BTreeSet<&str> = expected.iter().map(|test| test.binary.as_str()).collect();
        let binaries: Vec<String> = binaries.iter().map(|binary| format!("binary_id(={binary})")).collect();
        let binaries = if binaries.is_empty() { "none()".to_owned() } else { binaries.join(" | ") };
        let filter = format!("({binaries}) & test(/(^|::)({})_[^:]*$/)", selection.prefixes.join("|"));
        let mut command = cargo(&["nextest", "run", "--message-format", "libtest-json"]);
        command.arg(match selection.until {
            Until::AllEnded => "--no-fail-fast",
            Until::OneIsRed => "--max-fail=1:immediate",
        });
        command.args(["--test-threads", &selection.at_once.to_string(), "--no-tests", "pass"]);
        command.args(["--profile", selection.profile]);
        command.arg("--binaries-metadata").arg(&self.binaries);
        command.arg("--cargo-metadata").arg(&self.metadata);
        command.args(["-E", &filter]);
        command.env("NEXTEST_EXPERIMENTAL_LIBTEST_JSON", "1").env("RUST_BACKTRACE", "0");
        command.envs(selection.environment.iter().copied());
        let output = command.output().context("run the tests")?;
        if !matches!(output.status.code(), Some(0 | EXIT_TESTS_FAILED)) {
            bail!("the test runner gave up: {}", String::from_utf8_lossy(&output.stderr));
        }
        let results = read_results(&output)?;
        let is_red = results.outcomes.values().any(|outcome| *outcome == Outcome::Red);
        for test in expected.iter().filter(|_| !(is_red && selection.until == Until::OneIsRed)) {
            ensure!(
                results.outcomes.contains_key(test.short_name()),
                "the test runner said nothing of {}",
                test.name
            );
        }
        Ok(results)
    }
}

/// Whether a function is named after this rule.
pub(crate) fn has_prefix(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('_'))
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(workspace_root()).env("CARGO_TERM_COLOR", "never");
    command
}

fn succeed(mut command: Command) -> Result<String> {
    let output = command.output().with_context(|| format!("run {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).with_context(|| format!("read the output of {command:?}"))
}

fn read_listing(listing: &str) -> Result<Vec<Test>> {
    let listing: Value = serde_json::from_str(listing).context("read the list of tests")?;
    let suites = listing["rust-suites"].as_object().context("the list of tests has no suites")?;
    let mut tests = Vec::new();
    for (binary, suite) in suites {
        let cases = suite["testcases"].as_object().context("a suite has no test cases")?;
        tests.extend(cases.iter().map(|(name, case)| Test {
            binary: binary.clone(),
            name: name.clone(),
            ignored: case["ignored"].as_bool().unwrap_or(false),
        }));
    }
    tests.sort();
    Ok(tests)
}

/// Two tests of one name in two binaries count as one: red if either is.
fn read_results(output: &Output) -> Result<Results> {
    let mut results = Results::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Value =
            serde_json::from_str(line).with_context(|| format!("read runner line {line}"))?;
        let outcome = match (message["type"].as_str(), message["event"].as_str()) {
            (Some("test"), Some("ok")) => Outcome::Green,
            (Some("test"), Some("failed")) => Outcome::Red,
            _ => continue,
        };
        let name = message["name"].as_str().context("a test without a name")?;
        let name = name.rsplit('$').next().unwrap_or(name);
        let short = name.rsplit("::").next().unwrap_or(name);
        let known = results.outcomes.entry(short.to_owned()).or_insert(outcome);
        if outcome == Outcome::Red {
            *known = Outcome::Red;
            results.failures.insert(short.to_owned(), failure(&message));
        }
    }
    Ok(results)
}

/// Returns the reason that the runner gives for a failure and the last lines of the test's output.
fn failure(message: &Value) -> String {
    let output = message["stdout"].as_str().unwrap_or_default();
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let skipped = lines.len().saturating_sub(FAILURE_LINES_MAX);
    message["reason"]
        .as_str()
        .into_iter()
        .chain(lines.into_iter().skip(skipped))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Test, failure, has_prefix, read_listing};

    #[test]
    fn a_failure_is_its_reason_and_the_end_of_its_output() {
        let output = (0..30).map(|line| format!("line {line}\n")).collect::<String>();
        let told = failure(&json!({ "reason": "time limit exceeded", "stdout": output }));
        assert!(told.starts_with("time limit exceeded\nline 10\n"), "{told}");
        assert!(told.ends_with("line 29"), "{told}");
    }

    #[test]
    fn a_listing_names_binary_test_and_whether_it_is_ignored() {
        let listing = r#"{"rust-suites": {"kit::contract": {"testcases": {
            "stop::c3_one_marker": {"ignored": false}, "stop::c4_calls": {"ignored": true}}}}}"#;
        let test = |name: &str, ignored| Test { binary: "kit::contract".into(), name: name.into(), ignored };
        let expected = vec![test("stop::c3_one_marker", false), test("stop::c4_calls", true)];
        assert_eq!(read_listing(listing).expect("well-formed"), expected);
    }

    #[test]
    fn a_prefix_ends_at_the_underscore() {
        assert!(has_prefix("p1_reads_back", "p1"));
        assert!(!has_prefix("p10_racing_writers", "p1"));
    }
}
