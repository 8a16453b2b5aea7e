//! What is owed to chats: an answer to a message that came from one goes back there, part by part. Each part is noted before
//! it is sent and receipted after, so that a restart knows what arrived, what did not, and what is in doubt.

use serde::{Deserialize, Serialize};

use crate::decide::{Plan, Rejected};
use crate::event::{Event, Message, RunCause, Variants, unknown};
use crate::id::{RunId, TurnId};
use crate::joined::joined;
use crate::limits::DELIVERIES_ENDED_MAX;
use crate::state::{Run, Session};

/// The chat that a message came from, and that its answer goes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FromChat {
    /// The chat's key.
    pub chat: String,
    /// The message's ID on the platform.
    pub message: String,
    /// The sender's ID on the platform.
    pub peer: String,
    /// The sender's display name on the platform. Users can choose any name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
}

/// The delivery of an answer to a chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Delivery {
    pub turn: TurnId,
    /// The first run of the answer.
    pub answer: RunId,
    pub to: FromChat,
    /// The parts sent so far, in order.
    pub parts: Vec<DeliveredPart>,
    /// The part that the chat had when the answer continued. Later text is in further parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Brought>,
    /// The resuming run that the chat was last notified about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notified: Option<RunId>,
    /// The outcome; null while the delivery is pending.
    pub outcome: Option<DeliveryOutcome>,
}

/// The part of an answer that a chat already has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Brought {
    pub parts: u32,
    /// Characters of the answer.
    pub letters: u64,
}

/// A message sent to a platform.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DeliveredPart {
    /// The number of send attempts.
    pub attempts: u32,
    /// The message's ID on the platform, once its delivery is confirmed.
    pub receipt: Option<String>,
}

/// The outcome of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeliveryOutcome {
    /// The whole answer was delivered.
    Delivered,
    /// Parts of the answer may not have arrived, and the retry limit was reached.
    Doubtful,
    /// The platform rejected the message.
    Refused { reason: String },
    /// The delivery was withdrawn: the turn was undone, or the sender is no longer allowed.
    Withdrawn { reason: String },
    /// A variant written by a newer version, stored unchanged.
    #[serde(untagged)]
    Other(#[serde(deserialize_with = "unknown::<DeliveryOutcome, _>")] serde_json::Value),
}

impl Variants for DeliveryOutcome {
    const NAMES: &'static [&'static str] = &["delivered", "doubtful", "refused", "withdrawn"];
}

/// What happens to a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryStep {
    /// A part is about to be sent.
    Attempt { part: u32 },
    /// It surely did not arrive; it is tried again.
    Unsent { part: u32 },
    /// It arrived.
    Receipt { part: u32, receipt: String },
    /// It is over.
    End(DeliveryOutcome),
    /// The chat was told that this run resumes the answer.
    Notified { run: RunId },
}

impl Session {
    /// The oldest answer that is owed to a chat.
    pub fn undelivered(&self) -> Option<&Delivery> {
        self.deliveries.iter().find(|delivery| delivery.outcome.is_none())
    }

    pub(crate) fn delivery_owed(&mut self, turn: TurnId, answer: RunId, to: &FromChat) {
        let letters = self.letters_of(turn, answer);
        if let Some(known) = self.deliveries.iter_mut().find(|delivery| delivery.answer == answer) {
            if matches!(known.outcome, Some(DeliveryOutcome::Delivered | DeliveryOutcome::Doubtful)) {
                let parts = u32::try_from(known.parts.len()).unwrap_or(u32::MAX);
                known.before = Some(Brought { parts, letters });
            }
            known.outcome = None;
            return;
        }
        let to = to.clone();
        let parts = Vec::new();
        let delivery = Delivery { turn, answer, to, parts, before: None, notified: None, outcome: None };
        self.deliveries.push(delivery);
    }

    /// Characters of what the agent said in an answer.
    fn letters_of(&self, turn: TurnId, answer: RunId) -> u64 {
        let known = self.turn(turn).into_iter().flat_map(crate::state::Turn::answers);
        let runs = known.into_iter().find(|runs| runs.first().is_some_and(|run| run.id == answer));
        joined(runs.unwrap_or_default()).texts().map(|text| text.chars().count() as u64).sum()
    }

    pub(crate) fn chat_notified(&mut self, answer: RunId, run: RunId) {
        if let Some(known) = self.deliveries.iter_mut().find(|delivery| delivery.answer == answer) {
            known.notified = Some(run);
        }
    }

    pub(crate) fn delivery_attempted(&mut self, answer: RunId, part: u32) {
        if let Some(part) = self.delivered_part(answer, part) {
            part.attempts += 1;
        }
    }

    pub(crate) fn delivery_unsent(&mut self, answer: RunId, part: u32) {
        if let Some(part) = self.delivered_part(answer, part) {
            part.attempts = part.attempts.saturating_sub(1);
        }
    }

    pub(crate) fn part_delivered(&mut self, answer: RunId, part: u32, receipt: &str) {
        if let Some(part) = self.delivered_part(answer, part) {
            part.receipt = Some(receipt.to_owned());
        }
    }

