//! What every messaging platform must do, whichever it is: told in order and told again, nothing lost while away, every message
//! out there once where the platform says so, and the truth about those that did not go out.
//!
//! A platform's tests bring a [`PlatformWorld`], the other side of it, and call each of these functions.

use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use gateway::platform::{
    Batch, Inbound, MessageId, Outbound, OutboundFile, Place, Platform, ReceiveError, SendError, What,
};

/// Longest wait for anything to come. Only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(90);

/// The other side of a platform: a person in a chat with the account, and the server between them.
pub trait PlatformWorld {
    /// A chat of the person with the account alone, another one each time. The account is in it already.
    ///
    /// # Errors
    /// When it cannot be made.
    fn chat(&mut self) -> anyhow::Result<Place>;

    /// A chat that there is not.
    fn nowhere(&self) -> Place;

    /// The person says something.
    ///
    /// # Errors
    /// When it is not taken.
    fn say(&mut self, at: &Place, text: &str) -> anyhow::Result<MessageId>;

    /// The person changes what they said.
    ///
    /// # Errors
    /// When it is not taken.
    fn change(&mut self, at: &Place, message: &MessageId, text: &str) -> anyhow::Result<()>;

    /// The person sends a file.
    ///
    /// # Errors
    /// When it is not taken.
    fn send_file(&mut self, at: &Place, file: &OutboundFile) -> anyhow::Result<()>;

    /// What the person sees of the account now, oldest first.
    ///
    /// # Errors
    /// When it cannot be read.
    fn arrived(&mut self, at: &Place) -> anyhow::Result<Vec<Shown>>;

    /// The server goes away, in order.
    ///
    /// # Errors
    /// When it stays.
    fn stop_server(&mut self) -> anyhow::Result<()>;

    /// The server is killed.
    ///
    /// # Errors
    /// When it stays.
    fn kill_server(&mut self) -> anyhow::Result<()>;

    /// The server comes back with what it had.
    ///
    /// # Errors
    /// When it does not.
    fn start_server(&mut self) -> anyhow::Result<()>;
}

/// A message of the account as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub message: MessageId,
    pub text: String,
    pub answers: Option<MessageId>,
    /// What is in its file.
    pub file: Option<Vec<u8>>,
}

/// What is said comes in order, and again from the same cursor; from a later cursor, only what is later.
///
/// # Errors
/// When it does not.
pub async fn tells_in_order_and_again(
    platform: &dyn Platform,
    world: &mut dyn PlatformWorld,
) -> anyhow::Result<()> {
    let chat = world.chat()?;
    let begin = caught_up(platform, world, &chat).await?;
    let mut said = Vec::new();
    for text in ["one", "two", "three <b>", "four\nlines", "five 🦀"] {
        said.push((world.say(&chat, text)?, text.to_owned()));
    }
    let (told, end) = until(platform, Some(begin.clone()), &chat, "five 🦀").await?;
    ensure!(messages(&told) == said, "{told:?}");
    ensure!(told.iter().all(|event| event.place == chat && event.addressed), "{told:?}");
    ensure!(told.iter().all(|event| event.sender == told[0].sender), "{told:?}");
    let (again, _) = until(platform, Some(begin), &chat, "five 🦀").await?;
    ensure!(again == told, "{again:?} is not {told:?}");
    let six = world.say(&chat, "six")?;
    let (later, _) = until(platform, Some(end), &chat, "six").await?;
    ensure!(messages(&later) == [(six, "six".to_owned())], "{later:?}");
    Ok(())
}

/// What is said while nobody receives comes later, however much, each once and in order; also over several chats.
///
/// # Errors
/// When it does not.
pub async fn loses_nothing_while_away(
    platform: &dyn Platform,
    world: &mut dyn PlatformWorld,
    count: usize,
) -> anyhow::Result<()> {
    let chats = [world.chat()?, world.chat()?];
    let mut cursor = caught_up(platform, world, &chats[0]).await?;
    cursor = seen(platform, world, Some(cursor), &chats[1]).await?;
    let mut said = [Vec::new(), Vec::new()];
    for number in 1..=count {
        for (chat, said) in chats.iter().zip(&mut said) {
            let text = format!("message {number}");
            said.push((world.say(chat, &text)?, text));
        }
    }
    let last = format!("message {count}");
    let (told, _) = until_all(platform, Some(cursor), &chats, &last).await?;
    for (chat, said) in chats.iter().zip(&said) {
        let here: Vec<Inbound> = told.iter().filter(|event| event.place.chat == chat.chat).cloned().collect();
        ensure!(messages(&here) == *said, "of {} came {}: {:?}", said.len(), here.len(), messages(&here));
    }
    Ok(())
}

