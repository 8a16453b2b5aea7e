//! The house rules, one test each. A failure lists every place that breaks the rule.

use std::collections::BTreeSet;
use std::path::Path;

use super::tree::{self, SourceFile};
use super::{FILE_LINES_MAX, long_files};
use crate::contract;
use crate::workspace_root;

/// File names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 10] = [
    "mod.rs",
    "util.rs",
    "utils.rs",
    "common.rs",
    "type.rs",
    "types.rs",
    "helper.rs",
    "helpers.rs",
    "misc.rs",
    "shared.rs",
];

/// Words that `GLOSSARY.md` replaces, with the crates where the word is another thing's proper name.
const FORBIDDEN_WORDS: [(&str, &[&str]); 10] = [
    ("manager", &[]),
    ("service", &[]),
    ("helper", &[]),
    ("util", &[]),
    ("handler", &[]),
    ("processor", &[]),
    ("rollout", &[]),
    // The operating system's threads: the store runs its writer and readers on them, the benches measure them. And the
    // threads of a chat.
    ("thread", &["store", "testkit", "session"]),
    ("conversation", &[]),
    // A place on a platform, never a session.
    ("chat", &["session", "store", "hub", "server", "testkit"]),
];

/// Which of our crates each crate may name. Absent edges are the design: an agent cannot append, a door cannot
/// reach the store.
const MAY_DEPEND_ON: [(&str, &[&str]); 10] = [
    ("fault", &[]),
    ("session", &["fault"]),
    ("store", &["fault", "session"]),
    ("agent", &["fault", "session"]),
    ("hub", &["fault", "session", "store", "agent"]),
    ("gateway", &["fault", "session", "hub"]),
    ("server", &["fault", "session", "store", "agent", "hub", "gateway", "judge"]),
    // It judges the server, so that it uses nothing of it.
    ("judge", &[]),
    ("testkit", &["fault", "session", "store", "agent", "hub", "gateway", "server", "judge"]),
    ("xtask", &["fault"]),
];

/// What the pure crate may not have: anything that waits, rolls dice, or touches the machine.
const IMPURE: [&str; 12] = [
    "tokio",
    "futures",
    "futures-util",
    "rand",
    "rusqlite",
    "nix",
    "libc",
    "rustix",
    "tempfile",
    "reqwest",
    "jiff",
    "tracing",
];

/// Crates in which appending to a log is the job (or the test).
const MAY_APPEND: [&str; 3] = ["hub", "store", "testkit"];

/// Folders whose files documents refer to from the root.
const NAMED_FROM_ROOT: [&str; 6] = ["crates/", "docs/", "fixtures/", ".ci/", ".config/", "web/"];

fn files() -> Vec<SourceFile> {
    tree::read(&workspace_root()).expect("the checkout can be read")
}

fn rust_files() -> Vec<SourceFile> {
    files().into_iter().filter(SourceFile::is_rust).collect()
}

#[track_caller]
fn assert_none(rule: &str, mut broken: Vec<String>) {
    broken.sort();
    broken.dedup();
    assert!(broken.is_empty(), "{rule}\n  {}\n", broken.join("\n  "));
}

#[test]
fn tidy_every_file_says_first_what_it_is() {
    let broken = rust_files().into_iter().filter(|file| {
        let first = file.text.lines().next().and_then(|line| line.strip_prefix("//!"));
        first.is_none_or(|words| words.split_whitespace().count() < 2)
    });
    assert_none("the first line is `//!` and says what the file is:", broken.map(|file| file.path).collect());
}

#[test]
fn tidy_no_file_is_named_after_nothing() {
    let broken = rust_files().into_iter().filter(|file| EMPTY_NAMES.contains(&file.name()));
    assert_none("name the file after the thing in it:", broken.map(|file| file.path).collect());
}

#[test]
fn tidy_no_file_is_too_long() {
    let lengths = long_files(&workspace_root()).expect("the checkout can be read");
    for (path, lines) in &lengths.over_talk {
        println!("{path}: {lines} lines, time to talk about a split");
    }
    let broken = lengths.over_talk.into_iter().filter(|(_, lines)| *lines > FILE_LINES_MAX);
    let broken = broken.map(|(path, lines)| format!("{path}: {lines} lines")).collect();
    assert_none(&format!("no file has more than {FILE_LINES_MAX} lines:"), broken);
}

