//! Measures the English of the tree: how often each of some patterns occurs in a thousand words, by area.
//!
//! The patterns are habits of translated prose, such as a clause in the place of a noun. Every area has a ceiling for
//! each: the bar, or today's figure where `prose.txt` names one. A ceiling only falls.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use crate::report::{Report, Standing};
use crate::tidy::tree::{self, SourceFile};

/// The ceilings above the bar: area, pattern and occurrences per 1,000 words, one per line.
const CEILINGS: &str = "crates/xtask/prose.txt";

/// A string literal with fewer words is a key or a fragment, not a sentence.
const SENTENCE_WORDS_MIN: usize = 4;

/// A habit and its bar, in occurrences per 1,000 words. A phrase is a sequence of words; `|` separates alternatives.
struct Pattern {
    name: &'static str,
    bar: f64,
    phrases: &'static [&'static str],
}

const PATTERNS: [Pattern; 10] = [
    Pattern {
        name: "clause_as_noun",
        bar: 1.0,
        phrases: &[
            "what is|was|are|were|has|had|a|an|the|it|they|its|one|goes|comes|follows|nobody|somebody",
        ],
    },
    Pattern { name: "relative_that", bar: 4.0, phrases: &["that is|was|are|were|has|had|have|it|they|the"] },
    Pattern { name: "go_on", bar: 0.2, phrases: &["go|goes|going|went|gone on"] },
    Pattern { name: "tell", bar: 0.2, phrases: &["told|tells|hears"] },
    Pattern { name: "be_gone", bar: 0.2, phrases: &["is|are|was|were gone|there|none"] },
    Pattern {
        name: "anew",
        bar: 0.2,
        phrases: &["anew|meanwhile", "by itself|themselves", "for ever", "at hand", "in one go"],
    },
    Pattern { name: "stand", bar: 0.2, phrases: &["stand|stands|stood"] },
    Pattern { name: "whoever", bar: 0.2, phrases: &["whoever|somebody|nobody"] },
    Pattern {
        name: "household",
        bar: 0.2,
        phrases: &["look|looks|looked at", "thought of", "let in", "shut out", "brings|brought|lent"],
    },
    Pattern { name: "he", bar: 0.2, phrases: &["he|his|him|himself"] },
];

/// Occurrences of each pattern, in the order of [`PATTERNS`], among the words of an area.
#[derive(Debug, Default, Clone, PartialEq)]
struct Count {
    words: usize,
    found: [usize; PATTERNS.len()],
}

impl Count {
    fn add(&mut self, text: &str) {
        let words = words_of(text);
        self.words += words.len();
        for (found, pattern) in self.found.iter_mut().zip(&PATTERNS) {
            *found += pattern.phrases.iter().map(|phrase| occurrences(&words, phrase)).sum::<usize>();
        }
    }

    fn per_thousand(&self, pattern: usize) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts of words are far below 2^52")]
        let (found, words) = (self.found[pattern] as f64, self.words.max(1) as f64);
        found * 1000.0 / words
    }
}

/// Prints one line per area: the number of patterns above their ceilings.
///
/// # Errors
/// Returns an error if the checkout or the ceilings cannot be read.
pub(crate) fn check(report: &mut Report, root: &Path) -> Result<()> {
    let ceilings = ceilings(&std::fs::read_to_string(root.join(CEILINGS)).context(CEILINGS)?)?;
    for (area, count) in measure(root)? {
        let mut over = 0;
        for (at, pattern) in PATTERNS.iter().enumerate() {
            let key = (area.clone(), pattern.name.to_owned());
            let ceiling = ceilings.get(&key).copied().unwrap_or(pattern.bar);
            let figure = rounded(count.per_thousand(at));
            if figure > ceiling {
                over += 1;
                report.note(format_args!(
                    "{area}: {} {figure:.2} in 1,000 words, at most {ceiling:.2}",
                    pattern.name
                ));
            }
        }
        report.figure(&format!("house.prose.{area}"), over, 0, Standing::when(over == 0));
    }
    Ok(())
}

