//! The page `docs/providers.md`: which provider has which abilities, and which part of the story tests each.

use anyhow::ensure;

use super::ability::{Ability, Outcome, Shown};
use super::{PROVIDERS, Strict};
use crate::Report;

/// The part that is written by hand. `{date}` stands for the date of the catalog.
const HEAD: &str = include_str!("page.md");
/// The server's catalog of known models.
const CATALOG: &str = include_str!("../../../server/src/models/catalog.tsv");

/// A column of the page.
struct Column {
    title: &'static str,
    /// The parts of the story that test it.
    abilities: &'static [Ability],
    /// Whether a provider may lack it.
    may_lack: bool,
    /// The description of these parts.
    proof: &'static str,
}

const COLUMNS: [Column; 10] = [
    Column {
        title: "text",
        abilities: &[Ability::Question, Ability::SecondTurn],
        may_lack: false,
        proof: "Two questions in a row get complete answers.",
    },
    Column {
        title: "tools",
        abilities: &[Ability::OneTool],
        may_lack: false,
        proof: "The model calls a tool, gets its result, and answers.",
    },
    Column {
        title: "parallel tools",
        abilities: &[Ability::TwoTools],
        may_lack: true,
        proof: "The model calls two tools in one step.",
    },
    Column {
        title: "thinking kept",
        abilities: &[Ability::ThinkingKept],
        may_lack: false,
        proof: "Thinking and its signatures are returned unchanged with the calls that followed, if the provider requires \
                them; the test server rejects requests without them. \"No thinking\" means that the model sends none \
                (GPT-5.5 sends none with tools in Chat Completions).",
    },
    Column {
        title: "pictures",
        abilities: &[Ability::Pictures],
        may_lack: true,
        proof: "A picture reaches the model.",
    },
    Column {
        title: "caching",
        abilities: &[Ability::Caching],
        may_lack: true,
        proof: "The usage of the second turn has tokens that the provider read from its cache.",
    },
    Column {
        title: "cost",
        abilities: &[Ability::Cost],
        may_lack: true,
        proof: "The usage has a cost, though no prices are configured.",
    },
    Column {
        title: "window known",
        abilities: &[Ability::WindowKnown],
        may_lack: true,
        proof: "The list of models in Settings has the context window of the model.",
    },
    Column {
        title: "compaction",
        abilities: &[Ability::TooLong],
        may_lack: false,
        proof: "The provider rejects a session that has grown too long; older turns are summarized, and the next try succeeds.",
    },
    Column {
        title: "resumed",
        abilities: &[Ability::CutAndContinue, Ability::Crash],
        may_lack: true,
        proof: "Continue completes an answer that was cut off, without missing or repeated words. After a crash, the server \
                completes the answer by itself.",
    },
];

/// Writes the page from the results with every provider.
///
/// # Errors
/// Returns an error if a part failed or a provider lacks a required ability.
pub fn write(shown: &[Shown]) -> anyhow::Result<String> {
    let mut remarks = Vec::new();
    let (with_tools, without): (Vec<&Strict>, Vec<&Strict>) =
        PROVIDERS.iter().partition(|provider| provider.has_tools());
    let mut page = HEAD.replace("{date}", catalog_date());
    page += "\n";
    page += &table(shown, &with_tools, |_| true, &mut remarks)?;
    page += "\nModels without tools:\n\n";
    let no_tools = |column: &Column| !matches!(column.abilities, [Ability::OneTool | Ability::TwoTools]);
    page += &table(shown, &without, no_tools, &mut remarks)?;
    page += "\n";
    for (at, remark) in remarks.iter().enumerate() {
        page += &format!("[^{}]: {remark}\n", at + 1);
    }
    page += "\n## What each column means\n\nThe part is the name in the output of `stories --json FILE`. `fixtures/providers` has recorded \
             responses of the providers,\nwhich other tests read whole, split, and cut off at each byte.\n\n\
             | column | part | what happens |\n| --- | --- | --- |\n";
    for Column { title, abilities, proof, .. } in &COLUMNS {
        let parts: Vec<String> = abilities.iter().map(|ability| format!("`{}`", ability.name())).collect();
        page += &format!("| {title} | {} | {proof} |\n", parts.join(", "));
    }
    Ok(page)
}