#[test]
fn tidy_names_use_the_words_of_the_glossary() {
    let mut broken = Vec::new();
    for file in rust_files() {
        for (number, line) in file.text.lines().enumerate() {
            let Some(name) = defined_name(line) else { continue };
            if let Some(word) = forbidden_word(name, file.crate_name().unwrap_or_default()) {
                broken.push(format!("{}:{}: `{name}` says `{word}`", file.path, number + 1));
            }
        }
    }
    assert_none("one word a concept, see `GLOSSARY.md`:", broken);
}

/// The name that a line defines, if it defines a function, type, trait or module.
fn defined_name(line: &str) -> Option<&str> {
    let code = line.split("//").next()?;
    let mut words = code.split_whitespace().skip_while(|word| {
        matches!(*word, "pub" | "async" | "const" | "unsafe" | "extern") || word.starts_with("pub(")
    });
    let keyword = words.next()?;
    matches!(keyword, "fn" | "struct" | "enum" | "trait" | "mod" | "type").then_some(())?;
    let name = words.next()?;
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
    name.get(..end).filter(|name| !name.is_empty())
}

fn forbidden_word(name: &str, crate_name: &str) -> Option<&'static str> {
    let words = words_of(name);
    let forbidden = FORBIDDEN_WORDS.iter().filter(|(_, exempt)| !exempt.contains(&crate_name));
    let mut forbidden = forbidden.map(|(word, _)| *word);
    forbidden.find(|forbidden| words.iter().any(|word| word.strip_suffix('s').unwrap_or(word) == *forbidden))
}

/// The words of `snake_case` or `CamelCase`, in lower case.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn tidy_names_are_split_into_words() {
    assert_eq!(words_of("RunJournal_two"), ["run", "journal", "two"]);
    assert_eq!(defined_name("    pub(crate) async fn take_claim<T>(x: T) {"), Some("take_claim"));
    assert_eq!(defined_name("// fn in_a_comment"), None);
    assert_eq!(forbidden_word("SpawnThreads", "hub"), Some("thread"));
    assert_eq!(forbidden_word("SpawnThreads", "store"), None);
}

#[test]
fn tidy_nothing_points_outside_the_checkout() {
    // Spelt in two pieces, so that this file does not break its own rule.
    let machine_paths = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
    let outside_documents = concat!("sha", "red/");
    let mut broken = Vec::new();
    for file in files().iter().filter(|file| !file.path.starts_with("LICENSE")) {
        for (number, line) in file.text.lines().enumerate() {
            let found =
                machine_paths.iter().any(|path| line.contains(path)) || has_path(line, outside_documents);
            if found {
                broken.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    assert_none("no path of one machine, no document outside the checkout:", broken);
}

/// Whether the line holds the path as the start of one, not as the tail of a longer name.
fn has_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|letter| !letter.is_alphanumeric() && !matches!(letter, '_' | '-' | '/'))
    })
}

#[test]
fn tidy_comments_explain_without_issue_numbers() {
    let mut broken = Vec::new();
    for file in rust_files() {
        for (number, line) in file.text.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
            let numbered = comment
                .match_indices('#')
                .any(|(at, _)| comment[at + 1..].starts_with(|letter: char| letter.is_ascii_digit()));
            if numbered {
                broken.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    assert_none("a comment says why in words:", broken);
}

#[test]
fn tidy_documents_name_files_that_exist() {
    let root = workspace_root();
    let mut broken = Vec::new();
    for file in files() {
        for (number, line) in file.text.lines().enumerate() {
            let prose = if file.is_markdown() { Some(line) } else { rust_comment(&file, line) };
            let Some(prose) = prose else { continue };
            for path in named_paths(prose) {
                if !root.join(path).exists() {
                    broken.push(format!("{}:{}: `{path}`", file.path, number + 1));
                }
            }
        }
    }
    assert_none("a file that a document names exists:", broken);
}

fn rust_comment<'a>(file: &SourceFile, line: &'a str) -> Option<&'a str> {
    if file.is_rust() { line.trim_start().strip_prefix("//") } else { None }
}