/// Lowers every ceiling to today's figure. Never raises one.
///
/// # Errors
/// Returns an error if the checkout cannot be read or the file cannot be written.
pub fn lower() -> Result<()> {
    let root = crate::workspace_root();
    let path = root.join(CEILINGS);
    let known = std::fs::read_to_string(&path).map_or_else(|_| Ok(None), |text| ceilings(&text).map(Some))?;
    let mut lines = String::new();
    for (area, count) in measure(&root)? {
        for (at, pattern) in PATTERNS.iter().enumerate() {
            let figure = rounded(count.per_thousand(at));
            let key = (area.clone(), pattern.name.to_owned());
            let ceiling = known
                .as_ref()
                .map_or(figure, |known| known.get(&key).copied().unwrap_or(pattern.bar).min(figure));
            if ceiling > pattern.bar {
                lines.push_str(&format!("{area} {} {ceiling:.2}\n", pattern.name));
            }
        }
    }
    std::fs::write(&path, lines).context(CEILINGS)
}

/// Counts the words and patterns of every area.
fn measure(root: &Path) -> Result<BTreeMap<String, Count>> {
    let mut areas = BTreeMap::<String, Count>::new();
    for file in tree::read(root)? {
        for (area, text) in texts(&file) {
            areas.entry(area).or_default().add(&text);
        }
    }
    Ok(areas)
}

/// The prose of a file, by area.
fn texts(file: &SourceFile) -> Vec<(String, String)> {
    // The patterns themselves are here, and the fixtures are other people's words.
    if file.path.ends_with("xtask/src/prose.rs") || file.path.starts_with("fixtures/") {
        return Vec::new();
    }
    if let Some(name) = file.crate_name().filter(|_| file.is_rust()) {
        let mut texts = vec![(format!("{name}.comments"), comments(&file.text))];
        let is_product =
            !["judge", "testkit", "xtask", "fault"].contains(&name) && !file.path.contains("/conformance");
        if file.path.contains("/src/") && is_product {
            let product = file.text.split("#[cfg(test)]").next().unwrap_or_default();
            texts.extend(sentences(product).map(|sentence| ("messages".to_owned(), sentence)));
        }
        return texts;
    }
    match file.path.as_str() {
        "web/src/words/en.po" => vec![("web.words".to_owned(), messages(&file.text))],
        "web/openapi.json" => vec![("openapi".to_owned(), descriptions(&file.text))],
        path if path.starts_with("web/src/") && (path.ends_with(".ts") || path.ends_with(".tsx")) => {
            vec![("web.comments".to_owned(), comments(&file.text))]
        }
        _ if file.is_markdown() => vec![("documents".to_owned(), markdown(&file.text))],
        _ => Vec::new(),
    }
}

/// Whole lines of comments, without their slashes.
fn comments(text: &str) -> String {
    let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("//"));
    lines.map(|line| without_code(line.trim_start_matches(['/', '!']))).collect::<Vec<_>>().join("\n")
}

/// Markdown without fenced blocks and code.
fn markdown(text: &str) -> String {
    let mut fenced = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            kept.push_str(&without_code(line));
            kept.push('\n');
        }
    }
    kept
}

/// Replaces text between backticks by one word.
fn without_code(line: &str) -> String {
    line.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "CODE" }).collect()
}

/// The string literals of a Rust file that hold a sentence.
fn sentences(text: &str) -> impl Iterator<Item = String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = code.collect::<Vec<_>>().join("\n").replace("\\\"", "'").replace("'\"'", "");
    let strings: Vec<String> = code.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    strings.into_iter().filter(|string| words_of(string).len() >= SENTENCE_WORDS_MIN)
}

/// The messages of a catalogue.
fn messages(text: &str) -> String {
    let ids = text.split("\nmsgstr").filter_map(|entry| entry.split_once("msgid "));
    ids.map(|(_, id)| id.replace("\"\n\"", "")).collect::<Vec<_>>().join("\n")
}

/// The summaries and descriptions of an OpenAPI document.
fn descriptions(text: &str) -> String {
    fn collect(value: &serde_json::Value, into: &mut String) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, value) in fields {
                    if let (true, Some(text)) = (name == "description" || name == "summary", value.as_str()) {
                        into.push_str(&without_code(text));
                        into.push('\n');
                    }
                    collect(value, into);
                }
            }
            serde_json::Value::Array(values) => values.iter().for_each(|value| collect(value, into)),
            _ => {}
        }
    }
    let mut found = String::new();
    if let Ok(document) = serde_json::from_str(text) {
        collect(&document, &mut found);
    }
    found
}

fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'' && letter != '’');
    words.filter(|word| word.chars().any(char::is_alphabetic)).map(str::to_lowercase).collect()
}

fn occurrences(words: &[String], phrase: &str) -> usize {
    let phrase: Vec<Vec<&str>> = phrase.split(' ').map(|word| word.split('|').collect()).collect();
    let matches =
        |window: &&[String]| window.iter().zip(&phrase).all(|(word, any)| any.contains(&word.as_str()));
    words.windows(phrase.len()).filter(matches).count()
}

fn ceilings(text: &str) -> Result<BTreeMap<(String, String), f64>> {
    let lines = text.lines().map(|line| {
        let mut words = line.split(' ');
        let mut word =
            || words.next().with_context(|| format!("`{line}` needs an area, a pattern and a figure"));
        Ok(((word()?.to_owned(), word()?.to_owned()), word()?.parse()?))
    });
    lines.collect()
}

/// Two decimals, as they are written: a figure never exceeds itself.
fn rounded(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&'static str> {
        let mut count = Count::default();
        count.add(text);
        let hits = PATTERNS.iter().zip(count.found).filter(|(_, found)| *found > 0);
        hits.map(|(pattern, _)| pattern.name).collect()
    }

    #[test]
    fn prose_patterns_are_found_across_lines_and_case() {
        assert_eq!(found("What\nis left of it goes on."), ["clause_as_noun", "go_on"]);
        assert_eq!(found("Whoever is shut out is told."), ["tell", "whoever", "household"]);
        assert_eq!(
            found("The writer that is his stands by itself."),
            ["relative_that", "anew", "stand", "he"]
        );
        assert_eq!(found("The writer appends entries and returns their numbers."), [""; 0]);
    }

    #[test]
    fn prose_is_read_without_code() {
        assert_eq!(
            comments("/// Reads `what is` left.\nlet what_is = 1;\n    // Closes it."),
            " Reads CODE left.\n Closes it."
        );
        assert_eq!(markdown("A `that is`.\n```\nwhat is\n```\nEnd."), "A CODE.\nEnd.\n");
        let strings: Vec<String> =
            sentences("f(\"a key\", \"the store is read-only now\") // \"no\"").collect();
        assert_eq!(strings, ["the store is read-only now"]);
        assert_eq!(messages("#: a\nmsgid \"One \"\n\"two\"\nmsgstr \"\"\n"), "\"One two\"");
        assert_eq!(descriptions(r#"{"a":[{"description":"What is it","x":"told"}]}"#), "What is it\n");
    }

    #[test]
    fn prose_above_its_ceiling_falls_short() {
        let root = std::env::temp_dir().join(format!("everturn-prose-{}", std::process::id()));
        std::fs::create_dir_all(root.join("crates/xtask")).expect("a scratch directory");
        std::fs::write(root.join("README.md"), "The run goes on, as it was told.").expect("a document");
        let verdict = |ceilings: &str| {
            std::fs::write(root.join(CEILINGS), ceilings).expect("the ceilings");
            let mut report = Report::new("prose");
            check(&mut report, &root).expect("the scratch directory is readable");
            format!("{:?}", report.verdict())
        };
        let (short, reached) = (verdict(""), verdict("documents go_on 125.00\ndocuments tell 125.00\n"));
        std::fs::remove_dir_all(&root).expect("the scratch directory goes away");
        let code = |code: std::process::ExitCode| format!("{code:?}");
        assert_eq!(short, code(std::process::ExitCode::FAILURE));
        assert_eq!(reached, code(std::process::ExitCode::SUCCESS));
    }

    #[test]
    fn prose_ceilings_are_read() {
        let read = ceilings("a b 1.25\nc d 0.30").expect("two lines");
        assert_eq!(read[&("a".to_owned(), "b".to_owned())], 1.25);
        assert!(ceilings("a b").is_err());
    }
}
