//! Messaging on real processes: a simulated Telegram beside a server that is stopped, killed and started again.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

use gateway::platform::webhook::sign;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use testkit::telegram::{Fault, Person, Sent, Simulator, SimulatorSettings};

use crate::stage::Stage;

/// A server with a simulated Telegram on which Anna is let in.
struct Door {
    stage: Stage,
    telegram: Simulator,
    anna: Person,
}

impl Door {
    fn new() -> Self {
        let telegram = Simulator::start(SimulatorSettings::default()).unwrap();
        let anna = Person::new(7, "Anna");
        let mut stage = Stage::new();
        stage.setup.more = format!(
            "[[platforms]]\nname = \"telegram\"\nkind = \"telegram\"\nurl = {:?}\ntoken_env = \"TOKEN\"\nallow = [\"7\"]\n",
            telegram.api()
        );
        stage.setup.configure().unwrap();
        let mut door = Self { stage, telegram, anna };
        door.kill();
        door.start();
        door
    }

    fn kill(&mut self) {
        drop(self.stage.server.take());
    }

    fn start(&mut self) {
        let token = self.telegram.token();
        self.stage.server = Some(self.stage.setup.serve_with(&[("TOKEN", &token)]).unwrap());
    }

    /// Asks the server to stop and says how it ended.
    fn signal(&mut self, signal: Signal) -> i32 {
        let mut server = self.stage.server.take().unwrap();
        kill(Pid::from_raw(i32::try_from(server.0.id()).unwrap()), signal).unwrap();
        server.0.wait().unwrap().code().unwrap()
    }

    fn say(&self, text: &str) {
        self.telegram.say(&self.anna, text);
    }

    /// Waits until what the bot sent is so, and gives it.
    fn sent_when(&self, so: impl Fn(&[Sent]) -> bool) -> Vec<Sent> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let waiting = async {
            tokio::time::timeout(std::time::Duration::from_secs(25), self.telegram.sent_when(&so)).await
        };
        let told = || {
            format!(
                "{:?}",
                self.telegram.sent().iter().map(|sent| sent.shown().to_owned()).collect::<Vec<_>>()
            )
        };
        runtime.block_on(waiting).unwrap_or_else(|_| panic!("never so: {}", told()))
    }

    fn gateway(&self) -> Value {
        self.stage.must("GET", "/gateway", &json!({}))
    }

    /// Waits until nothing is owed any more.
    fn settled(&self) {
        testkit::trial::until(|| self.gateway()["undelivered"] == 0);
    }
}

/// Whether some message shows a text.
fn shows(text: &str) -> impl Fn(&[Sent]) -> bool + '_ {
    move |sent| sent.iter().any(|sent| sent.shown().contains(text))
}

