//! `just contract`: every rule of `docs/contract.md` against the tests that prove it; with `--bite`, every planted
//! bug against the rules it must break.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use fault::{MUTANTS, Mutant};

use crate::nextest::{Outcome, Results, Selection, Suite, Test, Until, has_prefix};
use crate::report::{Report, Standing};
use crate::workspace_root;

/// The groups of rules with their sizes, in the order of `docs/contract.md`.
const GROUPS: [(&str, u32); 5] = [("R", 8), ("M", 18), ("C", 29), ("G", 33), ("P", 19)];

/// Rules whose product code is still to come: they may lack tests, and the report says so.
const OWED: [&str; 0] = [];

/// Rules that only a browser can show: `just e2e` has a scenario named after each.
const IN_A_BROWSER: [&str; 1] = ["M9"];

/// The binary in which a test named after an unknown rule is a mistake rather than a coincidence.
const CONTRACT_BINARY: &str = "testkit::contract";

/// Names the planted mutant to the test processes.
const MUTANT_VARIABLE: &str = "EVERTURN_MUTANT";

/// How many tests run at once: they mostly wait.
const TESTS_AT_ONCE: usize = 4;

/// How many mutants live at once. They share the tests that run at once, so that one is as fast or slow as the control.
const MUTANTS_AT_ONCE: usize = 2;

/// Says whether interrupted runs wait in the tests; they resume otherwise, as they do by default.
const POLICY_VARIABLE: &str = "TEST_POLICY";

/// Says which store the tests stand on.
const STORE_VARIABLE: &str = "TEST_STORE";

/// One rule of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Letter of its group and number, as in the document: `R1`.
    pub id: String,
}

impl Rule {
    fn group(&self) -> &str {
        self.id.get(..1).unwrap_or_default()
    }

    /// What the names of its tests start with.
    fn prefix(&self) -> String {
        self.id.to_lowercase()
    }

    fn is_owed(&self) -> bool {
        OWED.contains(&self.id.as_str()) || self.is_in_a_browser()
    }

    fn is_in_a_browser(&self) -> bool {
        IN_A_BROWSER.contains(&self.id.as_str())
    }

    fn tests<'a>(&self, suite: &'a Suite) -> Vec<&'a Test> {
        let prefix = self.prefix();
        let named = suite.tests().iter().filter(|test| has_prefix(test.short_name(), &prefix));
        named.filter(|test| !test.ignored).collect()
    }
}

/// Lists the rules with their tests and runs these; `--bite` goes on with the mutants, all or the named ones.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    let bite = arguments.iter().any(|argument| argument == "--bite");
    let wanted: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| *argument != "--bite").collect();
    ensure!(bite || wanted.is_empty(), "a mutant is only named after --bite; got {wanted:?}");
    for name in &wanted {
        ensure!(MUTANTS.iter().any(|mutant| mutant.name == *name), "there is no mutant `{name}`");
    }

    let rules = read_rules(&workspace_root())?;
    let suite = Suite::build()?;
    let mut report = Report::new("contract");
    list(&mut report, &rules, &suite);
    if bite {
        // The control of the experiment: the same limits and environment as under a mutant, and none planted.
        let control = Selection {
            prefixes: &[],
            profile: "bite",
            environment: &[(MUTANT_VARIABLE, "none")],
            at_once: TESTS_AT_ONCE,
            until: Until::AllEnded,
        };
        prove(&mut report, "contract", &rules, &suite, control)?;
        bite_all(&mut report, &rules, &suite, &wanted)?;
    } else {
        prove(&mut report, "contract", &rules, &suite, plain(&[]))?;
    }
    if wanted.is_empty() {
        let waits = (POLICY_VARIABLE, "wait");
        let on_postgres = (STORE_VARIABLE, "postgres");
        let more: [(&str, &[(&str, &str)]); 3] = [
            ("contract.wait", &[waits]),
            ("contract.postgres", &[on_postgres]),
            ("contract.postgres.wait", &[on_postgres, waits]),
        ];
        for (name, environment) in more {
            prove(&mut report, name, &rules, &suite, plain(environment))?;
        }
    }
    Ok(report.verdict())
}

/// Selects a run without mutants; [`prove`] sets the prefixes.
fn plain<'a>(environment: &'a [(&'a str, &'a str)]) -> Selection<'a> {
    Selection {
        prefixes: &[],
        profile: "default",
        environment,
        at_once: TESTS_AT_ONCE,
        until: Until::AllEnded,
    }
}