/// Paths in backticks, as far as they name one file or folder below the root.
fn named_paths(prose: &str) -> impl Iterator<Item = &str> {
    let spans = prose.split('`').skip(1).step_by(2);
    spans.filter(|span| {
        let from_root = NAMED_FROM_ROOT.iter().any(|folder| span.starts_with(folder));
        let top_document = span.ends_with(".md") && !span.contains('/');
        (from_root || top_document) && !span.contains(['<', '{', '*', ' ', '…'])
    })
}

#[test]
fn tidy_links_lead_somewhere() {
    let root = workspace_root();
    let mut broken = Vec::new();
    for file in files().iter().filter(|file| file.is_markdown()) {
        let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
        for target in links(&file.text) {
            let path = target.split('#').next().unwrap_or_default();
            let outside = target.contains("://") || target.starts_with("mailto:");
            if !outside && !path.is_empty() && !root.join(folder).join(path).exists() {
                broken.push(format!("{}: ({target})", file.path));
            }
        }
    }
    assert_none("a link leads to a file:", broken);
}

fn links(markdown: &str) -> impl Iterator<Item = &str> {
    markdown.match_indices("](").filter_map(|(at, _)| markdown[at + 2..].split(')').next())
}

#[test]
fn tidy_the_first_documents_are_there() {
    let root = workspace_root();
    let expected =
        ["README.md", "ARCHITECTURE.md", "GLOSSARY.md", "CONTRIBUTING.md", "LICENSE-MIT", "LICENSE-APACHE"];
    let missing = expected.iter().filter(|name| !root.join(name).exists());
    assert_none("a newcomer finds:", missing.map(|name| (*name).to_owned()).collect());
}

/// The manifest of each crate, with the crate's name.
fn manifests() -> Vec<(String, String)> {
    let manifests =
        files().into_iter().filter(|file| file.path.starts_with("crates/") && file.name() == "Cargo.toml");
    manifests.filter_map(|file| Some((file.crate_name()?.to_owned(), file.text.clone()))).collect()
}

/// Names under `[dependencies]` and its kin; under `[dev-dependencies]` too if asked for.
fn dependencies(manifest: &str, tables: Tables) -> Vec<&str> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            inside = match tables {
                Tables::Shipped => table.ends_with("dependencies") && !table.ends_with("dev-dependencies"),
                Tables::Workspace => table == "workspace.dependencies",
            };
        } else if inside && !line.starts_with('#') {
            let end = line.find(['.', '=', ' ']).unwrap_or(line.len());
            names.extend(line.get(..end).filter(|name| !name.is_empty()));
        }
    }
    names
}

/// Which tables of a manifest to read.
#[derive(Debug, Clone, Copy)]
enum Tables {
    Shipped,
    Workspace,
}

#[test]
fn tidy_crates_depend_in_one_direction() {
    let ours: BTreeSet<&str> = MAY_DEPEND_ON.iter().map(|(name, _)| *name).collect();
    let mut broken = Vec::new();
    for (name, manifest) in manifests() {
        let Some((_, allowed)) = MAY_DEPEND_ON.iter().find(|(known, _)| *known == name) else {
            broken.push(format!("{name} has no line in the table of allowed dependencies"));
            continue;
        };
        let named = dependencies(&manifest, Tables::Shipped).into_iter().filter(|other| ours.contains(other));
        broken.extend(
            named.filter(|other| !allowed.contains(other)).map(|other| format!("{name} names {other}")),
        );
    }
    assert_none("dependencies point from the doors to the core:", broken);
}

#[test]
fn tidy_the_core_cannot_touch_the_machine() {
    let session = manifests().into_iter().filter(|(name, _)| name == "session");
    let broken = session.flat_map(|(_, manifest)| {
        let named = dependencies(&manifest, Tables::Shipped).into_iter().filter(|name| IMPURE.contains(name));
        named.map(|name| format!("crates/session/Cargo.toml names {name}")).collect::<Vec<_>>()
    });
    assert_none("`session` has no IO, no clock, no randomness:", broken.collect());
}

