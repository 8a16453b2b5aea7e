//! What the reference makes of a run's output, and how it counts what turns hold.

use session::Event;

use super::reference::{Model, Run, Said, Standing, Turn};

impl Model {
    /// A piece of a run's output arrives.
    pub(super) fn output(&mut self, id: u64, event: &Event) {
        let now = self.now;
        let kind = match event {
            Event::TextAdded { .. } => "text_added",
            Event::ReasoningAdded { .. } => "reasoning_added",
            Event::CallDrafted { .. } => "call_drafted",
            Event::CallAsked { .. } => "call_asked",
            Event::CallFinished { .. } => "call_finished",
            Event::UsageReported { .. } => "usage_reported",
            Event::ProviderPartAdded { .. } => "provider_part_added",
            Event::RetryScheduled { .. } => "retry_scheduled",
            other => unreachable!("{other:?} is no output"),
        };
        self.event(kind);
        if kind == "call_finished" {
            self.seen.active = now;
        }
        let Some(run) = self.run(id) else { return };
        if run.end.is_none() {
            run.last = now;
        }
        match event {
            Event::TextAdded { text, .. } => match run.said.last_mut() {
                Some(Said::Text(last)) => last.push_str(text),
                _ => run.said.push(Said::Text(text.clone())),
            },
            Event::ReasoningAdded { text, .. } => match run.said.last_mut() {
                Some(Said::Thought(last)) => last.push_str(text),
                _ => run.said.push(Said::Thought(text.clone())),
            },
            Event::CallDrafted { call, arguments, .. } => run.call(call.0).0.push_str(arguments),
            Event::CallAsked { call, arguments, .. } => {
                *run.call(call.0) = (arguments.clone(), Standing::Asked);
            }
            Event::CallFinished { call, outcome, .. } => {
                run.call(call.0).1 = Standing::Finished(outcome.status.clone(), outcome.content.clone());
            }
            _ => {}
        }
    }
}

impl Turn {
    /// The messages that the turn holds: its own, and those that went into its runs.
    pub(super) fn messages(&self) -> Vec<u64> {
        let steered = self.answers.iter().flatten().flat_map(Run::steered);
        std::iter::once(self.id).chain(steered).collect()
    }

    pub(super) fn bytes(&self) -> usize {
        let said = self.answers.iter().flatten().flat_map(|run| &run.said);
        self.text.len() + said.map(Said::bytes).sum::<usize>()
    }

    fn newest(&self) -> u64 {
        self.answers.iter().flatten().map(|run| run.id).max().unwrap_or_default()
    }

    pub(super) fn newest_answer(&mut self) -> &mut Vec<Run> {
        let newest = self.newest();
        let mut answers = self.answers.iter_mut();
        answers.find(|runs| runs.iter().any(|run| run.id == newest)).expect("a newest run has an answer")
    }

    /// Takes away the first answer that is neither shown nor being given, if there is one.
    pub(super) fn forget_oldest(&mut self) -> Option<Vec<Run>> {
        let newest = self.newest();
        let given = |runs: &[Run]| runs.iter().any(|run| run.id == newest);
        let at = (0..self.answers.len()).find(|at| *at != self.shown && !given(&self.answers[*at]))?;
        self.shown -= usize::from(self.shown > at);
        Some(self.answers.remove(at))
    }
}

impl Run {
    pub(super) fn steered(&self) -> impl Iterator<Item = u64> {
        self.said.iter().filter_map(|said| if let Said::Steered(id, _) = said { Some(*id) } else { None })
    }

    fn call(&mut self, no: u32) -> &mut (String, Standing) {
        let found = self.said.iter().rposition(|said| matches!(said, Said::Call(other, _) if *other == no));
        let at = found.unwrap_or(self.said.len());
        if found.is_none() {
            self.said.push(Said::Call(no, (String::new(), Standing::Drafted)));
        }
        let Said::Call(_, call) = &mut self.said[at] else { unreachable!("found as a call") };
        call
    }
}

impl Said {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Thought(text) | Self::Steered(_, text) => text.len(),
            Self::Call(_, (arguments, Standing::Finished(_, content))) => arguments.len() + content.len(),
            Self::Call(_, (arguments, _)) => arguments.len(),
        }
    }
}