/// What was said before, between and after the server's crashes comes, each once and in order.
///
/// # Errors
/// When it does not.
pub async fn loses_nothing_when_the_server_crashes(
    platform: &dyn Platform,
    world: &mut dyn PlatformWorld,
) -> anyhow::Result<()> {
    let chat = world.chat()?;
    let cursor = caught_up(platform, world, &chat).await?;
    let mut said = vec![(world.say(&chat, "before")?, "before".to_owned())];
    world.kill_server()?;
    world.start_server()?;
    for number in 1..=30 {
        let text = format!("between {number}");
        said.push((world.say(&chat, &text)?, text));
    }
    world.stop_server()?;
    world.start_server()?;
    said.push((world.say(&chat, "after")?, "after".to_owned()));
    let (told, _) = until(platform, Some(cursor), &chat, "after").await?;
    ensure!(messages(&told) == said, "{:?}", messages(&told));
    Ok(())
}

/// A change of a message says which message it changes.
///
/// # Errors
/// When it does not.
pub async fn tells_changes(platform: &dyn Platform, world: &mut dyn PlatformWorld) -> anyhow::Result<()> {
    let chat = world.chat()?;
    let cursor = caught_up(platform, world, &chat).await?;
    let message = world.say(&chat, "a slip")?;
    world.change(&chat, &message, "no slip")?;
    world.say(&chat, "end")?;
    let (told, _) = until(platform, Some(cursor), &chat, "end").await?;
    let changed = What::Changed { message, text: "no slip".to_owned() };
    ensure!(told.len() == 3 && told[1].what == changed && told[1].place == chat, "{told:?}");
    ensure!(told[0].event != told[1].event, "a change is an event of its own");
    Ok(())
}

/// A message arrives, also as an answer; with one key it is there once, where the platform says so; a change changes it.
///
/// # Errors
/// When it does not.
pub async fn sends_and_changes(platform: &dyn Platform, world: &mut dyn PlatformWorld) -> anyhow::Result<()> {
    let chat = world.chat()?;
    let asked = world.say(&chat, "a question")?;
    let answer = Outbound { answers: Some(asked.clone()), ..Outbound::text("an **answer**") };
    let sent = platform.send(&chat, answer.clone(), "key/1".to_owned()).await?;
    if platform.abilities().idempotent {
        let again = platform.send(&chat, answer, "key/1".to_owned()).await?;
        ensure!(again == sent, "one key is one message: {again:?}, {sent:?}");
    }
    let other = platform.send(&chat, Outbound::text("another"), "key/2".to_owned()).await?;
    ensure!(other != sent, "two keys are two messages");
    let arrived = world.arrived(&chat)?;
    ensure!(arrived.len() == 2, "{arrived:?}");
    ensure!(arrived[0].message == sent && arrived[0].answers == Some(asked), "{arrived:?}");
    ensure!(arrived[0].text.contains("answer") && arrived[1].text == "another", "{arrived:?}");
    if platform.abilities().edits {
        // With the key of the message itself: what a key names is one thing sent, or one change.
        for key in ["key/2", "key/2", "key/3"] {
            platform.edit(&chat, other.clone(), format!("changed by {key}"), key.to_owned()).await?;
        }
        let arrived = world.arrived(&chat)?;
        ensure!(arrived.len() == 2 && arrived[1].text == "changed by key/3", "{arrived:?}");
    }
    platform.typing(&chat).await;
    Ok(())
}

/// Files come and go whole, and no more of one is fetched than was asked for.
///
/// # Errors
/// When they do not.
pub async fn passes_files(platform: &dyn Platform, world: &mut dyn PlatformWorld) -> anyhow::Result<()> {
    let chat = world.chat()?;
    let cursor = caught_up(platform, world, &chat).await?;
    let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    let file = OutboundFile {
        name: "table.bin".to_owned(),
        media_type: "application/octet-stream".to_owned(),
        bytes: Bytes::from(bytes.clone()),
    };
    world.send_file(&chat, &file)?;
    world.say(&chat, "end")?;
    let (told, _) = until(platform, Some(cursor), &chat, "end").await?;
    let What::Said { files, .. } = &told[0].what else { anyhow::bail!("{told:?}") };
    ensure!(files.len() == 1 && files[0].name == file.name, "{files:?}");
    ensure!(platform.fetch(&files[0], bytes.len()).await? == bytes, "a file comes as it went");
    let short = platform.fetch(&files[0], bytes.len() - 1).await;
    ensure!(short == Err(SendError::TooLong), "{short:?}");
    let message = Outbound { files: vec![file], ..Outbound::text("with a file") };
    let key = "file".to_owned();
    platform.send(&chat, message.clone(), key.clone()).await?;
    if platform.abilities().idempotent {
        platform.send(&chat, message, key).await?;
    }
    let arrived = world.arrived(&chat)?;
    let files: Vec<&Vec<u8>> = arrived.iter().filter_map(|shown| shown.file.as_ref()).collect();
    ensure!(files == [&bytes], "{} files", files.len());
    ensure!(arrived.iter().any(|shown| shown.text == "with a file"), "{arrived:?}");
    Ok(())
}

