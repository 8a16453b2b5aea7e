//! Laws over random histories with messages and answers from one byte to a megabyte: the state stays small, and every
//! visible turn is in the state or read from the log, also after undo and redo.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use session::{Command, Message, PostMode, Progress, Turn, TurnId, prompt, refill};

use crate::asked::Asked;

const CASES: u32 = 96;
/// More than the largest newest turn, the latest undo step and the bounded rest together.
const STATE_BYTES_MAX: usize = 6 * 1024 * 1024;

#[derive(Debug, Clone, Copy)]
enum Step {
    Turn { message_bytes: usize, answer_bytes: usize },
    Undo,
    PutBack,
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 1..200_usize, 2 => 1..20_000_usize, 1 => 50_000..300_000_usize, 1 => 900_000..1_000_000_usize]
}

fn step() -> impl Strategy<Value = Step> {
    let turn = (size(), size());
    prop_oneof![
        6 => turn.prop_map(|(message_bytes, answer_bytes)| Step::Turn { message_bytes, answer_bytes }),
        3 => Just(Step::Undo),
        1 => Just(Step::PutBack),
    ]
}

/// A session, and every visible turn as it was completed.
struct History {
    asked: Asked,
    visible: Vec<Turn>,
    undone: Vec<Turn>,
}

impl History {
    fn play(&mut self, step: Step) {
        match step {
            Step::Turn { message_bytes, answer_bytes } => {
                let message = Message::text("m".repeat(message_bytes));
                self.asked.ask(Command::PostMessage { message, mode: PostMode::Queue, key: None });
                self.asked.bring(Progress::Text("a".repeat(answer_bytes)));
                self.asked.bring(Progress::Completed);
                self.visible.extend(self.asked.0.turns.back().cloned());
                self.undone.clear();
            }
            Step::Undo => {
                let undone = self.asked.try_ask(Command::Undo { from: None });
                assert_eq!(undone.is_ok(), !self.visible.is_empty(), "undo reaches the first turn");
                self.undone.extend(self.visible.pop());
            }
            Step::PutBack => {
                if self.asked.try_ask(Command::PutBack).is_ok() {
                    self.visible.extend(self.undone.pop());
                }
            }
        }
        if self.asked.0.wants_refill() {
            refill(&mut self.asked.0, self.visible.iter().rev().cloned());
        }
    }

    fn laws_hold(&self) {
        let state = &self.asked.0;
        let ids = |turns: &mut dyn Iterator<Item = &Turn>| turns.map(|turn| turn.id).collect::<Vec<TurnId>>();
        let before = usize::try_from(state.turns_before).unwrap();
        assert_eq!(
            before + state.turns.len(),
            self.visible.len(),
            "every visible turn is in the state or before it"
        );
        assert_eq!(ids(&mut state.turns.iter()), ids(&mut self.visible[before..].iter()));
        assert!(!state.turns.is_empty() || self.visible.is_empty());
        let shown = prompt(state);
        assert_eq!(shown.turns.len(), state.turns.len(), "a prompt has every turn of the state");
        assert_eq!(shown.earlier.is_some(), before > 0, "and says where the earlier ones are");
        let size_bytes = state.to_bytes().len();
        assert!(size_bytes <= STATE_BYTES_MAX, "a state of {size_bytes} bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: CASES,
        rng_seed: RngSeed::Fixed(20_260_201),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_visible_turn_is_in_the_state_or_before_it(steps in prop::collection::vec(step(), 1..90)) {
        let mut history = History { asked: Asked::new(), visible: Vec::new(), undone: Vec::new() };
        for step in steps {
            history.play(step);
            history.laws_hold();
        }
    }
}