/// Reads the rules off the tables of `docs/contract.md`.
pub(crate) fn read_rules(root: &Path) -> Result<Vec<Rule>> {
    let text = fs::read_to_string(root.join("docs/contract.md")).context("read docs/contract.md")?;
    let rules: Vec<Rule> = text.lines().filter_map(read_rule).collect();
    let ids: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
    let expected: Vec<String> = GROUPS
        .iter()
        .flat_map(|(group, size)| (1..=*size).map(move |number| format!("{group}{number}")))
        .collect();
    ensure!(ids == expected, "docs/contract.md must hold {expected:?} in this order; it holds {ids:?}");
    Ok(rules)
}

fn read_rule(line: &str) -> Option<Rule> {
    let (id, text) = line.strip_prefix("| ")?.split_once(" | ")?;
    let (group, number) = id.split_at_checked(1)?;
    let known = GROUPS.iter().any(|(name, _)| *name == group) && number.parse::<u32>().is_ok();
    let stated = !text.trim_end_matches([' ', '|']).is_empty();
    (known && stated).then(|| Rule { id: id.to_owned() })
}

/// One line a rule: its tests, or that they are owed or missing.
fn list(report: &mut Report, rules: &[Rule], suite: &Suite) {
    for rule in rules {
        let tests = rule.tests(suite);
        let state = match (tests.is_empty(), rule.is_owed()) {
            (false, _) => tests.iter().map(|test| test.name.as_str()).collect::<Vec<_>>().join(" "),
            (true, true) if rule.is_in_a_browser() => format!("just e2e {}_…", rule.prefix()),
            (true, true) => "owed".to_owned(),
            (true, false) => "missing".to_owned(),
        };
        report.note(format_args!("{} {state}", rule.id));
    }
    let prefixes: BTreeSet<String> = rules.iter().map(Rule::prefix).collect();
    let strangers = suite.tests().iter().filter(|test| test.binary == CONTRACT_BINARY).filter(|test| {
        let (prefix, _) = test.short_name().split_once('_').unwrap_or_default();
        !prefixes.contains(prefix)
    });
    let strangers: Vec<&str> = strangers.map(|test| test.name.as_str()).collect();
    for name in &strangers {
        report.note(format_args!("{name} is named after no rule"));
    }
    report.none_of("contract.tests_without_rule", strangers.len());
}

/// Runs the tests of every rule and reports each group: how many of its rules are proven, of how many.
fn prove(report: &mut Report, name: &str, rules: &[Rule], suite: &Suite, how: Selection<'_>) -> Result<()> {
    let prefixes: Vec<String> = rules.iter().map(Rule::prefix).collect();
    let prefixes: Vec<&str> = prefixes.iter().map(String::as_str).collect();
    let Results { outcomes, failures } = suite.run(&Selection { prefixes: &prefixes, ..how })?;
    for (name, failure) in failures {
        report.note(format_args!("{name} is red"));
        for line in failure.lines() {
            report.note(format_args!("  {line}"));
        }
    }
    for (group, size) in GROUPS {
        let in_group = || rules.iter().filter(|rule| rule.group() == group);
        let owed = in_group().filter(|rule| rule.is_owed()).count();
        let standings: Vec<_> = in_group().filter_map(|rule| standing_of(rule, &outcomes)).collect();
        let proven = standings.iter().filter(|standing| **standing == Outcome::Green).count();
        let name = format!("{name}.{group}.rules_proven");
        let goal = usize::try_from(size)?.saturating_sub(owed);
        let ok = proven == standings.len() && proven >= goal;
        if owed > 0 {
            report.figure(&name, proven, format_args!("{goal}(owed:{owed})"), Standing::when(ok));
        } else {
            report.figure(&name, proven, goal, Standing::when(ok));
        }
    }
    Ok(())
}

/// Green when all of the rule's tests are, red when one is; nothing when it has none.
fn standing_of(rule: &Rule, outcomes: &BTreeMap<String, Outcome>) -> Option<Outcome> {
    let prefix = rule.prefix();
    let mut own = outcomes.iter().filter(|(name, _)| has_prefix(name, &prefix)).map(|(_, outcome)| *outcome);
    let first = own.next()?;
    Some(if first == Outcome::Red || own.any(|outcome| outcome == Outcome::Red) {
        Outcome::Red
    } else {
        first
    })
}