/// The code that a stranger was told.
fn code_in(sent: &Sent) -> String {
    sent.shown().split("gateway approve ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned()
}

fn count(sent: &[Sent], text: &str) -> usize {
    sent.iter().filter(|sent| sent.shown().contains(text)).count()
}

/// Signals the server during a run: its chat is told once, with `word`, and the server exits with `code`.
fn peers_are_told(signal: Signal, word: &str, code: i32) {
    let mut door = Door::new();
    door.say("say 1000 of heron pace 50");
    door.sent_when(shows("heron"));
    assert_eq!(door.signal(signal), code);
    let sent = door.telegram.sent();
    let notices: Vec<&Sent> = sent.iter().filter(|sent| sent.shown().contains(word)).collect();
    assert_eq!(notices.len(), 1, "{sent:?}");
    assert!(notices[0].shown().contains("I'll resume your task"), "{}", notices[0].shown());
}

#[test]
fn g29_peers_with_a_running_turn_are_told_of_a_shutdown_and_that_it_resumes() {
    peers_are_told(Signal::SIGTERM, "shutting down", 0);
}

#[test]
fn g29_peers_with_a_running_turn_are_told_of_a_restart_and_that_it_resumes() {
    peers_are_told(Signal::SIGHUP, "restarting", 75);
}

#[test]
fn g29_peers_without_a_running_turn_are_told_nothing() {
    let mut door = Door::new();
    door.say("say 2 of heron");
    door.sent_when(shows("heron.2"));
    door.settled();
    assert_eq!(door.signal(Signal::SIGTERM), 0);
    assert_eq!(door.telegram.sent().len(), 1);
}

#[test]
fn g32_a_reply_that_was_not_delivered_at_the_stop_is_delivered_once_after_the_restart() {
    let mut door = Door::new();
    // It is refused for longer than the server waits.
    door.telegram.fail_next("sendMessage", Fault::Flood(30));
    door.say("say 2 of heron");
    testkit::trial::until(|| door.telegram.refused_count() > 0 || door.telegram.calls("sendMessage") > 0);
    assert_eq!(door.signal(Signal::SIGTERM), 0);
    assert_eq!(count(&door.telegram.sent(), "heron"), 0);
    door.start();
    let sent = door.sent_when(shows("heron.2"));
    door.settled();
    assert_eq!(count(&sent, "heron"), 1);
    assert!(
        !sent.iter().any(|sent| sent.shown().starts_with('↻')),
        "it surely was not sent before: {sent:?}"
    );
    door.kill();
    door.start();
    door.say("say 2 of stork");
    let sent = door.sent_when(shows("stork.2"));
    assert_eq!((count(&sent, "heron"), count(&sent, "stork")), (1, 1), "{sent:?}");
}

#[test]
fn g32_a_reply_in_doubt_is_sent_again_with_its_mark() {
    let mut door = Door::new();
    door.telegram.fail_next("sendMessage", Fault::CutAfter);
    door.say("say 2 of heron");
    let sent = door.sent_when(|sent| sent.len() == 2 && sent[1].shown().contains("heron.2"));
    door.settled();
    assert!(sent[1].shown().starts_with('↻'), "{sent:?}");
    door.kill();
    door.start();
    door.say("/status");
    let sent = door.sent_when(shows("Nothing is running"));
    assert_eq!(count(&sent, "heron"), 2, "{sent:?}");
}

#[test]
fn what_is_said_while_the_server_is_down_is_answered_after_it_in_order() {
    let mut door = Door::new();
    door.say("say 2 of one");
    door.sent_when(shows("one.2"));
    door.settled();
    door.kill();
    for word in ["two", "three"] {
        door.say(&format!("say 2 of {word}"));
    }
    door.start();
    let sent = door.sent_when(shows("three.2"));
    let shown: Vec<String> = sent.iter().map(|sent| sent.shown().to_owned()).collect();
    assert_eq!(shown, ["one.1 one.2", "two.1 two.2", "three.1 three.2"].map(str::to_owned), "{shown:?}");
}

#[test]
fn a_stranger_is_told_a_code_and_nothing_else_until_an_owner_approves() {
    let door = Door::new();
    let ben = Person::new(8, "Ben");
    for text in ["say 2 of heron", "/status", "/new", "/stop", "/undo", "/retry", "/model", "/help", "hello"]
    {
        door.telegram.say(&ben, text);
    }
    // Answered in order, so that whatever Ben was told is there before this.
    door.say("say 2 of stork");
    let sent = door.sent_when(shows("stork.2"));
    let to_ben: Vec<&Sent> = sent.iter().filter(|sent| sent.chat == 8).collect();
    assert_eq!(to_ben.len(), 1, "one code in ten minutes: {to_ben:?}");
    assert_eq!(count(&sent, "heron"), 0);
    let code = code_in(to_ben[0]);
    assert_eq!(code.len(), 8);
    assert_eq!(door.gateway()["strangers"][0]["name"], "Ben");
    assert_eq!(door.stage.ask("POST", "/gateway/approve", &json!({ "code": "ABCDEFGH" })).status, 404);
    door.stage.must("POST", "/gateway/approve", &json!({ "code": code.to_lowercase() }));
    assert_eq!(
        door.stage.ask("POST", "/gateway/approve", &json!({ "code": code })).status,
        404,
        "it is used once"
    );
    door.telegram.say(&ben, "say 2 of crane");
    door.sent_when(shows("crane.2"));
}

#[test]
fn who_guesses_codes_has_to_wait() {
    let door = Door::new();
    let statuses: Vec<u16> = (0..8)
        .map(|_| door.stage.ask("POST", "/gateway/approve", &json!({ "code": "ABCDEFGH" })).status)
        .collect();
    assert!(statuses.starts_with(&[404; 5]) && statuses.ends_with(&[429]), "{statuses:?}");
}

#[test]
fn who_is_removed_while_an_answer_is_written_gets_nothing_more() {
    let door = Door::new();
    let ben = Person::new(8, "Ben");
    door.telegram.say(&ben, "hello");
    let sent = door.sent_when(shows("approve "));
    let code = code_in(&sent[0]);
    door.stage.must("POST", "/gateway/approve", &json!({ "code": code }));
    door.telegram.say(&ben, "say 400 of crane pace 20");
    door.sent_when(shows("crane.1"));
    door.stage.must("POST", "/gateway/remove", &json!({ "platform": "telegram", "peer": "8" }));
    door.settled();
    let shown =
        |door: &Door| door.telegram.sent().iter().map(|sent| sent.shown().to_owned()).collect::<Vec<_>>();
    let before = shown(&door);
    assert!(!before.iter().any(|text| text.contains("crane.400")));
    door.telegram.say(&ben, "/status");
    door.say("say 2 of stork");
    door.sent_when(shows("stork.2"));
    let after: Vec<String> = shown(&door).into_iter().filter(|text| !text.contains("stork")).collect();
    // A new code is all that he may be told.
    let told: Vec<&String> = after.iter().filter(|text| !before.contains(text)).collect();
    assert!(told.iter().all(|text| text.contains("approve ")), "{told:?}");
}

#[test]
fn a_platform_that_has_nothing_to_tell_is_told_to_be_there_at_once() {
    let door = Door::new();
    let begun = testkit::trial::now();
    testkit::trial::until(|| door.gateway()["platforms"][0]["state"] == "receiving");
    // The first wait for something new is far from over.
    let took = testkit::trial::now() - begun;
    assert!(took < std::time::Duration::from_secs(15), "{took:?}");
}

#[test]
fn commands_do_what_they_say() {
    let door = Door::new();
    door.say("/status");
    door.sent_when(shows("This chat has no session yet"));
    door.say("say 500 of heron pace 20");
    door.sent_when(shows("heron.1"));
    door.say("say 2 of later");
    door.say("/stop");
    door.sent_when(shows("Stopped. The answer so far is saved. 1 message is queued"));
    door.say("/queue resume");
    door.sent_when(shows("Sending 1 message."));
    door.sent_when(shows("later.2"));
    door.say("/undo");
    door.sent_when(shows("was undone"));
    door.say("/retry");
    door.sent_when(shows("Another answer is on its way"));
    door.say("/stop");
    door.say("/new");
    door.sent_when(shows("Your next message starts a new session"));
    door.say("say 2 of fresh");
    door.sent_when(shows("fresh.2"));
    let sessions = door.stage.must("GET", "/sessions", &json!({}));
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 2);
    door.say("/model trial");
    door.sent_when(shows("trial now answers in this chat"));
    door.say("/model nobody");
    door.sent_when(shows("Unknown model nobody"));
    door.say("/frobnicate");
    door.sent_when(shows("Unknown command /frobnicate"));
    door.say("/help");
    door.sent_when(shows("/steer TEXT"));
}

