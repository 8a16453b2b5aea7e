//! What the contract's tests share: the transcript as lines, messages with attachments, and hands on the real spool
//! and database files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hub::{SessionHandle, Spool};
use rusqlite::Connection;
use session::{
    CallProgress, Command, Entry, Event, Marker, MarkerKind, Message, MessageKey, Part, PostMode, RunId,
    Session, SlotNo, TurnView, UserId, View,
};
use store::{ListQuery, ListRow, Shelf};
use testkit::{World, attached};

/// A message with an attachment.
pub(crate) fn message(text: &str) -> Message {
    let attachments = vec![attached::attachment(&format!("{text}.txt"))];
    Message { attachments, ..Message::text(text) }
}

/// A command that posts a message with an attachment.
pub(crate) fn post(text: &str, mode: PostMode) -> Command {
    Command::PostMessage { message: message(text), mode, key: None }
}

/// A command that posts under an idempotency key.
pub(crate) fn post_once(text: &str, key: &str) -> Command {
    let key = Some(MessageKey(key.to_owned()));
    Command::PostMessage { message: message(text), mode: PostMode::Queue, key }
}

/// The same session in the process that lives now.
pub(crate) fn reopened(world: &World, session: &SessionHandle) -> SessionHandle {
    world.hub().open(session.session())
}

/// Crashes, starts on a freshly opened store, and opens the session again.
pub(crate) fn cold(world: &mut World, session: &SessionHandle) -> SessionHandle {
    world.restart();
    reopened(world, session)
}

/// The transcript and the queue, one line a thing.
pub(crate) fn lines(view: &View) -> Vec<String> {
    let mut lines: Vec<String> = view.turns.iter().flat_map(turn_lines).collect();
    lines.extend(view.queue.iter().map(|queued| format!("queued {}", said(&queued.message))));
    if view.run.is_some() {
        lines.push("running".to_owned());
    }
    lines
}

fn turn_lines(turn: &TurnView) -> Vec<String> {
    let mut lines = vec![format!("user {}", said(&turn.message))];
    lines.extend(turn.answer.iter().flat_map(|answer| &answer.parts).map(part_line));
    let cuts = turn.answer.iter().flat_map(|answer| &answer.interruptions);
    lines.extend(cuts.map(|cut| format!("at {}.{} {}", cut.part, cut.offset, marker_line(&cut.marker))));
    lines.extend(turn.marker.as_ref().map(marker_line));
    lines
}

fn said(message: &Message) -> String {
    let names: Vec<&str> = message.attachments.iter().map(|attachment| attachment.name.as_str()).collect();
    if names.is_empty() { message.text.clone() } else { format!("{} +{}", message.text, names.join(" +")) }
}

fn part_line(part: &Part) -> String {
    match part {
        Part::Text(text) => format!("text {text}"),
        Part::Reasoning(text) => format!("reasoning {text}"),
        Part::Call { call, tool, arguments, state, result } => {
            let state = match state {
                CallProgress::Incomplete => "incomplete",
                CallProgress::Running => "running",
                CallProgress::MayHaveRun => "may have run",
                CallProgress::Finished => "finished",
                CallProgress::Failed => "failed",
            };
            let result = result.as_ref().map_or(String::new(), |result| format!(" {result}"));
            format!("call {call} {tool} {arguments} {state}{result}")
        }
        Part::Steered { message, .. } => format!("steered {}", said(message)),
    }
}

fn marker_line(marker: &Marker) -> String {
    let kind = match marker.kind {
        MarkerKind::Stopped => "stopped",
        MarkerKind::Failed => "failed",
        MarkerKind::Interrupted => "interrupted",
        MarkerKind::Recovering => "recovering",
        MarkerKind::Recovered => "recovered",
        MarkerKind::OutputLimit => "output limit",
        MarkerKind::Other => "other",
    };
    match (marker.attempts, marker.first_seen) {
        (None, None) => format!("marker {kind}"),
        (attempts, seen) => format!("marker {kind} attempts {attempts:?} seen {}", seen.is_some()),
    }
}

/// The newest turn's marker.
pub(crate) fn marker(view: &View) -> &Marker {
    view.turns.last().and_then(|turn| turn.marker.as_ref()).expect("the newest turn has a marker")
}

/// Whether the newest turn carries this marker.
pub(crate) fn is_marked(view: &View, kind: MarkerKind) -> bool {
    view.turns.last().and_then(|turn| turn.marker.as_ref()).is_some_and(|marker| marker.kind == kind)
}

/// The newest run of a log and the slot that it names.
pub(crate) fn newest_run(log: &[Entry]) -> (RunId, SlotNo) {
    let started = log.iter().rev().find_map(|entry| match entry.event {
        Event::RunStarted { spool, .. } => Some((RunId(entry.seq.0), spool.expect("the run has a slot"))),
        _ => None,
    });
    started.expect("a run was started")
}

