//! The words of a story's line: bare words, quoted text, and `"x"*3` for text that is too long to write out.

use std::str::FromStr;

use session::event::CallStatus;
use session::{
    Attachment, BlobHash, CallNo, Event, FromChat, InterruptReason, Journal, Message, MessageKey, Outcome,
    Progress, ProviderPart, RetryReason, RunEnd, RunId, SessionId, Usage,
};

/// The words that are left of a line.
pub(super) struct Words {
    line: String,
    words: std::vec::IntoIter<String>,
}

impl Words {
    pub(super) fn new(line: &str) -> Self {
        Self { line: line.to_owned(), words: split(line).into_iter() }
    }

    #[track_caller]
    pub(super) fn next(&mut self) -> String {
        self.words.next().unwrap_or_else(|| self.wrong("a word is missing"))
    }

    pub(super) fn maybe(&mut self) -> Option<String> {
        self.words.next()
    }

    /// Takes the next word if it is this one.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.words.next();
        }
        found
    }

    fn peek(&self) -> Option<&str> {
        self.words.as_slice().first().map(String::as_str)
    }

    #[track_caller]
    pub(super) fn number<T: FromStr>(&mut self) -> T {
        let word = self.next();
        word.parse().unwrap_or_else(|_| self.wrong(&format!("{word} is no number")))
    }

    /// What is left, as lines of their own; `;` stands between them.
    pub(super) fn rest(&mut self) -> Vec<String> {
        let words: Vec<_> = self.words.by_ref().collect();
        let lines = words.split(|word| word == ";");
        let quoted = lines.map(|line| line.iter().map(|word| serde_json::to_string(word).unwrap()));
        quoted.map(|line| line.collect::<Vec<_>>().join(" ")).collect()
    }

    #[track_caller]
    pub(super) fn end(&mut self) {
        if let Some(word) = self.words.next() {
            self.wrong(&format!("{word} is not understood"));
        }
    }

    #[track_caller]
    pub(super) fn wrong(&self, why: &str) -> ! {
        panic!("in the line `{}`: {why}", self.line)
    }

    /// `s7` names a session.
    #[track_caller]
    pub(super) fn session_id(&mut self) -> SessionId {
        let word = self.next();
        let number = word.strip_prefix('s').and_then(|digits| digits.parse().ok());
        let Some(number) = number else { self.wrong(&format!("{word} names no session")) };
        session_id(number)
    }

    /// `"text"`, then `file name` for each attachment, then `from chat message`, then `key name`.
    pub(super) fn message(&mut self) -> (Message, Option<MessageKey>) {
        let mut message = Message::text(self.next());
        while self.take("file") {
            let name = self.next();
            let blob = BlobHash(format!("{:0>64}", message.attachments.len()));
            message.attachments.push(Attachment {
                name,
                media_type: "text/plain".into(),
                blob,
                size_bytes: 1,
            });
        }
        if self.take("from") {
            message.from = Some(Box::new(FromChat {
                chat: self.next(),
                message: self.next(),
                peer: "anna".to_owned(),
                sender: Some("Anna".to_owned()),
            }));
        }
        let key = self.take("key").then(|| MessageKey(self.next()));
        (message, key)
    }

    /// What a run brings; none when the line is about something else.
    pub(super) fn progress(&mut self, verb: &str) -> Option<Progress> {
        Some(match verb {
            "step" => Progress::Step { asked_to_continue: self.take("asked") },
            "step_ended" => Progress::StepEnded,
            "text" => Progress::Text(self.next()),
            "reasoning" => Progress::Reasoning(self.next()),
            "draft" => Progress::CallDrafted {
                call: CallNo(self.number()),
                tool: self.next(),
                arguments: self.next(),
            },
            "call" => Progress::CallAsked {
                call: CallNo(self.number()),
                tool: self.next(),
                arguments: self.next(),
                provider_call: self.take("as").then(|| self.next()),
            },
            "result" => Progress::CallFinished {
                call: CallNo(self.number()),
                outcome: Outcome { status: self.status(), content: self.next() },
            },
            "usage" => {
                let (input_tokens, output_tokens) = (self.number(), self.number());
                Progress::Usage(Usage { input_tokens, output_tokens, ..Usage::default() })
            }
            "part" => Progress::Part(ProviderPart {
                wire: "messages".to_owned(),
                family: "provider.example/model".to_owned(),
                kind: self.next(),
                call: self.take("of").then(|| CallNo(self.number())),
                text_before: if self.take("after") { self.number() } else { 0 },
                data: self.next(),
            }),
            "wait" => Progress::Retry {
                reason: RetryReason::RateLimit,
                wait_ms: self.number(),
                error: self.next(),
                request: self.take("request").then(|| self.next()),
            },
            "done" => Progress::Completed,
            "output_limit" => Progress::OutputLimit { tokens: self.number() },
            "fail" => Progress::Failed { error: self.next() },
            _ => return None,
        })
    }

    fn status(&mut self) -> CallStatus {
        if self.take("error") { CallStatus::Error } else { CallStatus::Ok }
    }

    /// `unused`, `not yet`, `sealed empty`, or `output`, progress and maybe an end, with `/` in between.
    pub(super) fn journal(&mut self, run: RunId) -> Journal {
        match self.next().as_str() {
            "unused" => Journal::Unused,
            "not" if self.take("yet") => Journal::NotYet,
            "sealed" if self.take("empty") => Journal::SealedEmpty,
            "output" => self.output(run),
            _ => self.wrong("this is no journal"),
        }
    }

    fn output(&mut self, run: RunId) -> Journal {
        let (mut events, mut end) = (Vec::new(), None);
        while let Some(verb) = self.maybe() {
            if verb == "end" {
                end = Some(self.run_end());
                continue;
            }
            let progress = self.progress(&verb);
            let event = match progress {
                Some(Progress::Step { asked_to_continue }) => {
                    Some(Event::StepStarted { run, step: 2, asked_to_continue })
                }
                Some(progress) => progress.into_output(run),
                None => None,
            };
            events.push(event.unwrap_or_else(|| self.wrong("a journal holds output")));
            if !self.take("/") {
                self.end();
            }
        }
        Journal::Output { events, end }
    }

    fn run_end(&mut self) -> RunEnd {
        match self.next().as_str() {
            "completed" => RunEnd::Completed,
            "failed" => RunEnd::Failed { error: self.next() },
            _ => self.wrong("this is no end of a run"),
        }
    }

    pub(super) fn interrupt_reason(&mut self) -> InterruptReason {
        match self.next().as_str() {
            "shutdown" => InterruptReason::ShutdownTimeout,
            "restart" => InterruptReason::RestartTimeout,
            "spool_full" => InterruptReason::SpoolFull,
            _ => self.wrong("nothing interrupts a run like this"),
        }
    }
}

/// The session that a story calls `s` and this number.
pub(super) fn session_id(number: u64) -> SessionId {
    SessionId(uuid::Uuid::from_u128(u128::from(number)))
}

fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, after) = if rest.starts_with('"') { quoted(rest) } else { bare(rest) };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn bare(text: &str) -> (String, &str) {
    let end = text.find(' ').unwrap_or(text.len());
    (text[..end].to_owned(), &text[end..])
}

fn quoted(text: &str) -> (String, &str) {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let word = values.next().and_then(Result::ok).expect("quoted text is written as JSON writes it");
    let after = &text[values.byte_offset()..];
    match after.strip_prefix('*') {
        Some(after) => {
            let (times, after) = bare(after);
            (word.repeat(times.parse().expect("a number follows the star")), after)
        }
        None => (word, after),
    }
}