#[test]
fn a_chat_is_suspended_bound_resumed_and_cleared() {
    let door = Door::new();
    door.say("say 2 of heron");
    door.sent_when(shows("heron.2"));
    door.settled();
    let of = |name: &str| door.stage.must("GET", "/chats", &json!({}))["chats"][0][name].clone();
    let (chat, first) = (of("chat"), of("session"));
    let change = |what: &str| door.stage.must("POST", &format!("/chats/{what}"), &json!({ "chat": chat }));

    assert_eq!(change("suspend")["suspended"], true);
    door.say("say 2 of egret");
    door.sent_when(shows("egret.2"));
    door.settled();
    assert_ne!(of("session"), first, "a suspended chat begins a new session");

    let bound = door.stage.must("POST", "/chats/bind", &json!({ "chat": chat, "session": first }));
    assert_eq!((&bound["session"], &bound["suspended"]), (&first, &json!(false)));
    door.say("say 2 of crane");
    door.sent_when(shows("crane.2"));
    door.settled();
    assert_eq!(door.stage.view(first.as_str().unwrap())["turns"].as_array().unwrap().len(), 2);

    change("suspend");
    let resumed = change("resume");
    assert_eq!((&resumed["session"], &resumed["suspended"]), (&first, &json!(false)));
    assert_eq!(resumed["resume"]["reason"], "operator", "the model gets a note");
    assert!(change("clear")["resume"].is_null());
    let again = door.stage.ask("POST", "/chats/clear", &json!({ "chat": chat }));
    assert_eq!((again.status, &again.body["code"]), (404, &json!("no_such_thing")));
}

