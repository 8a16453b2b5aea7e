//! Matrix against a real Synapse. One homeserver a test: starting it is most of what a test takes, so that each does much.

mod rooms;

use anyhow::Context;
use gateway::platform::matrix::{Matrix, MatrixSettings, login};
use gateway::platform::{MessageId, Outbound, OutboundFile, Place, Platform, ReceiveError, SendError};
use session::ChatKind;
use testkit::platform_suite::{self as suite, PlatformWorld, Shown};
use testkit::swallow::Swallow;
use testkit::synapse::{MatrixPerson, Rates, Synapse};

/// A homeserver, a person, and the account that the platform is.
struct MatrixWorld {
    synapse: Synapse,
    person: MatrixPerson,
    account: MatrixPerson,
}

impl MatrixWorld {
    fn start(rates: Rates) -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let synapse = Synapse::start(rates).unwrap();
        let (person, account) = (synapse.person("alice").unwrap(), synapse.person("everturn").unwrap());
        Self { synapse, person, account }
    }

    fn platform(&self) -> Matrix {
        self.platform_at(self.synapse.url())
    }

    fn platform_at(&self, homeserver: String) -> Matrix {
        let access_token = self.account.token.clone().into();
        Matrix::new(MatrixSettings { name: "home".to_owned(), homeserver, access_token }).unwrap()
    }
}

fn direct(room: &str) -> Place {
    Place { kind: ChatKind::Direct, chat: room.to_owned(), thread: None }
}

impl PlatformWorld for MatrixWorld {
    fn chat(&mut self) -> anyhow::Result<Place> {
        let room = self.person.room_with(&self.account)?;
        self.account.join(&room)?;
        Ok(direct(&room))
    }

    fn nowhere(&self) -> Place {
        direct("!nowhere:localhost")
    }

    fn say(&mut self, at: &Place, text: &str) -> anyhow::Result<MessageId> {
        self.person.say(&at.chat, text).map(MessageId)
    }

    fn change(&mut self, at: &Place, message: &MessageId, text: &str) -> anyhow::Result<()> {
        self.person.change(&at.chat, &message.0, text).map(drop)
    }

    fn send_file(&mut self, at: &Place, file: &OutboundFile) -> anyhow::Result<()> {
        self.person.send_file(&at.chat, &file.name, &file.media_type, &file.bytes).map(drop)
    }

    fn arrived(&mut self, at: &Place) -> anyhow::Result<Vec<Shown>> {
        let arrived = self.person.arrived(&at.chat, &self.account.id)?;
        let shown = arrived.into_iter().map(|message| {
            let file = message.file.map(|address| self.person.fetch(&address)).transpose()?;
            let (text, answers) = (message.text, message.answers.map(MessageId));
            Ok(Shown { message: MessageId(message.message), text, answers, file })
        });
        shown.collect()
    }

    fn stop_server(&mut self) -> anyhow::Result<()> {
        self.synapse.stop()
    }

    fn kill_server(&mut self) -> anyhow::Result<()> {
        self.synapse.kill()
    }

    fn start_server(&mut self) -> anyhow::Result<()> {
        self.synapse.restart()
    }
}

#[tokio::test]
async fn suite_receiving() -> anyhow::Result<()> {
    let mut world = MatrixWorld::start(Rates::Raised);
    let platform = world.platform();
    assert_eq!(platform.who_am_i().await.as_ref(), Ok(&world.account.id));
    suite::tells_in_order_and_again(&platform, &mut world).await.context("order")?;
    suite::tells_changes(&platform, &mut world).await.context("changes")?;
    // More than one sync tells.
    suite::loses_nothing_while_away(&platform, &mut world, 60).await.context("away")?;
    nothing_is_kept_in_the_process(&mut world).await.context("anew")
}

/// A process that starts anew before every step, and takes every step twice, is told all once: also in the middle of a gap, and
/// what is said while it reads one.
async fn nothing_is_kept_in_the_process(world: &mut MatrixWorld) -> anyhow::Result<()> {
    let chat = world.chat()?;
    let mut cursor = suite::caught_up(&world.platform(), world, &chat).await?;
    let mut expected: Vec<String> = (1..=130).map(|number| format!("message {number}")).collect();
    for text in &expected {
        world.say(&chat, text)?;
    }
    let (mut told, mut pages) = (Vec::new(), Vec::new());
    while told.len() < expected.len() {
        let batch = world.platform().receive(Some(cursor.clone())).await?;
        assert_eq!(world.platform().receive(Some(cursor)).await?, batch);
        cursor = batch.cursor.context("a step leads on")?;
        pages.push(batch.events.len());
        told.extend(suite::messages(&batch.events).into_iter().map(|(_, text)| text));
        if told.len() == 100 {
            expected.push("meanwhile".to_owned());
            world.say(&chat, "meanwhile")?;
        }
    }
    assert_eq!(told, expected);
    assert!(pages.contains(&100), "a whole page: {pages:?}");
    // The gap ends here, and the next sync begins before what was said while it was read.
    let batch = world.platform().receive(Some(cursor)).await?;
    assert_eq!(batch.events, []);
    cursor = batch.cursor.context("the gap is over")?;
    world.say(&chat, "end")?;
    let (rest, _) = suite::until(&world.platform(), Some(cursor), &chat, "end").await?;
    assert_eq!(suite::messages(&rest).into_iter().map(|(_, text)| text).collect::<Vec<_>>(), ["end"]);
    Ok(())
}

