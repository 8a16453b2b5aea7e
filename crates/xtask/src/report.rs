//! What every target prints: one line a figure as `name value goal ok|short`, the verdict last.
#![expect(clippy::print_stdout, reason = "a target's product is its report")]

use std::fmt::Display;
use std::process::ExitCode;

/// How a figure stands against its goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Ok,
    Short,
}

impl Standing {
    /// `Ok` when the goal is reached.
    pub fn when(reached: bool) -> Self {
        if reached { Self::Ok } else { Self::Short }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Short => "short",
        }
    }
}

/// One target's figures; short as soon as one of them is.
#[derive(Debug)]
pub struct Report {
    target: &'static str,
    standing: Standing,
}

impl Report {
    pub fn new(target: &'static str) -> Self {
        Self { target, standing: Standing::Ok }
    }

    /// Prints one figure. A name holds no blank, so that the line splits into four words.
    pub fn figure(&mut self, name: &str, value: impl Display, goal: impl Display, standing: Standing) {
        println!("{name} {value} {goal} {}", standing.word());
        if standing == Standing::Short {
            self.standing = Standing::Short;
        }
    }

    /// Prints a count that must be zero.
    pub fn none_of(&mut self, name: &str, count: usize) {
        self.figure(name, count, 0, Standing::when(count == 0));
    }

    /// Prints a line that is no figure and changes no verdict.
    pub fn note(&self, text: impl Display) {
        println!("# {text}");
    }

    /// Prints the verdict, and turns it into the exit code of the process.
    pub fn verdict(self) -> ExitCode {
        println!("{} {}", self.target, self.standing.word());
        match self.standing {
            Standing::Ok => ExitCode::SUCCESS,
            Standing::Short => ExitCode::FAILURE,
        }
    }
}
