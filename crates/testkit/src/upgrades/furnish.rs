//! Rows of `people.db` that only a messaging platform or a provider of identities causes. `scripts/golden-store` adds them
//! to the stopped directory of a golden store, because neither can be run there.

use std::path::Path;

use anyhow::{Context, ensure};
use hub::{Clock, SystemClock};
use session::{SessionId, Time};
use store::directory::{DataDirectory, LogsAt};
use store::people::{By, GatewayTaken, People, Role};
use uuid::Uuid;

/// The year 2100. Pairings expire after an hour and taken events after two weeks, but a golden store lasts for years.
pub(super) const LATER: Time = Time(4_102_444_800_000_000);

/// Adds the rows. `session` is a session of the directory.
///
/// # Errors
/// Returns an error if the directory is in use or a row cannot be added.
pub fn furnish(directory: &Path, logs: LogsAt, session: Uuid) -> anyhow::Result<()> {
    let directory = DataDirectory::enter(directory, logs)?;
    let people = People::open(&directory, SystemClock.now())?;
    let by = |now: Time| By { user: None, now, id: SystemClock.id() };
    let (bob, _) = people.by_name("bob")?.context("there is no bob")?;

    // A provider's user whose name is taken gets another one.
    for (provider, subject) in [("house", "248289761001"), ("club", "248289761001")] {
        people.link_identity(by(SystemClock.now()), provider, subject, "Ada Lövelace", Role::Member)?;
    }

    let (approved, waiting) = ([1; 32], [2; 32]);
    for (platform, stranger, code) in
        [("telegram", ("4711", "Grace"), approved), ("matrix", ("@mary:example.org", "Mary 🔭"), waiting)]
    {
        ensure!(people.ask_to_pair(LATER, platform, stranger, code)?, "{stranger:?} cannot ask");
    }
    people.approve_pairing(by(LATER), approved, bob.id)?.context("nobody has the code")?;

    for (platform, cursor) in [("telegram", "815"), ("matrix", "s72594_4483_1934")] {
        people.keep_gateway_cursor(platform, cursor)?;
    }
    let done = GatewayTaken { session: Some(SessionId(session)), about: Some(2), done: true };
    people.keep_gateway_taken(LATER, "telegram", "814", done)?;
    people.keep_gateway_taken(LATER, "matrix", "$event", GatewayTaken::default())?;
    people.choose_gateway_model("main:telegram:direct:4711", Some("trial"))?;
    Ok(people.close()?)
}
