//! Files in both directions.

use bytes::Bytes;
use gateway::platform::{InboundFile, Outbound, OutboundFile, Platform, SendError, What};
use testkit::telegram::{Saying, Shown};

use crate::kit::*;

const PICTURE: &[u8] = b"\x89PNG and so on";

fn file(name: &str, media_type: &str, bytes: &'static [u8]) -> OutboundFile {
    OutboundFile {
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        bytes: Bytes::from_static(bytes),
    }
}

async fn received_files(bot: &gateway::platform::telegram::Telegram) -> Vec<InboundFile> {
    let told = receive(bot, None).await;
    told.events
        .into_iter()
        .flat_map(|event| match event.what {
            What::Said { files, .. } => files,
            What::Changed { .. } | What::Invited => Vec::new(),
        })
        .collect()
}

#[tokio::test]
async fn photos_and_documents_can_be_fetched_up_to_a_size() {
    let simulator = simulator();
    let bot = bot(&simulator);
    let document = Shown::Document {
        name: "Rezept für Suppe.pdf".to_owned(),
        media_type: "application/pdf".to_owned(),
        bytes: Bytes::from_static(b"%PDF soup"),
    };
    for shown in [Shown::Photo(Bytes::from_static(PICTURE)), document] {
        simulator.say(&anna(), Saying { file: Some(shown), ..Saying::from("look") });
    }
    let files = received_files(&bot).await;
    let named: Vec<_> = files.iter().map(|file| (file.name.as_str(), file.media_type.as_str())).collect();
    assert_eq!(named, [("photo.jpg", "image/jpeg"), ("Rezept für Suppe.pdf", "application/pdf")]);
    assert_eq!(bot.fetch(&files[0], 1_000).await.unwrap(), PICTURE);
    assert_eq!(bot.fetch(&files[1], 9).await.unwrap(), &b"%PDF soup"[..]);
    assert_eq!(bot.fetch(&files[1], 8).await.unwrap_err(), SendError::TooLong);
    // Also when nobody said before how long it is.
    let untold = InboundFile { size_bytes: None, ..files[1].clone() };
    assert_eq!(bot.fetch(&untold, 8).await.unwrap_err(), SendError::TooLong);
    let gone = InboundFile { reference: "gone".to_owned(), ..files[1].clone() };
    assert!(matches!(bot.fetch(&gone, 100).await, Err(SendError::Refused { .. })));
}

#[tokio::test]
async fn one_file_and_its_text_are_one_message() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    let to = direct(&anna());
    for one in [file("bild.png", "image/png", PICTURE), file("für \"Anna\".txt", "text/plain", b"text")] {
        let message = Outbound { files: vec![one], ..Outbound::text("1 < 2") };
        bot.send(&to, message, "key".to_owned()).await.unwrap();
    }
    let sent = simulator.sent();
    let files: Vec<_> = sent.iter().map(|sent| sent.file.clone().unwrap()).collect();
    assert_eq!(sent.iter().map(|sent| sent.text.as_str()).collect::<Vec<_>>(), ["1 < 2", "1 < 2"]);
    assert_eq!((files[0].kind.as_str(), &files[0].bytes[..]), ("photo", PICTURE));
    assert_eq!((files[1].kind.as_str(), &files[1].bytes[..]), ("document", &b"text"[..]));
    assert!(files[1].name.starts_with("für "), "{}", files[1].name);
    assert_eq!(files[1].media_type, "text/plain");
}

#[tokio::test]
async fn what_is_no_picture_though_it_says_so_goes_as_a_file() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    let message = Outbound { files: vec![file("a.png", "image/png", b"no picture")], ..Outbound::default() };
    bot.send(&direct(&anna()), message, "key".to_owned()).await.unwrap();
    assert_eq!(simulator.sent()[0].file.as_ref().unwrap().kind, "document");
}

#[tokio::test]
async fn a_long_text_comes_before_its_files_and_what_stops_halfway_is_doubtful() {
    let simulator = simulator();
    let bot = bot(&simulator);
    simulator.say(&anna(), "hello");
    let to = direct(&anna());
    let long = "x".repeat(1_025);
    let files = vec![file("a.txt", "text/plain", b"a"), file("b.txt", "text/plain", b"b")];
    let message = Outbound { files, ..Outbound::text(long.clone()) };
    let id = bot.send(&to, message.clone(), "key".to_owned()).await.unwrap();
    let sent = simulator.sent();
    assert_eq!(sent.len(), 3);
    assert_eq!((sent[0].id.to_string(), &sent[0].text), (id.0, &long));
    simulator.fail_next("sendDocument", testkit::telegram::Fault::Flood(0));
    let error = bot.send(&to, message, "key".to_owned()).await.unwrap_err();
    assert!(matches!(error, SendError::Doubtful { .. }), "{error:?}");
}