#[test]
fn a_chat_belongs_to_the_user_of_its_session() {
    let door = Door::new();
    door.say("say 2 of heron");
    door.sent_when(shows("heron.2"));
    let chats = door.stage.must("GET", "/chats", &json!({}));
    let (chat, session) = (&chats["chats"][0]["chat"], &chats["chats"][0]["session"]);
    let (_, other) = crate::people::user(&door.stage, "bob", "write");
    assert_eq!(other.must("GET", "/chats", &json!({})).unwrap(), json!({ "chats": [] }));
    let own = other.create().unwrap();
    for (what, body) in [
        ("suspend", json!({ "chat": chat })),
        ("resume", json!({ "chat": chat })),
        ("clear", json!({ "chat": chat })),
        ("bind", json!({ "chat": chat, "session": own })),
        ("suspend", json!({ "chat": "nonsense" })),
    ] {
        assert_eq!(other.ask("POST", &format!("/chats/{what}"), &body).unwrap().status, 404, "{what}");
    }
    let stolen = json!({ "chat": chat, "session": own });
    assert_eq!(door.stage.ask("POST", "/chats/bind", &stolen).status, 404, "not into another's session");
    assert_eq!(door.stage.must("GET", "/chats", &json!({}))["chats"][0]["session"], *session);
}

#[test]
fn a_running_answer_is_followed_steered_and_gone_on_with() {
    let door = Door::new();
    door.say("say 300 of crane pace 20");
    door.sent_when(shows("crane.1"));
    door.say("/stop");
    door.sent_when(shows("Stopped. The answer so far is saved."));
    door.say("/continue");
    door.sent_when(shows("Continuing."));
    door.sent_when(shows("crane.300"));
    door.say("/continue");
    door.sent_when(shows("There is nothing to continue."));
    door.say("say 500 of heron pace 20");
    door.sent_when(shows("heron.1"));
    door.say("/queue say 2 of behind");
    door.say("/steer say 2 of within");
    let session = door.stage.must("GET", "/sessions", &json!({}))["sessions"][0]["session"].clone();
    let waiting = || {
        let view = door.stage.view(session.as_str().unwrap());
        let queue = view["queue"].as_array().unwrap().clone();
        queue.into_iter().map(|waiting| (waiting["mode"].clone(), waiting["message"]["text"].clone()))
    };
    testkit::trial::until(|| waiting().count() == 2);
    let waiting: Vec<(Value, Value)> = waiting().collect();
    assert!(waiting.contains(&("queue".into(), "say 2 of behind".into())), "{waiting:?}");
    assert!(waiting.contains(&("steer".into(), "say 2 of within".into())), "{waiting:?}");
    door.say("/stop");
    door.sent_when(shows("2 messages are queued"));
    door.say("/queue resume");
    // What was to go into the answer that was stopped goes into the next one, which answers both.
    door.sent_when(shows("within.2"));
}

