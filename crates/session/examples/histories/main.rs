//! Generates random histories. `histories FIRST COUNT` prints the initial state and all variants, then one history per
//! line. The seed alone determines a history: its entries in wire format, the state change of each entry, and the final
//! state and view.
//!
//! `just twins` uses them to compare the web UI's fold with this one.

#![expect(clippy::print_stdout, clippy::expect_used, reason = "prints lines, and stops when it cannot")]

mod changes;
mod commands;
mod dice;
mod events;
mod history;
#[path = "../../tests/it/variants.rs"]
mod variants;
mod words;

use serde_json::json;
use session::Session;

use self::dice::Dice;
use self::history::{History, state_json};

/// Histories of a hundred whose texts are large: they take by far the most space.
const LARGE_PERCENT: u64 = 1;

fn main() {
    let mut arguments =
        std::env::args().skip(1).map(|word| word.parse::<u64>().expect("arguments are numbers"));
    let (first, count) = (arguments.next().unwrap_or(0), arguments.next().unwrap_or(1));
    let variants: Vec<String> = variants::variants().into_iter().flat_map(|(_, names)| names).collect();
    println!("{}", json!({ "state": state_json(&Session::default()), "variants": variants }));
    for seed in first..first + count {
        println!("{}", history(seed).line(seed));
    }
}

fn history(seed: u64) -> History {
    let mut dice = Dice::new(seed);
    let large = dice.chance(LARGE_PERCENT);
    let mut history = History::new(dice, large);
    if history.dice.chance(50) {
        commands::play(&mut history);
    } else {
        events::play(&mut history);
    }
    history
}
