//! `just house`: every static check in one report. Cheap checks first; all of them run, whatever failed before.

use std::process::{Command, ExitCode, Output};

use anyhow::{Context, Result};

use crate::report::{Report, Standing};
use crate::{prose, tidy, workspace_root};

/// Names the directory below which a clone of the advisory database lies, as `cargo deny` expects it.
const ADVISORY_DB: &str = "EVERTURN_ADVISORY_DB";

/// Runs every check and prints the report.
pub fn run() -> Result<ExitCode> {
    let mut report = Report::new("house");
    format(&mut report)?;
    clippy(&mut report)?;
    rustdoc(&mut report)?;
    dependencies(&mut report)?;
    advisories(&mut report)?;
    tidy_tests(&mut report)?;
    lengths(&mut report)?;
    prose::check(&mut report, &workspace_root())?;
    Ok(report.verdict())
}

fn format(report: &mut Report) -> Result<()> {
    let output = cargo(&["fmt", "--all", "--", "--check", "-l"], &[])?;
    let listed = text(&output.stdout).lines().filter(|line| !line.trim().is_empty()).count();
    report.none_of("house.fmt.unformatted_files", at_least_one_if_failed(&output, listed));
    show_if_failed(report, &output);
    Ok(())
}

fn clippy(report: &mut Report) -> Result<()> {
    let arguments = ["clippy", "-q", "--workspace", "--all-targets", "--", "-D", "warnings"];
    let output = cargo(&arguments, &[])?;
    report.none_of("house.clippy.findings", findings(&output));
    show_if_failed(report, &output);
    Ok(())
}

fn rustdoc(report: &mut Report) -> Result<()> {
    let arguments = ["doc", "-q", "--workspace", "--no-deps", "--document-private-items"];
    let output = cargo(&arguments, &[("RUSTDOCFLAGS", "-D warnings")])?;
    report.none_of("house.rustdoc.findings", findings(&output));
    show_if_failed(report, &output);
    Ok(())
}

fn dependencies(report: &mut Report) -> Result<()> {
    for check in ["bans", "licenses", "sources"] {
        let output = cargo(
            &["deny", "--workspace", "--log-level", "error", "check", "--hide-inclusion-graph", check],
            &[],
        )?;
        report.none_of(&format!("house.deny.{check}"), findings(&output));
        show_if_failed(report, &output);
    }
    Ok(())
}

/// The database is not part of the checkout and may not be reachable: without a copy this says so and passes.
fn advisories(report: &mut Report) -> Result<()> {
    let Some(directory) = std::env::var_os(ADVISORY_DB) else {
        report.note(format_args!(
            "advisories not checked: {ADVISORY_DB} names no directory with a copy of the database"
        ));
        return Ok(());
    };
    let directory = std::path::absolute(directory).context("resolve the advisory database")?;
    let directory = directory.to_string_lossy();
    let arguments = ["deny", "--workspace", "--offline", "--log-level", "error", "check", "advisories"];
    let output = cargo(&arguments, &[(ADVISORY_DB, &directory)])?;
    report.none_of("house.deny.advisories", findings(&output));
    show_if_failed(report, &output);
    Ok(())
}

fn tidy_tests(report: &mut Report) -> Result<()> {
    let output = cargo(&["test", "-q", "-p", "xtask", "--lib", "--", "tidy_"], &[])?;
    let stdout = text(&output.stdout);
    let failed = stdout.lines().find_map(failed_count).unwrap_or(0);
    report.none_of("house.tidy.broken_rules", at_least_one_if_failed(&output, failed));
    show_if_failed(report, &output);
    Ok(())
}

fn lengths(report: &mut Report) -> Result<()> {
    let lengths = tidy::long_files(&workspace_root())?;
    for (path, lines) in &lengths.over_talk {
        report.note(format_args!("{path} has {lines} lines: time to talk about a split"));
    }
    let goal = format!("<={}", tidy::FILE_LINES_MAX);
    let standing = Standing::when(lengths.longest <= tidy::FILE_LINES_MAX);
    report.figure("house.longest_file_lines", lengths.longest, goal, standing);
    Ok(())
}

fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<Output> {
    let mut command = Command::new("cargo");
    command.args(arguments).envs(environment.iter().copied()).current_dir(workspace_root());
    command.env("CARGO_TERM_COLOR", "never");
    command.output().with_context(|| format!("run cargo {}", arguments.join(" ")))
}

/// The text of a failed check, so that the report is enough to act on.
fn show_if_failed(report: &Report, output: &Output) {
    if output.status.success() {
        return;
    }
    for line in text(&output.stdout).lines().chain(text(&output.stderr).lines()) {
        report.note(line);
    }
}

/// Diagnostics in the output of a compiler-like tool, summaries left out.
fn findings(output: &Output) -> usize {
    const SUMMARIES: [&str; 4] = [
        "error: could not compile",
        "error: could not document",
        "error: aborting due to",
        "warning: build failed",
    ];
    let stderr = text(&output.stderr);
    let found = stderr.lines().filter(|line| line.starts_with("error") || line.starts_with("warning"));
    let count = found.filter(|line| !SUMMARIES.iter().any(|summary| line.starts_with(summary))).count();
    if output.status.success() { 0 } else { count.max(1) }
}

fn at_least_one_if_failed(output: &Output, counted: usize) -> usize {
    if output.status.success() { counted } else { counted.max(1) }
}

/// The number before `failed` in a test runner's closing line.
fn failed_count(line: &str) -> Option<usize> {
    let rest = line.trim().strip_prefix("test result:")?;
    rest.split(';').find_map(|part| part.trim().strip_suffix(" failed")?.trim().parse().ok())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::failed_count;

    #[test]
    fn the_closing_line_of_a_test_run_tells_the_failures() {
        let line = "test result: FAILED. 9 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(failed_count(line), Some(2));
        assert_eq!(failed_count("running 3 tests"), None);
    }
}