/// The states after each entry; the first is that of the empty log.
pub(crate) fn states(log: &[Entry]) -> Vec<Session> {
    let mut state = Session::default();
    let mut states = vec![state.clone()];
    for entry in log {
        session::fold(&mut state, entry);
        states.push(state.clone());
    }
    states
}

/// The file of a slot.
pub(crate) fn slot_file(world: &World, slot: SlotNo) -> PathBuf {
    hub::SlotDirectory(world.spool()).path(slot.no())
}

/// A slot's file, out of reach until it is put back.
pub(crate) struct Hidden {
    file: PathBuf,
    away: PathBuf,
}

impl Hidden {
    /// Moves the file away.
    pub(crate) fn hide(world: &World, slot: SlotNo) -> Self {
        let hidden = Self { file: slot_file(world, slot), away: world.path().join("away") };
        fs::rename(&hidden.file, &hidden.away).expect("move the slot away");
        hidden
    }

    /// Where the file should be.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Puts it back, whatever stands in its place.
    pub(crate) fn put_back(self) {
        if self.file.is_dir() {
            fs::remove_dir(&self.file).expect("remove the stand-in");
        }
        fs::rename(&self.away, &self.file).expect("put the slot back");
    }
}

/// The spool files as another process sees them; no slot is made.
pub(crate) fn spool(world: &World) -> Spool {
    let spool = Spool::new(Arc::new(hub::SlotDirectory(world.spool())));
    spool.find_slots(0).expect("read the spool");
    spool
}

/// Someone else's eyes on the database: another connection to the file, or another client of the server.
pub(crate) struct Outside(Eyes);

/// What is asked of either kind of store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sql<'a> {
    pub(crate) sqlite: &'a str,
    pub(crate) postgres: &'a str,
}

impl<'a> Sql<'a> {
    /// The same words for both.
    pub(crate) fn both(sql: &'a str) -> Self {
        Self { sqlite: sql, postgres: sql }
    }
}

enum Eyes {
    Sqlite(Connection),
    Postgres(store::postgres::Settings),
}

impl Outside {
    pub(crate) fn of(world: &World) -> Self {
        match world.postgres() {
            Some(settings) => Self(Eyes::Postgres(settings.clone())),
            None => {
                let path = world.path().join("everturn.db");
                Self(Eyes::Sqlite(Connection::open(path).expect("open the database")))
            }
        }
    }

    /// The first row of an answer, its columns as text; an empty one is null.
    pub(crate) fn ask(&self, sql: Sql<'_>) -> Vec<String> {
        match &self.0 {
            Eyes::Sqlite(connection) => {
                let text = |value: rusqlite::types::Value| match value {
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    _ => String::new(),
                };
                let mut select = connection.prepare(sql.sqlite).expect("ask the database");
                let count = select.column_count();
                let row = |row: &rusqlite::Row<'_>| (0..count).map(|at| Ok(text(row.get(at)?))).collect();
                select.query_row([], row).expect("the database answers")
            }
            Eyes::Postgres(settings) => {
                let told = psql(settings, sql.postgres);
                told.lines().next().unwrap_or_default().split('\u{1f}').map(str::to_owned).collect()
            }
        }
    }

    /// Changes the database behind the server's back.
    pub(crate) fn change(&self, sql: Sql<'_>) {
        match &self.0 {
            Eyes::Sqlite(connection) => connection.execute_batch(sql.sqlite).expect("change the database"),
            Eyes::Postgres(settings) => drop(psql(settings, sql.postgres)),
        }
    }
}

fn psql(settings: &store::postgres::Settings, sql: &str) -> String {
    let sql = format!("SET search_path = {}; {sql}", settings.schema);
    let told = std::process::Command::new("psql")
        .args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-F",
            "\u{1f}",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            &settings.url,
            "-c",
            &sql,
        ])
        .output()
        .expect("run psql");
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    String::from_utf8_lossy(&told.stdout).into_owned()
}

/// The list as people see it.
pub(crate) fn list(world: &World) -> Vec<ListRow> {
    let query = ListQuery { count: 100, ..ListQuery::of(UserId::FIRST, Shelf::Active) };
    let store: std::sync::Arc<dyn store::Store> = world.store();
    world.run(store.list(query)).expect("list the sessions")
}

/// The list's only row.
pub(crate) fn row(world: &World) -> ListRow {
    let mut rows = list(world);
    assert_eq!(rows.len(), 1, "one session is listed");
    rows.remove(0)
}

/// Reads the session until it is not recovering any more: a look that finds nothing yet leaves no entry to wait for.
pub(crate) fn until_settled(world: &World, session: &SessionHandle) -> View {
    world.run(async {
        loop {
            let view = session.view().await.expect("view a session");
            if !is_marked(&view, MarkerKind::Recovering) {
                return view;
            }
        }
    })
}

/// How many entries of a log are of a kind.
pub(crate) fn count(log: &[Entry], kind: impl Fn(&Event) -> bool) -> usize {
    log.iter().filter(|entry| kind(&entry.event)).count()
}
