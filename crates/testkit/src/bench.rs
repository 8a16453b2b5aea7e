//! What the store is measured by, one file a section: each figure of ours stands beside bare SQLite doing the same
//! work in the same run, because ratios travel to other machines and absolutes do not.
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock and starts tasks")]

mod bare;
mod beside;
mod catalog;
mod corpus;
mod erasing;
mod figures;
mod load;
mod memory;
mod opening;
mod place;
pub mod postgres;
mod prose;
mod recording;
mod recovery;
mod server;
mod size;
mod speed;
mod verifying;

use anyhow::{Result, bail};

use crate::report::Report;

pub use figures::Size;

/// Measures one section.
type Section = fn(&mut Bench) -> Result<()>;

/// The sections, in the order in which they run.
const SECTIONS: [(char, Section); 9] = [
    ('a', speed::measure),
    ('c', recovery::measure),
    ('d', opening::measure),
    ('e', catalog::measure),
    ('f', size::measure),
    ('g', memory::measure),
    ('i', verifying::measure),
    ('j', beside::measure),
    ('k', erasing::measure),
];

/// One run of the bench.
#[derive(Debug)]
pub struct Bench {
    pub(crate) size: Size,
    pub(crate) report: Report,
    /// Runs at once to measure in (a).
    pub(crate) runs: Vec<usize>,
}

impl Bench {
    /// A run at a size.
    pub fn new(size: Size) -> Self {
        Self { size, report: Report::default(), runs: Vec::new() }
    }

    /// A run as the command line asks for it, and the sections that it names.
    ///
    /// # Errors
    /// When it asks for something else.
    pub fn from_args(usage: &str) -> Result<(Self, Vec<String>)> {
        let (options, sections): (Vec<String>, Vec<String>) =
            std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
        let size = match options.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] => Size::Ci,
            ["--brief"] => Size::Brief,
            ["--full"] => Size::Full,
            _ => bail!("usage: {usage}"),
        };
        Ok((Self::new(size), sections))
    }

    /// Measures the sections that were asked for, or all; `a512` is (a) with 512 runs only. Says whether everything
    /// reached its goal.
    ///
    /// # Errors
    /// When something could not be measured at all.
    pub fn run(mut self, wanted: &[String]) -> Result<bool> {
        let mut sections = Vec::new();
        for name in wanted {
            let letter = match name.chars().next() {
                // Latency and lag are measured while the runs of (a) go on.
                Some('b' | 'h') => 'a',
                letter => letter.unwrap_or(' '),
            };
            if SECTIONS.iter().all(|(section, _)| *section != letter) {
                bail!("no section {name}; there are a b c d e f g h i j k");
            }
            self.runs.extend(name.strip_prefix('a').and_then(|runs| runs.parse::<usize>().ok()));
            sections.push(letter);
        }
        if self.runs.is_empty() {
            self.runs = speed::RUNS.to_vec();
        }
        self.report.note(&format!("{}, load average {}", self.size.name(), place::load_average()?));
        for (name, section) in SECTIONS {
            // (i) is measured when it is named: verifying is far from the speed of the disk, and no other figure waits for it.
            if (sections.is_empty() && name != 'i') || sections.contains(&name) {
                section(&mut self)?;
            }
        }
        self.report.note(&format!("load average {}", place::load_average()?));
        Ok(self.report.verdict("bench-store"))
    }

    /// Measures the released binary. Says whether everything reached its goal.
    ///
    /// # Errors
    /// When something could not be measured at all.
    pub fn run_server(mut self, wanted: &[String]) -> Result<bool> {
        self.report.note(&format!("{}, load average {}", self.size.name(), place::load_average()?));
        server::measure(&mut self, wanted)?;
        self.report.note(&format!("load average {}", place::load_average()?));
        Ok(self.report.verdict("bench-server"))
    }
}