#[test]
fn what_is_changed_where_no_session_is_holds_nothing_up() {
    let door = Door::new();
    let first = door.telegram.say(&door.anna, "say 2 of heron");
    door.sent_when(shows("heron.2"));
    door.say("/new");
    door.sent_when(shows("Your next message starts a new session"));
    door.telegram.change(door.anna.id, first, "say 3 of heron");
    door.say("say 2 of stork");
    door.sent_when(shows("stork.2"));
    // Nor where there is none any more.
    let listed = door.stage.must("GET", "/sessions", &json!({}));
    let newest = listed["sessions"][0]["session"].as_str().unwrap();
    door.settled();
    door.stage.must("PATCH", &format!("/sessions/{newest}"), &json!({ "trashed": true }));
    door.stage.must("DELETE", &format!("/sessions/{newest}"), &json!({}));
    door.telegram.change(door.anna.id, first, "say 4 of heron");
    door.say("/status");
    door.say("say 2 of crane");
    door.sent_when(shows("crane.2"));
}

#[test]
fn an_answer_that_came_as_a_file_and_goes_on_comes_with_the_rest() {
    let door = Door::new();
    door.say("say 4000 of heron pace 1");
    door.sent_when(|sent| sent.len() >= 5);
    door.say("/stop");
    let has_file = |sent: &[Sent]| sent.iter().any(|sent| sent.file.is_some());
    door.sent_when(has_file);
    door.settled();
    door.say("/continue");
    let is_last = |sent: &Sent| {
        let file = sent.file.as_ref().map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
        file.is_some_and(|file| file.ends_with("heron.4000")) || sent.shown().contains("heron.4000")
    };
    door.sent_when(|sent| sent.iter().any(is_last));
}

#[test]
fn a_long_answer_comes_in_several_messages_and_stays_whole() {
    let door = Door::new();
    door.say("say 1200 of heron");
    let sent = door.sent_when(shows("heron.1200"));
    assert!(sent.len() >= 3, "{}", sent.len());
    let words: Vec<String> =
        sent.iter().flat_map(|sent| sent.shown().split_whitespace().map(str::to_owned)).collect();
    let expected: Vec<String> = (1..=1_200).map(|number| format!("heron.{number}")).collect();
    door.settled();
    let whole: Vec<String> = door
        .telegram
        .sent()
        .iter()
        .flat_map(|sent| sent.shown().split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    assert_eq!(whole, expected, "{words:?}");
}

#[test]
fn an_answer_that_would_be_a_flood_ends_with_a_file_that_holds_all_of_it() {
    let mut door = Door::new();
    door.say("say 4000 of heron");
    let has_file = |sent: &[Sent]| sent.iter().any(|sent| sent.file.is_some());
    door.sent_when(has_file);
    door.settled();
    // Whoever comes next knows that it was brought.
    door.kill();
    door.start();
    door.say("say 2 of stork");
    let sent = door.sent_when(shows("stork.2"));
    let files: Vec<_> = sent.iter().filter_map(|sent| sent.file.as_ref()).collect();
    assert_eq!((files.len(), sent.len()), (1, 7), "five messages, the file, and the other answer: {sent:?}");
    let whole: Vec<String> = (1..=4_000).map(|number| format!("heron.{number}")).collect();
    assert_eq!(files[0].name, "answer.md");
    assert_eq!(std::str::from_utf8(&files[0].bytes).unwrap(), whole.join(" "));
}

#[test]
fn who_reads_by_a_link_learns_nothing_of_who_wrote_from_where() {
    let door = Door::new();
    door.say("say 2 of heron");
    door.sent_when(shows("heron.2"));
    let listed = door.stage.must("GET", "/sessions", &json!({}));
    let session = listed["sessions"][0]["session"].as_str().unwrap();
    assert!(door.stage.view(session).to_string().contains("Anna"), "its owner does");
    let share = door.stage.must("POST", &format!("/sessions/{session}/shares"), &json!({}));
    let path = format!("/shared/{}", share["secret"].as_str().unwrap());
    let shared = door.stage.must("GET", &path, &json!({})).to_string();
    assert!(shared.contains("heron.2"), "{shared}");
    for told in ["Anna", "telegram", "peer"] {
        assert!(!shared.contains(told), "{told} in {shared}");
    }
}

/// Somebody who posts to a webhook and is posted to.
struct Poster {
    stage: Stage,
    posted: mpsc::Receiver<Value>,
}

const SECRET: &str = "a secret of the webhook";

impl Poster {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, posted) = mpsc::channel();
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                drop(tell.send(taken(socket.unwrap())));
            }
        });
        let mut stage = Stage::new();
        stage.setup.more = format!(
            "[[platforms]]\nname = \"ops\"\nkind = \"webhook\"\nurl = {url:?}\ntoken_env = \"TOKEN\"\nallow = [\"7\"]\n"
        );
        stage.setup.configure().unwrap();
        drop(stage.server.take());
        stage.server = Some(stage.setup.serve_with(&[("TOKEN", SECRET)]).unwrap());
        Self { stage, posted }
    }

    fn post(&self, event: &str, secret: &str) -> u16 {
        self.say(event, secret, "say 2 of heron")
    }

    /// Waits until a text was posted.
    fn told(&self, text: &str) -> Value {
        let mut posted = std::iter::from_fn(|| {
            Some(self.posted.recv_timeout(std::time::Duration::from_secs(25)).unwrap())
        });
        posted.find(|posted| posted["text"].as_str().unwrap().contains(text)).unwrap()
    }

    fn say(&self, event: &str, secret: &str, text: &str) -> u16 {
        let body = json!({ "event": event, "chat": { "id": "c" }, "sender": { "id": "7", "name": "Anna" },
            "text": text });
        let signature = sign(
            &secret.into(),
            hub::Clock::now(&hub::SystemClock).0 / 1_000_000,
            body.to_string().as_bytes(),
        );
        let headers = format!("everturn-signature: {signature}\r\n");
        self.stage.client.exchange("POST", "/hooks/ops", &headers, &body).unwrap().0
    }
}