/// Compares the page with the results, and reports whether it is current.
///
/// # Errors
/// Returns an error if the page can't be written from the results.
pub fn check(report: &mut Report, page: &str, shown: &[Shown]) -> anyhow::Result<()> {
    let is_current = write(shown)? == page;
    if !is_current {
        report.note("docs/providers.md is out of date; `just providers-docs` updates it");
    }
    report.line("providers.docs_current", u8::from(is_current), 1, is_current);
    Ok(())
}

/// Writes the rows of some providers, and collects the remarks that cells refer to.
fn table(
    shown: &[Shown],
    providers: &[&Strict],
    is_in: impl Fn(&Column) -> bool,
    remarks: &mut Vec<String>,
) -> anyhow::Result<String> {
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| is_in(column)).collect();
    let titles: Vec<&str> = columns.iter().map(|column| column.title).collect();
    let mut table =
        format!("| provider | {} |\n|{}\n", titles.join(" | "), " --- |".repeat(titles.len() + 1));
    for provider in providers {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| cell(shown, provider, column, remarks))
            .collect::<anyhow::Result<_>>()?;
        table += &format!("| {} | {} |\n", provider.title, cells.join(" | "));
    }
    Ok(table)
}

fn cell(
    shown: &[Shown],
    provider: &Strict,
    column: &Column,
    remarks: &mut Vec<String>,
) -> anyhow::Result<String> {
    let mut cell = "yes".to_owned();
    for ability in column.abilities {
        let (name, part) = (provider.name, ability.name());
        let result = shown.iter().find(|one| one.provider == name && one.ability == *ability);
        match result.map(|one| &one.result) {
            Some(Outcome::Works) => {}
            Some(Outcome::Noted(remark)) => cell = format!("yes{}", reference(remark, remarks)),
            Some(Outcome::NotOffered(_)) if *ability == Ability::ThinkingKept && !provider.thinks() => {
                return Ok("no thinking".to_owned());
            }
            Some(Outcome::NotOffered(reason)) => {
                ensure!(column.may_lack, "{name} lacks {part}, which is required: {reason}");
                return Ok(format!("no{}", reference(reason, remarks)));
            }
            Some(Outcome::Fails(_)) => anyhow::bail!("{name} fails {part}"),
            None => anyhow::bail!("{name} was not asked for {part}"),
        }
    }
    Ok(cell)
}

/// Returns the mark of a footnote.
fn reference(remark: &str, remarks: &mut Vec<String>) -> String {
    let at = remarks.iter().position(|known| known == remark).unwrap_or_else(|| {
        remarks.push(remark.to_owned());
        remarks.len() - 1
    });
    format!("[^{}]", at + 1)
}

/// The date in the catalog's first line.
fn catalog_date() -> &'static str {
    let date = CATALOG.split_once("as of ").and_then(|(_, rest)| rest.split_once(','));
    date.map_or("", |(date, _)| date)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(result: impl Fn(&Strict, Ability) -> Outcome) -> Vec<Shown> {
        let of = |provider: &'static Strict| {
            let result = &result;
            Ability::ALL.map(move |ability| Shown {
                provider: provider.name,
                ability,
                result: result(provider, ability),
            })
        };
        PROVIDERS.iter().flat_map(of).collect()
    }

    #[test]
    fn every_provider_of_the_table_is_in_the_head() {
        for provider in PROVIDERS.iter().filter(|provider| !provider.is_local() && provider.name != "azure") {
            assert!(HEAD.contains(&format!("`{}`", provider.base)), "{}", provider.name);
        }
        assert_eq!(catalog_date().len(), 10);
    }

    #[test]
    fn a_missing_required_ability_is_an_error() {
        let page = write(&all(|_, _| Outcome::Works)).expect("all works");
        assert!(page.contains("| OpenAI | yes |") && !page.contains("[^"));
        let lacking = |lacked: Ability| {
            write(&all(move |provider, ability| {
                let lacks = ability == lacked && provider.name == "deepseek";
                if lacks { Outcome::NotOffered("It has none.") } else { Outcome::Works }
            }))
        };
        for never in [Ability::Question, Ability::OneTool, Ability::ThinkingKept, Ability::TooLong] {
            assert!(lacking(never).is_err(), "{never:?}");
        }
        let page = lacking(Ability::Cost).expect("a cost may be missing");
        assert!(page.contains("no[^1]") && page.contains("[^1]: It has none."));
        assert!(write(&all(|_, _| Outcome::Fails(String::new()))).is_err());
        assert!(write(&[]).is_err());
    }
}