#[test]
fn tidy_only_the_writer_appends() {
    let broken = rust_files().into_iter().filter(|file| {
        let crate_name = file.crate_name().unwrap_or_default();
        let outside = !MAY_APPEND.contains(&crate_name) && crate_name != "xtask";
        outside && file.text.contains("store::") && file.text.contains(".append(")
    });
    assert_none("only the hub appends to a log:", broken.map(|file| file.path).collect());
}

#[test]
fn tidy_every_crate_takes_the_house_lints() {
    let broken = manifests().into_iter().filter(|(_, manifest)| {
        !manifest.contains("[lints]\nworkspace = true") || !manifest.contains("publish.workspace = true")
    });
    assert_none("every manifest has `[lints] workspace = true`:", broken.map(|(name, _)| name).collect());
}

#[test]
fn tidy_every_dependency_has_a_reason() {
    let all = files();
    let text = |path: &str| all.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    let reasons = text("docs/dependencies.md");
    let ours: BTreeSet<&str> = MAY_DEPEND_ON.iter().map(|(name, _)| *name).collect();
    let named =
        dependencies(text("Cargo.toml"), Tables::Workspace).into_iter().filter(|name| !ours.contains(name));
    let broken = named.filter(|name| !reasons.contains(&format!("| `{name}` |")));
    assert_none(
        "every dependency has its row in `docs/dependencies.md`:",
        broken.map(str::to_owned).collect(),
    );
}

#[test]
fn tidy_the_contract_is_complete() {
    contract::read_rules(&workspace_root()).expect("every rule stands in its place");
}

/// Mutants that only a power cut can tell from the product: the crash campaign finds them, no test of a rule does.
const FOUND_BY_POWER_CUTS: &[&str] = &["no_sync"];

#[test]
fn tidy_mutants_bite_rules_that_exist() {
    let rules = contract::read_rules(&workspace_root()).expect("the contract can be read");
    let ids: BTreeSet<String> = rules.into_iter().map(|rule| rule.id.to_lowercase()).collect();
    let mut names = BTreeSet::new();
    let mut broken = Vec::new();
    for mutant in fault::MUTANTS {
        if !names.insert(mutant.name) {
            broken.push(format!("{} is listed twice", mutant.name));
        }
        let strangers = mutant.bites.iter().filter(|bitten| !ids.contains(**bitten));
        broken.extend(strangers.map(|bitten| format!("{} bites {bitten}, which is no rule", mutant.name)));
        let found_otherwise =
            FOUND_BY_POWER_CUTS.contains(&mutant.name) || fault::FOUND_BY_SIMULATION.contains(&mutant.name);
        if mutant.bites.is_empty() && !found_otherwise {
            broken.push(format!("{} bites nothing", mutant.name));
        }
    }
    assert_none("a mutant has a name of its own and breaks a rule:", broken);
}

#[test]
fn tidy_every_mutant_is_planted() {
    let listed: Vec<&str> = fault::MUTANTS.iter().map(|mutant| mutant.name).collect();
    assert_none("a mutant is listed and planted:", unmatched("planted(\"", &listed));
}

#[test]
fn tidy_every_point_is_marked() {
    assert_none("a point is listed and marked:", unmatched("fault::hit(\"", fault::POINTS));
}

/// Names called but not listed, and names listed that no product file says.
fn unmatched(call: &str, listed: &[&str]) -> Vec<String> {
    let mut broken = Vec::new();
    let product: Vec<SourceFile> = rust_files()
        .into_iter()
        .filter(|file| !matches!(file.crate_name(), Some("fault" | "testkit" | "xtask") | None))
        .collect();
    for file in &product {
        let called = file.text.split(call).skip(1).filter_map(|rest| rest.split('"').next());
        let strangers = called.filter(|name| !listed.contains(name));
        broken.extend(strangers.map(|name| format!("{}: `{name}` is not listed", file.path)));
    }
    let said = |name: &str| product.iter().any(|file| file.text.contains(&format!("\"{name}\"")));
    broken.extend(listed.iter().filter(|name| !said(name)).map(|name| format!("`{name}` is only listed")));
    broken
}