/// What can never go out says so: a text that is far too long, a chat that there is not.
///
/// # Errors
/// When it says something else.
pub async fn refuses_for_good(platform: &dyn Platform, world: &mut dyn PlatformWorld) -> anyhow::Result<()> {
    let chat = world.chat()?;
    let longest = "x".repeat(platform.abilities().text_max);
    platform.send(&chat, Outbound::text(longest), "longest".to_owned()).await.context("the longest text")?;
    let long = Outbound::text("x".repeat(200_000));
    let refused = platform.send(&chat, long, "long".to_owned()).await;
    ensure!(refused == Err(SendError::TooLong), "{refused:?}");
    let refused = platform.send(&world.nowhere(), Outbound::text("hello"), "lost".to_owned()).await;
    ensure!(matches!(refused, Err(SendError::Refused { .. })), "{refused:?}");
    ensure!(world.arrived(&chat)?.len() == 1, "nothing else arrived");
    Ok(())
}

/// While the server is away, nothing is known to have gone out; afterwards all goes on where it was.
///
/// # Errors
/// When it does not.
pub async fn outlives_an_absence_of_the_server(
    platform: &dyn Platform,
    world: &mut dyn PlatformWorld,
) -> anyhow::Result<()> {
    let chat = world.chat()?;
    let cursor = caught_up(platform, world, &chat).await?;
    world.say(&chat, "before")?;
    world.stop_server()?;
    let message = Outbound::text("meanwhile");
    let sent = platform.send(&chat, message.clone(), "meanwhile".to_owned()).await;
    ensure!(matches!(sent, Err(SendError::NotSent { .. } | SendError::Doubtful { .. })), "{sent:?}");
    let received = platform.receive(Some(cursor.clone())).await;
    ensure!(matches!(received, Err(ReceiveError::Away { .. })), "{received:?}");
    let asked = platform.who_am_i().await;
    ensure!(matches!(asked, Err(ReceiveError::Away { .. })), "{asked:?}");
    world.start_server()?;
    platform.send(&chat, message, "meanwhile".to_owned()).await?;
    ensure!(world.arrived(&chat)?.len() == 1, "it is there once");
    world.say(&chat, "after")?;
    let (told, _) = until(platform, Some(cursor), &chat, "after").await?;
    let texts: Vec<String> = messages(&told).into_iter().map(|(_, text)| text).collect();
    ensure!(texts == ["before", "after"], "{texts:?}");
    Ok(())
}

/// What was said, by message.
pub fn messages(told: &[Inbound]) -> Vec<(MessageId, String)> {
    let said = told.iter().filter_map(|event| match &event.what {
        What::Said { message, text, .. } => Some((message.clone(), text.clone())),
        What::Changed { .. } | What::Invited => None,
    });
    said.collect()
}

/// A cursor behind all that was said so far.
///
/// # Errors
/// When what is said now does not come.
pub async fn caught_up(
    platform: &dyn Platform,
    world: &mut dyn PlatformWorld,
    at: &Place,
) -> anyhow::Result<String> {
    seen(platform, world, None, at).await
}

async fn seen(
    platform: &dyn Platform,
    world: &mut dyn PlatformWorld,
    cursor: Option<String>,
    at: &Place,
) -> anyhow::Result<String> {
    world.say(at, "caught up")?;
    let (_, cursor) = until(platform, cursor, at, "caught up").await?;
    Ok(cursor)
}

/// All that happens in a chat after a cursor, up to where a text is said; and the cursor there.
///
/// # Errors
/// When it is not told.
pub async fn until(
    platform: &dyn Platform,
    cursor: Option<String>,
    at: &Place,
    last: &str,
) -> anyhow::Result<(Vec<Inbound>, String)> {
    let (mut told, cursor) = until_all(platform, cursor, std::slice::from_ref(at), last).await?;
    told.retain(|event| event.place.chat == at.chat);
    Ok((told, cursor))
}

/// All that happens after a cursor, up to where a text is said in every one of some chats; and the cursor there.
async fn until_all(
    platform: &dyn Platform,
    cursor: Option<String>,
    chats: &[Place],
    last: &str,
) -> anyhow::Result<(Vec<Inbound>, String)> {
    let mut cursor = cursor;
    let mut told: Vec<Inbound> = Vec::new();
    let receiving = async {
        while !chats.iter().all(|chat| is_said(&told, chat, last)) {
            let batch = next(platform, cursor.clone()).await?;
            told.extend(batch.events);
            cursor = batch.cursor.or(cursor.take());
        }
        anyhow::Ok(())
    };
    let over = tokio::time::timeout(PATIENCE, receiving).await;
    over.map_err(anyhow::Error::from)
        .flatten()
        .with_context(|| format!("{last} is not told after {told:?}"))?;
    Ok((told, cursor.context("who was told something has a cursor")?))
}

fn is_said(told: &[Inbound], at: &Place, last: &str) -> bool {
    let here = told.iter().filter(|event| event.place.chat == at.chat);
    here.into_iter().any(|event| matches!(&event.what, What::Said { text, .. } if text == last))
}

/// What is new. A server that came back has forgotten its connections, so that the first requests may find them closed.
async fn next(platform: &dyn Platform, cursor: Option<String>) -> anyhow::Result<Batch> {
    let mut away = 0;
    loop {
        match platform.receive(cursor.clone()).await {
            Err(ReceiveError::Away { .. }) if away < 3 => away += 1,
            received => return Ok(received?),
        }
    }
}