/// Plants each mutant; for each rule it bites, at least one test must turn red.
#[expect(clippy::disallowed_methods, reason = "the report tells how long the mutants took")]
fn bite_all(report: &mut Report, rules: &[Rule], suite: &Suite, wanted: &[&str]) -> Result<()> {
    let begin = Instant::now();
    let mutants = MUTANTS.iter().filter(|mutant| wanted.is_empty() || wanted.contains(&mutant.name));
    let left = Mutex::new(mutants);
    // The lock is held for the taking alone.
    let take = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        let (ended, told) = mpsc::channel();
        for ended in vec![ended; MUTANTS_AT_ONCE] {
            scope.spawn(move || {
                while let Some(mutant) = take() {
                    // Nobody listens any more once one went wrong.
                    if ended.send((mutant, outcomes_under(suite, mutant))).is_err() {
                        break;
                    }
                }
            });
        }
        for (mutant, outcomes) in told {
            tell_bites(report, rules, mutant, &outcomes?);
        }
        anyhow::Ok(())
    })?;
    report.note(format_args!("the mutants took {} s", begin.elapsed().as_secs()));
    let mut unbitten = 0;
    for rule in rules.iter().filter(|rule| !rule.is_owed()) {
        let prefix = rule.prefix();
        if !MUTANTS.iter().any(|mutant| mutant.bites.contains(&prefix.as_str())) {
            report.note(format_args!("{} has no mutant", rule.id));
            unbitten += 1;
        }
    }
    report.none_of("bite.rules_without_mutant", unbitten);
    Ok(())
}

/// Runs the tests of each rule that the mutant must break, up to the first red one, and returns their outcomes.
fn outcomes_under(suite: &Suite, mutant: &Mutant) -> Result<BTreeMap<String, Outcome>> {
    let environment = [(MUTANT_VARIABLE, mutant.name)];
    let at_once = TESTS_AT_ONCE / MUTANTS_AT_ONCE;
    let mut outcomes = BTreeMap::new();
    for rule in mutant.bites {
        let selection = Selection {
            prefixes: &[rule],
            profile: "bite",
            environment: &environment,
            at_once,
            until: Until::OneIsRed,
        };
        outcomes.extend(suite.run(&selection)?.outcomes);
    }
    Ok(outcomes)
}

fn tell_bites(report: &mut Report, rules: &[Rule], mutant: &Mutant, outcomes: &BTreeMap<String, Outcome>) {
    for bitten in mutant.bites {
        let rule = rules.iter().find(|rule| rule.prefix() == *bitten);
        let value = match rule.and_then(|rule| standing_of(rule, outcomes)) {
            Some(Outcome::Red) => "red",
            Some(Outcome::Green) => "green",
            None => "untested",
        };
        report.figure(
            &format!("bite.{}.{bitten}", mutant.name),
            value,
            "red",
            Standing::when(value == "red"),
        );
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Outcome, Rule, read_rule, standing_of};

    #[test]
    fn a_table_row_is_a_rule_only_under_a_known_id() {
        assert_eq!(read_rule("| R1 | It comes back. |"), Some(Rule { id: "R1".into() }));
        assert_eq!(read_rule("| R1 |  |"), None);
        assert_eq!(read_rule("| id | rule |"), None);
        assert_eq!(read_rule("| Rx | none |"), None);
    }

    #[test]
    fn one_red_test_makes_its_rule_red() {
        let rule = Rule { id: "P1".into() };
        let outcomes = |pairs: &[(&str, Outcome)]| -> BTreeMap<String, Outcome> {
            pairs.iter().map(|(name, outcome)| ((*name).to_owned(), *outcome)).collect()
        };
        let red = outcomes(&[("p1_a", Outcome::Green), ("p1_b", Outcome::Red), ("p10_c", Outcome::Green)]);
        assert_eq!(standing_of(&rule, &red), Some(Outcome::Red));
        let green = outcomes(&[("p1_a", Outcome::Green), ("p10_c", Outcome::Red)]);
        assert_eq!(standing_of(&rule, &green), Some(Outcome::Green));
        assert_eq!(standing_of(&rule, &BTreeMap::new()), None);
    }
}
