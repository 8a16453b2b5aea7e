//! One line a figure: `name value goal ok|short`, the verdict last.

/// Collects figures and whether each reached its goal.
#[derive(Debug, Default)]
pub struct Report {
    short: Vec<String>,
}

impl Report {
    /// Prints a figure that reached its goal, or fell short.
    #[expect(clippy::print_stdout, reason = "figures are printed for people and CI")]
    pub fn line(
        &mut self,
        name: &str,
        value: impl std::fmt::Display,
        goal: impl std::fmt::Display,
        reached: bool,
    ) {
        let verdict = if reached { "ok" } else { "short" };
        println!("{name} {value} {goal} {verdict}");
        if !reached {
            self.short.push(name.to_owned());
        }
    }

    /// Prints a time, or a ratio of times: at most `bar` at full size, and at most twice that in CI.
    pub fn at_most(&mut self, name: &str, value: f64, bar: f64, full: bool) {
        let twice = bar * 2.0;
        let (limit, goal) =
            if full { (bar, format!("≤{bar}")) } else { (twice, format!("≤{twice}(twice_{bar})")) };
        self.line(name, rounded(value), goal, value <= limit);
    }

    /// Prints a figure that has no goal of its own.
    #[expect(clippy::print_stdout, reason = "figures are printed for people and CI")]
    pub fn note(&self, text: &str) {
        println!("# {text}");
    }

    /// Whether a figure fell short so far.
    pub fn has_failures(&self) -> bool {
        !self.short.is_empty()
    }

    /// Prints the verdict and says whether everything reached its goal.
    #[expect(clippy::print_stdout, reason = "figures are printed for people and CI")]
    pub fn verdict(&self, name: &str) -> bool {
        if self.short.is_empty() {
            println!("{name} ok");
        } else {
            println!("{name} short: {}", self.short.join(" "));
        }
        self.short.is_empty()
    }
}

pub(crate) fn rounded(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
