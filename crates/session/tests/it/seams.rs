//! Golden cases of joined texts, which the pages hold to as well.

use serde::Deserialize;
use session::{Stage, join};

#[derive(Deserialize)]
struct Case {
    name: String,
    previous: String,
    text: String,
    stage: String,
    joined: String,
}

fn cases() -> Vec<Case> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/seams.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn c14_texts_are_joined_as_the_golden_cases_say() {
    for case in cases() {
        let stage = match case.stage.as_str() {
            "unfinished" => Stage::Unfinished,
            "completed" => Stage::Completed,
            other => panic!("{other} is no stage"),
        };
        let mut joined = case.previous.clone();
        join(&mut joined, &case.text, stage);
        assert_eq!(joined, case.joined, "{}", case.name);
    }
}

/// What is shown while a continuation arrives never shrinks, and ends as the whole is joined.
#[test]
fn c14_text_that_arrives_is_never_taken_back() {
    for case in cases().iter().filter(|case| case.stage == "completed") {
        let mut shown = case.previous.clone();
        for (at, _) in case.text.char_indices() {
            let mut joined = case.previous.clone();
            join(&mut joined, &case.text[..at], Stage::Unfinished);
            assert!(joined.starts_with(&shown), "{} at {at}: {shown:?} became {joined:?}", case.name);
            shown = joined;
        }
        assert!(case.joined.starts_with(&shown), "{}: {shown:?} became {:?}", case.name, case.joined);
    }
}
