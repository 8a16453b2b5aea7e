//! What is asked of the session, and how often: one maker a command, drawn by weight.

use session::{Command, Flag, Message, MessageKey, PostMode, RunId, SessionId, TurnId, TurnView, View};

use crate::attached;
use crate::dice::Dice;

use super::stage::{Rule, Stage};

/// A command and what must come of it.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) command: Command,
    pub(super) effect: String,
    pub(super) rule: Rule,
    pub(super) ids: IdChange,
}

/// What a command does to the session's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdChange {
    None,
    Adds(SessionId),
    Removes(SessionId),
    /// Asks for an id that is in use; nothing may come of it.
    Taken(SessionId),
}

type Make = fn(&mut Dice, &Stage, &View) -> Option<Ask>;

/// Weights in a thousand. Clearing is rare, so that turns gather beyond what a state holds.
const ASKS: &[(u64, Make)] = &[
    (150, post),
    (70, steer),
    (60, interrupt),
    (50, post_keyed),
    (60, repeat_keyed),
    (15, reuse_key),
    (70, edit_queued),
    (60, remove_queued),
    (30, stop),
    (40, stop_one),
    (60, resume_queue),
    (45, undo),
    (25, undo_from),
    (55, put_back),
    (40, retry),
    (50, go_on),
    (30, rename),
    (40, suggest),
    (3, clear),
    (35, compact),
    (45, choose_answer),
    (25, edit_message),
    (20, pin),
    (18, add_id),
    (12, remove_id),
    (8, add_taken_id),
];

/// Whether messages are posted at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Season {
    Wet,
    /// None is, so that the queue runs dry and the session comes to rest: only then can it go on or put back.
    Dry,
}

/// Draws what is asked next; nothing when the session has nothing that it could be asked of.
pub(super) fn draw(dice: &mut Dice, stage: &Stage, view: &View, season: Season) -> Option<Ask> {
    let ask = draw_any(dice, stage, view)?;
    match (season, &ask.command) {
        (Season::Dry, Command::PostMessage { .. } | Command::EditMessage { .. }) => {
            remove_queued(dice, stage, view).or_else(|| go_on(dice, stage, view))
        }
        (Season::Wet | Season::Dry, _) => Some(ask),
    }
}

fn draw_any(dice: &mut Dice, stage: &Stage, view: &View) -> Option<Ask> {
    let mut throw = dice.below(ASKS.iter().map(|(weight, _)| weight).sum());
    for (weight, make) in ASKS {
        if throw < *weight {
            return make(dice, stage, view);
        }
        throw -= weight;
    }
    None
}

fn once(command: Command, effect: String) -> Option<Ask> {
    Some(Ask { command, effect, rule: Rule::Once, ids: IdChange::None })
}

fn message(dice: &mut Dice, stage: &Stage) -> Message {
    let mut message = Message::text(format!("{} said", stage.token("p")));
    if dice.chance(15) {
        message.attachments.push(attached::attachment(&format!("note {}.txt", dice.below(1 << 40))));
    }
    message
}

fn post_as(dice: &mut Dice, stage: &Stage, mode: PostMode) -> Option<Ask> {
    let message = message(dice, stage);
    let effect = format!("post:{}", message.text);
    once(Command::PostMessage { message, mode, key: None }, effect)
}

fn post(dice: &mut Dice, stage: &Stage, _: &View) -> Option<Ask> {
    post_as(dice, stage, PostMode::Queue)
}

fn steer(dice: &mut Dice, stage: &Stage, _: &View) -> Option<Ask> {
    post_as(dice, stage, PostMode::Steer)
}

fn interrupt(dice: &mut Dice, stage: &Stage, _: &View) -> Option<Ask> {
    post_as(dice, stage, PostMode::Interrupt)
}

fn keyed(command: Command, effect: String) -> Option<Ask> {
    Some(Ask { command, effect, rule: Rule::Keyed, ids: IdChange::None })
}

fn post_keyed(dice: &mut Dice, stage: &Stage, _: &View) -> Option<Ask> {
    let message = message(dice, stage);
    let effect = format!("post:{}", message.text);
    let mode = if dice.chance(30) { PostMode::Interrupt } else { PostMode::Queue };
    let command = Command::PostMessage { message, mode, key: Some(MessageKey(stage.token("k"))) };
    stage.keep_keyed(command.clone(), effect.clone());
    keyed(command, effect)
}

fn repeat_keyed(dice: &mut Dice, stage: &Stage, _: &View) -> Option<Ask> {
    let (command, effect) = stage.keyed(dice)?;
    keyed(command, effect)
}

fn reuse_key(dice: &mut Dice, stage: &Stage, _: &View) -> Option<Ask> {
    let (Command::PostMessage { key, .. }, _) = stage.keyed(dice)? else { return None };
    let message = message(dice, stage);
    let effect = format!("post:{}", message.text);
    keyed(Command::PostMessage { message, mode: PostMode::Queue, key }, effect)
}

fn queued(dice: &mut Dice, view: &View) -> Option<TurnId> {
    dice.pick(&view.queue).map(|queued| queued.turn)
}

fn turn<'a>(dice: &mut Dice, view: &'a View) -> Option<&'a TurnView> {
    // Mostly one of the newest, as people do.
    let newest = &view.turns[view.turns.len().saturating_sub(3)..];
    if dice.chance(80) { dice.pick(newest) } else { dice.pick(&view.turns) }
}

fn edit_queued(dice: &mut Dice, stage: &Stage, view: &View) -> Option<Ask> {
    let turn = queued(dice, view)?;
    let message = message(dice, stage);
    let effect = format!("queued:{}", message.text);
    once(Command::EditQueued { turn, message }, effect)
}