#[tokio::test]
async fn suite_sending() -> anyhow::Result<()> {
    let mut world = MatrixWorld::start(Rates::Raised);
    let platform = world.platform();
    suite::sends_and_changes(&platform, &mut world).await.context("sending")?;
    suite::refuses_for_good(&platform, &mut world).await.context("refusing")?;
    suite::passes_files(&platform, &mut world).await.context("files")?;
    lost_answers_leave_one_message(&mut world).await.context("lost answers")?;
    a_device_logged_in_anew_sends_nothing_twice(&mut world).await.context("logged in anew")
}

#[tokio::test]
async fn suite_server_away() -> anyhow::Result<()> {
    let mut world = MatrixWorld::start(Rates::Raised);
    let platform = world.platform();
    suite::outlives_an_absence_of_the_server(&platform, &mut world).await.context("absence")?;
    suite::loses_nothing_when_the_server_crashes(&platform, &mut world).await.context("crashes")
}

/// The message arrived and nobody heard of it: that is doubtful, and sending it again leaves one.
async fn lost_answers_leave_one_message(world: &mut MatrixWorld) -> anyhow::Result<()> {
    let chat = world.chat()?;
    let line = Swallow::before(world.synapse.port())?;
    let platform = world.platform_at(line.url());
    line.set_swallowing(true);
    let message = Outbound::text("once");
    let lost = platform.send(&chat, message.clone(), "once".to_owned()).await;
    assert!(matches!(lost, Err(SendError::Doubtful { .. })), "{lost:?}");
    assert_eq!(world.arrived(&chat)?.len(), 1, "only the answer was lost");
    line.set_swallowing(false);
    let sent = platform.send(&chat, message, "once".to_owned()).await?;
    let arrived = world.arrived(&chat)?;
    assert_eq!(arrived.iter().map(|shown| &shown.message).collect::<Vec<_>>(), [&sent]);
    Ok(())
}

/// A new token of the same device goes on where the old one was. A token that was logged out says so.
async fn a_device_logged_in_anew_sends_nothing_twice(world: &mut MatrixWorld) -> anyhow::Result<()> {
    let chat = world.chat()?;
    let before = world.platform();
    let sent = before.send(&chat, Outbound::text("once"), "anew".to_owned()).await?;
    let password = MatrixPerson::password("everturn").into();
    let url = world.synapse.url();
    let token = login(&url, "everturn", &password, "device-of-everturn").await?;
    let access_token = token.clone();
    let after =
        Matrix::new(MatrixSettings { name: "home".to_owned(), homeserver: url.clone(), access_token })?;
    let again = after.send(&chat, Outbound::text("once"), "anew".to_owned()).await?;
    assert_eq!(again, sent);
    world.account.log_out()?;
    let refused = before.send(&chat, Outbound::text("x"), "old".to_owned()).await;
    assert!(matches!(refused, Err(SendError::NotSent { .. })), "{refused:?}");
    let received = before.receive(None).await;
    assert!(matches!(received, Err(ReceiveError::Unauthorized { .. })), "{received:?}");
    let wrong = login(&url, "everturn", &"wrong".to_owned().into(), "device-of-everturn").await;
    assert!(matches!(wrong, Err(ReceiveError::Unauthorized { .. })));
    Ok(())
}

#[tokio::test]
async fn too_many_messages_say_when_to_go_on() -> anyhow::Result<()> {
    let mut world = MatrixWorld::start(Rates::Few);
    let chat = world.chat()?;
    let platform = world.platform();
    let mut refused = None;
    for number in 1..=5 {
        let sent = platform.send(&chat, Outbound::text("hurry"), format!("hurry {number}")).await;
        refused = refused.or(sent.err());
    }
    let Some(SendError::NotSent { retry_after: Some(pause), .. }) = refused else { panic!("{refused:?}") };
    assert!(!pause.is_zero() && pause.as_secs() <= 60, "{pause:?}");
    Ok(())
}