/// Reads one post and answers it well.
fn taken(mut socket: TcpStream) -> Value {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(told) = line.to_lowercase().strip_prefix("content-length:") {
            length = told.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn what_is_posted_to_a_webhook_is_taken_once_if_it_is_signed() {
    let poster = Poster::new();
    assert_eq!(poster.post("e1", "another secret"), 401);
    // Twice, as whoever did not hear the answer does.
    assert_eq!((poster.post("e1", SECRET), poster.post("e1", SECRET)), (200, 200));
    let answer = poster.posted.recv_timeout(std::time::Duration::from_secs(25)).unwrap();
    assert_eq!(answer["text"], "heron.1 heron.2");
    let listed = poster.stage.must("GET", "/sessions", &json!({}));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    let view = poster.stage.view(listed["sessions"][0]["session"].as_str().unwrap());
    assert_eq!(view["turns"].as_array().unwrap().len(), 1);
    assert_eq!(poster.stage.ask("POST", "/hooks/nobody", &json!({})).status, 401);
}

#[test]
fn what_goes_on_is_posted_where_nothing_can_be_changed() {
    let poster = Poster::new();
    poster.say("e1", SECRET, "say 200 of heron pace 20");
    testkit::trial::until(|| {
        let listed = poster.stage.must("GET", "/sessions", &json!({}));
        let session = listed["sessions"][0]["session"].as_str();
        session.is_some_and(|session| poster.stage.view(session).to_string().contains("heron.9"))
    });
    poster.say("e2", SECRET, "/stop");
    let first = poster.told("Everything above is saved.")["text"].as_str().unwrap().to_owned();
    poster.say("e3", SECRET, "/continue");
    let rest = poster.told("heron.200")["text"].as_str().unwrap().to_owned();
    assert!(first.starts_with("heron.1 ") && !rest.contains("heron.1 "), "{first} {rest}");
}
