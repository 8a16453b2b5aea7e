//! A bot, a platform, and people to talk to.

use std::time::Duration;

use gateway::platform::telegram::{Rate, Rates, Telegram, TelegramSettings};
use gateway::platform::{Batch, Inbound, Outbound, Place, Platform, What};
use session::ChatKind;
use testkit::telegram::{Person, Simulator, SimulatorSettings};

pub(crate) fn simulator() -> Simulator {
    Simulator::start(SimulatorSettings::default()).unwrap()
}

/// Rates that nobody feels.
pub(crate) fn hurried() -> Rates {
    let rate = Rate { most: 1_000_000, per: Duration::from_millis(1) };
    Rates {
        overall: rate,
        one_place: rate,
        one_group: rate,
        edit_every: Duration::ZERO,
        edit_every_in_groups: Duration::ZERO,
    }
}

pub(crate) fn bot_at(api: &str, token: &str, rates: Rates) -> Telegram {
    // A second one in the same process is refused, and as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    Telegram::new(TelegramSettings {
        name: "home".to_owned(),
        api: api.to_owned(),
        token: token.into(),
        rates,
    })
    .unwrap()
}

pub(crate) fn bot(simulator: &Simulator) -> Telegram {
    bot_at(&simulator.api(), &simulator.token(), hurried())
}

pub(crate) fn anna() -> Person {
    Person::new(11, "Anna")
}

pub(crate) fn ben() -> Person {
    Person::new(12, "Ben")
}

pub(crate) fn direct(person: &Person) -> Place {
    Place { kind: ChatKind::Direct, chat: person.id.to_string(), thread: None }
}

pub(crate) fn in_group(chat: i64) -> Place {
    Place { kind: ChatKind::Group, chat: chat.to_string(), thread: None }
}

pub(crate) fn said(event: &Inbound) -> &str {
    match &event.what {
        What::Said { text, .. } | What::Changed { text, .. } => text,
        What::Invited => "",
    }
}

pub(crate) fn texts(batch: &Batch) -> Vec<&str> {
    batch.events.iter().map(said).collect()
}

/// What a new bot would be told, with everything of the platform's that it has.
pub(crate) async fn receive(bot: &Telegram, cursor: Option<&str>) -> Batch {
    bot.receive(cursor.map(str::to_owned)).await.unwrap()
}

pub(crate) async fn send(bot: &Telegram, to: &Place, text: &str) -> i64 {
    let id = bot.send(to, Outbound::text(text), "key".to_owned()).await.unwrap();
    id.0.parse().unwrap()
}