    pub(crate) fn delivery_ended(&mut self, answer: RunId, outcome: &DeliveryOutcome) {
        if let Some(known) = self.deliveries.iter_mut().find(|delivery| delivery.answer == answer) {
            known.outcome = Some(outcome.clone());
        }
        // The newest ended ones stay: an answer that goes on needs to know where it stands.
        let mut ended = self.deliveries.iter().filter(|delivery| delivery.outcome.is_some()).count();
        self.deliveries.retain(|delivery| {
            let goes = delivery.outcome.is_some() && ended > DELIVERIES_ENDED_MAX;
            ended -= usize::from(goes);
            !goes
        });
    }

    fn delivered_part(&mut self, answer: RunId, part: u32) -> Option<&mut DeliveredPart> {
        let delivery = self.deliveries.iter_mut().find(|delivery| delivery.answer == answer)?;
        let at = part as usize;
        // Parts are begun one after another, so this adds at most one.
        if delivery.parts.len() == at {
            delivery.parts.push(DeliveredPart::default());
        }
        delivery.parts.get_mut(at)
    }
}

impl Plan<'_> {
    /// Notes that what a run brings goes to the chat that its turn's message came from, if it came from one.
    pub(crate) fn owe(&mut self, turn: TurnId, run: RunId, cause: &RunCause) {
        let Some(to) = self.message_of(turn).and_then(|message| message.from.clone()) else { return };
        let answer = self.answer_of(turn, run, cause);
        let owed_already = |delivery: &Delivery| delivery.answer == answer && delivery.outcome.is_none();
        if !self.session().deliveries.iter().any(owed_already) && !fault::planted("reply_is_not_owed") {
            self.push(Event::DeliveryOwed { turn, answer, to });
        }
    }

    /// The message of a turn that begins or goes on: it may have been posted just now.
    fn message_of(&self, turn: TurnId) -> Option<&Message> {
        let session = self.session();
        let known = session.turn(turn).map(|turn| &turn.message);
        let waits = || session.queue.iter().find(|queued| queued.turn == turn).map(|queued| &queued.message);
        let posted = || {
            let at = turn.0.checked_sub(session.head().0 + 1)?;
            self.decision.events.get(usize::try_from(at).ok()?)?.message()
        };
        known.or_else(waits).or_else(posted)
    }

    /// The first run of the answer that a run gives or goes on with.
    fn answer_of(&self, turn: TurnId, run: RunId, cause: &RunCause) -> RunId {
        let session = self.session();
        let known = session.turn(turn);
        let answer: Option<&[Run]> = match cause {
            RunCause::Message | RunCause::Retry | RunCause::Other(_) => None,
            RunCause::Continue => known.and_then(crate::state::Turn::answer),
            // The newest run is the one that was interrupted.
            RunCause::Resume => known.and_then(|turn| {
                let newest = turn.runs.iter().map(|run| run.id).max();
                turn.answers().find(|runs| runs.iter().any(|run| Some(run.id) == newest))
            }),
        };
        answer.and_then(<[Run]>::first).map_or(run, |first| first.id)
    }

    /// What happens to a delivery that is owed.
    pub(crate) fn deliver(&mut self, answer: RunId, step: DeliveryStep) -> Result<(), Rejected> {
        let known = self.session().deliveries.iter().find(|delivery| delivery.answer == answer);
        let owed = known.filter(|delivery| delivery.outcome.is_none()).ok_or(Rejected::NotOwed)?;
        match step {
            DeliveryStep::Attempt { part } => {
                let begun = u32::try_from(owed.parts.len()).unwrap_or(u32::MAX);
                let before = part.checked_sub(1).and_then(|at| owed.parts.get(at as usize));
                let first = owed.before.map_or(0, |before| before.parts);
                let in_order = part == first || before.is_some_and(|part| part.receipt.is_some());
                if part > begun || !in_order {
                    return Err(Rejected::NotOwed);
                }
                self.push(Event::DeliveryAttempted { answer, part });
            }
            DeliveryStep::Unsent { part } => {
                owed.parts.get(part as usize).filter(|part| part.attempts > 0).ok_or(Rejected::NotOwed)?;
                self.push(Event::DeliveryUnsent { answer, part });
            }
            DeliveryStep::Receipt { part, receipt } => {
                let begun = owed.parts.get(part as usize).ok_or(Rejected::NotOwed)?;
                if begun.receipt.is_none() {
                    self.push(Event::PartDelivered { answer, part, receipt });
                }
            }
            // Whoever thinks so has not read yet that it goes on.
            DeliveryStep::End(DeliveryOutcome::Delivered)
                if self.session().open().is_some_and(|(open, _)| open.id == owed.turn) =>
            {
                return Err(Rejected::NotOwed);
            }
            DeliveryStep::Notified { run } => {
                if owed.notified != Some(run) {
                    self.push(Event::ChatNotified { answer, run });
                }
            }
            DeliveryStep::End(outcome) => {
                self.push(Event::DeliveryEnded { answer, outcome });
            }
        }
        Ok(())
    }
}