fn remove_queued(dice: &mut Dice, _: &Stage, view: &View) -> Option<Ask> {
    let turn = queued(dice, view)?;
    once(Command::RemoveQueued { turn }, format!("removed:{turn}x"))
}

fn stop(_: &mut Dice, _: &Stage, _: &View) -> Option<Ask> {
    let command = Command::Stop { run: None, device: None };
    Some(Ask { command, effect: "stop".to_owned(), rule: Rule::Stops, ids: IdChange::None })
}

/// Mostly of a run that is over already, which must leave the one that is going on alone.
fn stop_one(dice: &mut Dice, _: &Stage, view: &View) -> Option<Ask> {
    let shown = turn(dice, view).and_then(|turn| dice.pick(&turn.alternatives)).copied();
    let run = if dice.chance(30) { view.run } else { shown };
    let run = run?;
    let (command, rule) = (Command::Stop { run: Some(run), device: None }, Rule::StopsRun(run.0));
    Some(Ask { command, effect: "stop one".to_owned(), rule, ids: IdChange::None })
}

fn resume_queue(_: &mut Dice, _: &Stage, view: &View) -> Option<Ask> {
    view.queue.iter().find(|queued| queued.paused)?;
    let (command, effect) = (Command::ResumeQueue, "resume queue".to_owned());
    Some(Ask { command, effect, rule: Rule::ResumesQueue, ids: IdChange::None })
}

fn undo(_: &mut Dice, _: &Stage, _: &View) -> Option<Ask> {
    once(Command::Undo { from: None }, "undone:".to_owned())
}

fn undo_from(dice: &mut Dice, _: &Stage, view: &View) -> Option<Ask> {
    // One that may be gone already is a question too.
    let from = if dice.chance(30) { TurnId(view.seq.0) } else { turn(dice, view)?.turn };
    once(Command::Undo { from: Some(from) }, "undone:".to_owned())
}

fn put_back(_: &mut Dice, _: &Stage, _: &View) -> Option<Ask> {
    once(Command::PutBack, "put back".to_owned())
}

fn retry(_: &mut Dice, _: &Stage, _: &View) -> Option<Ask> {
    once(Command::Retry, "retry:".to_owned())
}

fn go_on(_: &mut Dice, _: &Stage, _: &View) -> Option<Ask> {
    once(Command::Continue, "continue:".to_owned())
}

fn rename(_: &mut Dice, stage: &Stage, _: &View) -> Option<Ask> {
    let title = stage.token("name");
    let effect = format!("name:{title}");
    once(Command::Rename { title }, effect)
}

fn suggest(_: &mut Dice, stage: &Stage, _: &View) -> Option<Ask> {
    let title = stage.token("title");
    let effect = format!("title:{title}");
    let command = Command::SuggestTitle { title };
    Some(Ask { command, effect, rule: Rule::OnceUnlessNamed, ids: IdChange::None })
}

fn clear(_: &mut Dice, _: &Stage, _: &View) -> Option<Ask> {
    once(Command::Clear, "cleared".to_owned())
}

fn compact(dice: &mut Dice, stage: &Stage, view: &View) -> Option<Ask> {
    let (summary, through) = (stage.token("summary"), turn(dice, view)?.turn);
    let effect = format!("summary:{summary}");
    once(Command::CompactContext { run: None, summary, through }, effect)
}

fn choose_answer(dice: &mut Dice, _: &Stage, view: &View) -> Option<Ask> {
    let several: Vec<&TurnView> = view.turns.iter().filter(|turn| turn.alternatives.len() > 1).collect();
    let turn = match dice.pick(&several) {
        Some(turn) => turn,
        None => turn(dice, view)?,
    };
    let run: RunId = *dice.pick(&turn.alternatives)?;
    let turn = turn.turn;
    once(Command::ChooseAnswer { turn, run }, format!("chosen:{turn}:{run}x"))
}

fn edit_message(dice: &mut Dice, stage: &Stage, view: &View) -> Option<Ask> {
    let turn = if dice.chance(20) { TurnId(1) } else { turn(dice, view)?.turn };
    let message = message(dice, stage);
    let effect = format!("edit:{}", message.text);
    if dice.chance(50) {
        return once(Command::EditMessage { turn, message, key: None }, effect);
    }
    let command = Command::EditMessage { turn, message, key: Some(MessageKey(stage.token("k"))) };
    stage.keep_keyed(command.clone(), effect.clone());
    keyed(command, effect)
}

fn pin(dice: &mut Dice, _: &Stage, _: &View) -> Option<Ask> {
    let on = dice.chance(50);
    once(Command::SetFlag { flag: Flag::Pinned, on }, format!("flag:pinned:{on}"))
}

fn add_id(_: &mut Dice, stage: &Stage, _: &View) -> Option<Ask> {
    let id = stage.ids().fresh();
    let ids = IdChange::Adds(id);
    Some(Ask { command: Command::AddId { id }, effect: format!("id added:{id}"), rule: Rule::Once, ids })
}

fn remove_id(dice: &mut Dice, stage: &Stage, _: &View) -> Option<Ask> {
    let id = stage.ids().leave(dice)?;
    let ids = IdChange::Removes(id);
    Some(Ask { command: Command::RemoveId { id }, effect: format!("id removed:{id}"), rule: Rule::Once, ids })
}

fn add_taken_id(dice: &mut Dice, stage: &Stage, _: &View) -> Option<Ask> {
    let id = stage.ids().taken(dice)?;
    let ids = IdChange::Taken(id);
    Some(Ask { command: Command::AddId { id }, effect: format!("id added:{id}"), rule: Rule::Once, ids })
}
