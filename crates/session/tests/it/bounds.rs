//! The state stays small for large messages, long queues and many undo steps.

use session::limits::{MESSAGE_BYTES_MAX, QUEUE_MIB_MAX, UNDONE_MAX};
use session::{Attachment, BlobHash, Command, Message, PostMode, Progress, Rejected, TurnId, refill};

use crate::asked::Asked;

const MIB: usize = 1024 * 1024;

impl Asked {
    fn post(&mut self, bytes: usize) -> Result<TurnId, Rejected> {
        let message = Message::text("x".repeat(bytes));
        self.try_ask(Command::PostMessage { message, mode: PostMode::Queue, key: None })
    }
}

#[test]
fn a_queue_holds_so_many_bytes_and_no_more() {
    let mut asked = Asked::new();
    asked.post(1).unwrap();
    for _ in 0..QUEUE_MIB_MAX * MIB / MESSAGE_BYTES_MAX {
        asked.post(MESSAGE_BYTES_MAX).unwrap();
    }
    assert_eq!(asked.post(1), Err(Rejected::QueueFull));
    let turn = asked.0.queue[0].turn;
    let shorter = Message::text("short");
    asked.ask(Command::EditQueued { turn, message: shorter.clone() });
    asked.post(MIB).unwrap();
    let longer = Message::text("x".repeat(MESSAGE_BYTES_MAX));
    assert_eq!(asked.try_ask(Command::EditQueued { turn, message: longer }), Err(Rejected::QueueFull));
    assert_eq!(asked.0.queue[0].message, shorter);
    assert!(asked.0.to_bytes().len() < (QUEUE_MIB_MAX + 1) * MIB);
}

#[test]
fn names_of_files_count_towards_a_message() {
    let mut asked = Asked::new();
    let name = "n".repeat(MESSAGE_BYTES_MAX);
    let (blob, media_type) = (BlobHash("b".to_owned()), "text/plain".to_owned());
    let attachments = vec![Attachment { blob, name, media_type, size_bytes: 1 }];
    let message = Message { attachments, ..Message::text("x") };
    let posted = asked.try_ask(Command::PostMessage { message, mode: PostMode::Queue, key: None });
    assert_eq!(posted, Err(Rejected::MessageTooLong));
}

#[test]
fn undo_steps_of_large_turns_leave_the_state_small_and_their_number_right() {
    let mut asked = Asked::new();
    let mut turns = Vec::new();
    for _ in 0..UNDONE_MAX {
        asked.post(MIB / 8).unwrap();
        asked.bring(Progress::Completed);
        turns.push(asked.0.turns.back().unwrap().clone());
    }
    for left in (0..UNDONE_MAX).rev() {
        asked.ask(Command::Undo { from: None });
        assert_eq!(asked.0.turns.len() as u64 + asked.0.turns_before, left as u64);
        if asked.0.wants_refill() {
            refill(&mut asked.0, turns[..left].iter().rev().cloned());
        }
        assert!(asked.0.to_bytes().len() < MIB, "{}", asked.0.to_bytes().len());
    }
    for back in 1..=UNDONE_MAX {
        asked.ask(Command::PutBack);
        assert_eq!(asked.0.turns.len() as u64 + asked.0.turns_before, back as u64);
    }
}

#[test]
fn many_large_answers_of_one_turn_leave_the_state_small() {
    let mut asked = Asked::new();
    asked.post(1).unwrap();
    for _ in 0..20 {
        asked.bring(Progress::Text("y".repeat(MIB / 4)));
        asked.bring(Progress::Completed);
        asked.ask(Command::Retry);
    }
    assert!(asked.0.to_bytes().len() < 2 * MIB, "{}", asked.0.to_bytes().len());
}
