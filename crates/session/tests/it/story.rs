//! Stories as data: each `.turn` file holds lines in, `----`, and what comes out. `UPDATE=1` rewrites what comes out.

mod script;
mod show;
mod words;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use session::{Event, Rejected, fold_turn};

use self::script::Script;
pub(crate) use self::show::kind;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/turns")
}

fn stories() -> Vec<PathBuf> {
    let files = fs::read_dir(folder()).expect("the stories can be listed");
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are stories");
    paths
}

/// The story with what came out in place of what was written, and everything that happened in it.
fn play(text: &str) -> (String, Script) {
    let mut script = Script::default();
    let mut told = Vec::new();
    for block in text.trim().split("\n\n") {
        let asked = block.split("\n----").next().unwrap_or_default();
        let lines: Vec<_> = asked.lines().filter(|line| !line.starts_with('#')).collect();
        if lines.is_empty() {
            told.push(asked.to_owned());
            continue;
        }
        let answers: String = lines.iter().map(|line| script.line(line)).collect();
        told.push(format!("{asked}\n----\n{}", answers.trim_end()).trim_end().to_owned());
    }
    (told.join("\n\n") + "\n", script)
}

#[test]
fn every_story_comes_out_as_written() {
    let rewrite = std::env::var_os("UPDATE").is_some();
    let mut wrong = Vec::new();
    for path in stories() {
        let written = fs::read_to_string(&path).unwrap();
        let (told, _) = play(&written);
        if rewrite {
            fs::write(&path, &told).unwrap();
        } else if told != written {
            wrong.push(format!("{}\n{}", path.display(), first_difference(&written, &told)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn first_difference(written: &str, told: &str) -> String {
    let (mut written, mut told) = (written.lines(), told.lines());
    let mut number = 0;
    loop {
        number += 1;
        let pair = (written.next(), told.next());
        if pair.0 != pair.1 || pair == (None, None) {
            return format!("line {number}\n  written {:?}\n  told    {:?}", pair.0, pair.1);
        }
    }
}

#[test]
fn a_page_of_every_turn_of_a_story_shows_what_the_state_shows() {
    for path in stories() {
        let (_, script) = play(&fs::read_to_string(&path).unwrap());
        for turn in &script.session.turns {
            let mut page = fold_turn(turn.id, &script.entries).unwrap();
            // The page also holds the answers that the state dropped.
            page.runs.retain(|run| turn.run(run.id).is_some());
            assert_eq!(page, *turn, "{}", path.display());
        }
    }
}

#[test]
fn every_kind_of_event_happens_in_some_story() {
    let mut missing = event_kinds();
    for path in stories() {
        let (_, script) = play(&fs::read_to_string(path).unwrap());
        for entry in &script.entries {
            missing.remove(kind(&entry.event).as_str());
        }
    }
    assert_eq!(missing, BTreeSet::new(), "kinds that no story tells of");
}

/// The kinds that the stored format knows, as its own reader lists them.
pub(crate) fn event_kinds() -> BTreeSet<String> {
    let error = serde_json::from_str::<Event>(r#"{"no such kind": {}}"#).unwrap_err().to_string();
    let listed = error.split_once("expected one of ").expect("the reader lists what it knows").1;
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

macro_rules! every_rejection {
    ($($name:ident),* $(,)?) => {
        /// Every way of being rejected; a new one does not compile until it is listed here.
        fn rejections() -> Vec<Rejected> {
            let listed = |rejected| match rejected { $(Rejected::$name => rejected,)* };
            vec![$(listed(Rejected::$name)),*]
        }
    };
}

every_rejection!(
    Exists,
    EmptyMessage,
    MessageTooLong,
    TooManyAttachments,
    QueueFull,
    NotQueued,
    NoSuchTurn,
    NoSuchAnswer,
    NothingToUndo,
    NothingToPutBack,
    NothingToRetry,
    NothingToContinue,
    RunOver,
    BadTitle,
    BadTag,
    TooManyTags,
    TooManyIds,
    NoSuchId,
    LastId,
    RunsHeld,
    NotMarked,
    NotOwed,
);

#[test]
fn every_rejection_happens_in_some_story() {
    let mut missing = rejections();
    for path in stories() {
        let (_, script) = play(&fs::read_to_string(path).unwrap());
        missing.retain(|rejected| !script.rejected.contains(rejected));
    }
    assert_eq!(missing, [], "rejections that no story tells of");
}
