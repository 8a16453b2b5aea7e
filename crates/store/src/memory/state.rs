//! What the reference store holds, and what each operation means for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use session::{
    BlobHash, ChatKey, Entry, Epoch, Event, Link, MessageKey, NodeId, RunEnd, RunId, Seq, SessionId, SlotNo,
    Time, TurnId, UserId,
};

use crate::binding::{Binding, Bound, ChatRow};
use crate::catalog::{
    Counts, Document, DocumentKind, Hit, ListQuery, ListRow, SearchQuery, Shelf, TagCount, Trashed,
    TurnIndex, TurnRow, document, newest,
};
use crate::claim::HEARTBEAT_MICROS_MAX;
use crate::error::{AppendError, ClaimError, OpenError, ReadError};
use crate::{Append, Claim, Claiming, KeyUse, OpenRun, Opened, PAGE_BYTES, Snapshot, words};

#[derive(Debug, Default)]
pub(super) struct State {
    /// In the order in which they were made; an erased one stays, empty.
    logs: Vec<Log>,
    /// Every id that ever led to a session: `None` once it was deleted.
    ids: BTreeMap<SessionId, Option<usize>>,
    pub(super) nodes: BTreeMap<NodeId, Time>,
    /// Chats by their stored keys.
    pub(super) chats: BTreeMap<String, Binding>,
    pub(super) blobs: BTreeMap<BlobHash, Vec<u8>>,
    /// Uploads that no message names yet.
    pub(super) pending_blobs: BTreeMap<BlobHash, Time>,
}

#[derive(Debug)]
struct Log {
    /// The id under which it was made.
    key: SessionId,
    holder: Option<NodeId>,
    epoch: Epoch,
    /// A branch's first entries are those of its origin, up to and including this one.
    base: Seq,
    entries: Vec<Arc<Entry>>,
    snapshot: Option<Snapshot>,
    erased: bool,
}

impl State {
    pub(super) fn claim(
        &mut self,
        session: SessionId,
        node: NodeId,
        claiming: Claiming,
        now: Time,
    ) -> Result<Claim, ClaimError> {
        let at = match (self.ids.get(&session), claiming) {
            (Some(None), _) => return Err(ClaimError::Deleted(session)),
            (None, Claiming::Existing) => return Err(ClaimError::Unknown(session)),
            (Some(Some(at)), Claiming::Existing) => *at,
            // A session whose first entry never came is as good as new.
            (Some(Some(at)), Claiming::New | Claiming::Branch { .. }) => {
                match self.logs[*at].own().is_empty() {
                    true => *at,
                    false => return Err(ClaimError::Exists(session)),
                }
            }
            (None, Claiming::New) => self.make(session, Vec::new()),
            (None, Claiming::Branch { from, at }) => {
                let shared =
                    self.find(from).and_then(|origin| origin.entries.get(..usize::try_from(at.0).ok()?));
                let shared = shared.ok_or(ClaimError::Unknown(from))?.to_vec();
                self.make(session, shared)
            }
        };
        let log = &mut self.logs[at];
        if let Some(holder) = log.holder.filter(|holder| *holder != node)
            && self.nodes.get(&holder).is_some_and(|seen| now.micros_since(*seen) <= HEARTBEAT_MICROS_MAX)
        {
            return Err(ClaimError::Held { node: holder });
        }
        log.holder = Some(node);
        log.epoch = Epoch(log.epoch.0 + 1);
        Ok(Claim { session: log.key, node, epoch: log.epoch })
    }

    fn make(&mut self, key: SessionId, shared: Vec<Arc<Entry>>) -> usize {
        let end = shared.last().map_or(Link::START, |entry| entry.link());
        self.logs.push(Log {
            key,
            holder: None,
            epoch: end.epoch,
            base: end.seq,
            entries: shared,
            snapshot: None,
            erased: false,
        });
        self.ids.insert(key, Some(self.logs.len() - 1));
        self.logs.len() - 1
    }

    pub(super) fn heartbeat(&mut self, node: NodeId, now: Time) {
        self.nodes.insert(node, now);
    }

    pub(super) fn append(&mut self, append: &Append) -> Result<(), AppendError> {
        let session = append.claim.session;
        let at = self.made(session).ok_or(AppendError::Deleted(session))?;
        let log = &self.logs[at];
        if log.epoch != append.claim.epoch && !fault::planted("no_fence") {
            return Err(AppendError::Fenced { current: log.epoch });
        }
        if log.end() != append.last {
            return Err(AppendError::Conflict { head: log.end().seq });
        }
        self.check_names(log, &append.entries)?;
        self.check_blobs(&append.entries)?;
        for entry in &append.entries {
            let log = &mut self.logs[at];
            assert_eq!(entry.seq, log.end().seq.next(), "a writer numbers its entries without gap");
            log.entries.push(entry.clone());
            match entry.event {
                Event::IdAdded { id } => drop(self.ids.insert(id, Some(at))),
                Event::IdRemoved { id } => drop(self.ids.insert(id, None)),
                _ => {}
            }
            for attachment in entry.event.message().map_or(&[][..], |message| &message.attachments) {
                self.pending_blobs.remove(&attachment.blob);
            }
        }
        Ok(())
    }

    fn check_blobs(&self, entries: &[Arc<Entry>]) -> Result<(), AppendError> {
        let messages = entries.iter().filter_map(|entry| entry.event.message());
        let mut named = messages.flat_map(|message| &message.attachments).map(|attachment| &attachment.blob);
        let missing = named.find(|blob| !self.blobs.contains_key(*blob));
        match missing.filter(|_| !fault::planted("message_names_lost_file")) {
            Some(blob) => Err(AppendError::BlobMissing(blob.clone())),
            None => Ok(()),
        }
    }

    fn check_names(&self, log: &Log, entries: &[Arc<Entry>]) -> Result<(), AppendError> {
        let mut keys = BTreeMap::new();
        let mut ids = BTreeSet::new();
        for entry in entries {
            if let Some((key, _)) = entry.event.key().filter(|_| !fault::planted("no_key")) {
                let used = log.key(key).map(|used| used.seq).or(keys.insert(key, entry.seq));
                used.map_or(Ok(()), |seq| Err(AppendError::KeyUsed { seq }))?;
            }
            if let Event::IdAdded { id } = entry.event
                && (self.ids.contains_key(&id) || !ids.insert(id))
            {
                return Err(AppendError::IdTaken(id));
            }
        }
        Ok(())
    }

    pub(super) fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Entry>, ReadError> {
        let log = self.find(session).ok_or(ReadError::Unknown(session))?;
        let head = log.end().seq;
        if after > head {
            return Err(ReadError::BeyondEnd { after, head });
        }
        let mut bytes = 0;
        let entries = log.entries.iter().filter(|entry| entry.seq > after).take(limit).take_while(|entry| {
            let before = bytes;
            bytes += entry.body.len();
            before < PAGE_BYTES
        });
        Ok(entries.map(|entry| Entry::clone(entry)).collect())
    }

    pub(super) fn open(&self, session: SessionId) -> Result<Opened, OpenError> {
        let at = self.ids.get(&session).copied().ok_or(OpenError::Unknown(session))?;
        let log = &self.logs[at.ok_or(OpenError::Deleted(session))?];
        // Claimed, but its first entry never came: there is no such session for anyone.
        if log.own().is_empty() {
            return Err(OpenError::Unknown(session));
        }
        Ok(Opened { session: log.key, end: log.end(), snapshot: log.snapshot.clone() })
    }

    pub(super) fn find_key(&self, session: SessionId, key: &MessageKey) -> Option<KeyUse> {
        self.find(session)?.key(key).filter(|_| !fault::planted("no_key"))
    }

    pub(super) fn save_snapshot(&mut self, session: SessionId, snapshot: Snapshot) {
        let Some(at) = self.made(session) else { return };
        let log = &mut self.logs[at];
        if log.snapshot.as_ref().is_none_or(|known| known.at.seq < snapshot.at.seq) {
            log.snapshot = Some(snapshot);
        }
    }

    pub(super) fn open_runs(&self) -> Vec<OpenRun> {
        self.logs.iter().flat_map(Log::open_runs).collect()
    }

    pub(super) fn waiting(&self) -> Vec<SessionId> {
        let waits = |log: &&Log| {
            let mut state = session::Session::default();
            log.entries.iter().for_each(|entry| session::fold(&mut state, entry));
            !state.queue.is_empty()
        };
        self.logs.iter().filter(|log| !log.own().is_empty()).filter(waits).map(|log| log.key).collect()
    }

    pub(super) fn interrupted(&self, since: Time) -> Vec<SessionId> {
        let rows = self.logs.iter().filter(|log| !log.own().is_empty()).map(Log::list_row);
        let wanted = |row: &ListRow| {
            row.needs == Some(session::Need::Interrupted) && row.active_at >= since && !row.trashed
        };
        let mut rows: Vec<ListRow> = rows.filter(wanted).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.active_at));
        rows.into_iter().map(|row| row.session).collect()
    }

    pub(super) fn undelivered(&self) -> Vec<SessionId> {
        let rows = self.logs.iter().filter(|log| !log.own().is_empty()).map(Log::list_row);
        rows.filter(|row| row.undelivered > 0).map(|row| row.session).collect()
    }

    pub(super) fn owing(&self) -> Vec<SessionId> {
        let rows = self.logs.iter().filter(|log| !log.own().is_empty()).map(Log::list_row);
        rows.filter(|row| row.owed > 0).map(|row| row.session).collect()
    }

    pub(super) fn bind(&mut self, chat: &ChatKey, known: Option<Binding>, binding: Binding) -> Bound {
        let current = self.chats.get(&chat.to_text()).copied();
        if current != known && !fault::planted("bind_without_looking") {
            return Bound::Changed(current);
        }
        self.chats.insert(chat.to_text(), binding);
        Bound::Yes
    }

    pub(super) fn chats_of(&self, session: SessionId) -> Vec<(ChatKey, Binding)> {
        let at = self.led(session);
        let is_of = |binding: &Binding| {
            binding.session == session || (at.is_some() && self.led(binding.session) == at)
        };
        let chats = self.chats.iter().filter(|(_, binding)| is_of(binding));
        chats.filter_map(|(chat, binding)| Some((ChatKey::from_text(chat)?, *binding))).collect()
    }

    fn led(&self, id: SessionId) -> Option<usize> {
        self.ids.get(&id).copied().flatten()
    }

    pub(super) fn chat_rows(&self) -> Vec<ChatRow> {
        let row = |(key, binding): (&String, &Binding)| {
            let row = self.led(binding.session).map(|at| self.logs[at].list_row());
            Some(ChatRow {
                chat: ChatKey::from_text(key)?,
                binding: *binding,
                active_at: row.as_ref().map_or(Time(0), |row| row.active_at),
                interrupted: row.as_ref().map_or(0, |row| row.interrupted),
                resume_pending: row.is_some_and(|row| row.resume_pending),
            })
        };
        self.chats.iter().filter_map(row).collect()
    }

    pub(super) fn erase(&mut self, claim: Claim) -> Result<(), AppendError> {
        let at = self.made(claim.session).ok_or(AppendError::Deleted(claim.session))?;
        let log = &mut self.logs[at];
        if log.epoch != claim.epoch {
            return Err(AppendError::Fenced { current: log.epoch });
        }
        let blobs = log.blobs();
        log.entries.clear();
        log.snapshot = None;
        log.erased = true;
        self.ids.values_mut().filter(|led| **led == Some(at)).for_each(|led| *led = None);
        self.remove_unused(blobs);
        Ok(())
    }

    fn remove_unused(&mut self, mut blobs: BTreeSet<BlobHash>) {
        for log in &self.logs {
            blobs = &blobs - &log.blobs();
        }
        blobs.retain(|blob| !self.pending_blobs.contains_key(blob));
        self.blobs.retain(|blob, _| !blobs.contains(blob));
    }

    pub(super) fn expire_uploads(&mut self, before: Time) -> u64 {
        let expired = self.pending_blobs.extract_if(.., |_, at| *at < before);
        let expired: BTreeSet<BlobHash> = expired.map(|(blob, _)| blob).collect();
        let count = expired.len() as u64;
        self.remove_unused(expired);
        count
    }

    pub(super) fn list(&self, query: &ListQuery) -> Vec<ListRow> {
        let place = |time: Time, session: SessionId| (time, self.made(session).unwrap_or(usize::MAX));
        // A session of somebody else is as unknown as one that never was.
        let own = |session: SessionId| {
            self.made(session).filter(|at| self.logs[*at].list_row().user == query.user).unwrap_or(usize::MAX)
        };
        let before = query.before.map(|(time, session)| (time, own(session)));
        let mut rows: Vec<_> = (self.logs.iter().filter(|log| !log.own().is_empty()).map(Log::list_row))
            .filter(|row| row.user == query.user && row.shelf() == query.shelf)
            .filter(|row| query.project.is_none() || row.project == query.project)
            .filter(|row| query.tag.as_ref().is_none_or(|tag| row.tags.contains(tag)))
            .filter(|row| query.doing.is_none_or(|doing| row.is(doing)))
            .map(|row| (place(row.active_at, row.session), row))
            .filter(|(place, _)| before.is_none_or(|before| *place < before))
            .collect();
        rows.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
        rows.into_iter().take(query.count).map(|(_, row)| row).collect()
    }

    fn rows(&self) -> impl Iterator<Item = ListRow> {
        self.logs.iter().filter(|log| !log.own().is_empty()).map(Log::list_row)
    }

    pub(super) fn tags(&self, user: UserId, count: usize) -> Vec<TagCount> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for row in self.rows().filter(|row| row.user == user && row.shelf() != Shelf::Trash) {
            for tag in row.tags {
                *counts.entry(tag).or_default() += 1;
            }
        }
        let mut counts: Vec<_> =
            counts.into_iter().map(|(tag, sessions)| TagCount { tag, sessions }).collect();
        counts.sort_by_key(|count| std::cmp::Reverse(count.sessions));
        counts.truncate(count);
        counts
    }

    pub(super) fn trashed(
        &self,
        until: Time,
        after: Option<(Time, SessionId)>,
        count: usize,
    ) -> Vec<Trashed> {
        let found =
            |row: ListRow| Some(Trashed { session: row.session, user: row.user, since: row.trashed_at? });
        let mut trashed: Vec<_> = (self.rows().filter_map(found))
            .filter(|one| one.since <= until && after.is_none_or(|after| (one.since, one.session) > after))
            .collect();
        trashed.sort_by_key(|one| (one.since, one.session));
        trashed.truncate(count);
        trashed
    }

    pub(super) fn turns(&self, session: SessionId, before: Option<TurnId>, count: usize) -> Vec<TurnRow> {
        let mut index = TurnIndex::default();
        self.find(session).iter().flat_map(|log| &log.entries).for_each(|entry| index.apply(entry));
        index.page(before, count)
    }

    pub(super) fn belongs(&self, session: SessionId, user: UserId) -> bool {
        let at = self.ids.get(&session).copied().flatten();
        let log = at.map(|at| &self.logs[at]).filter(|log| !log.own().is_empty());
        log.is_some_and(|log| log.list_row().user == user)
    }

    pub(super) fn row(&self, session: SessionId) -> Option<ListRow> {
        let at = self.ids.get(&session).copied().flatten()?;
        Some(&self.logs[at]).filter(|log| !log.own().is_empty()).map(Log::list_row)
    }

    pub(super) fn counts(&self, user: UserId) -> Counts {
        let mut counts = Counts::default();
        for row in self.rows().filter(|row| row.user == user) {
            counts.add(&row);
        }
        counts
    }

    pub(super) fn search(&self, query: &SearchQuery) -> Vec<Hit> {
        let phrases = words::phrases(&query.words);
        if phrases.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for log in self.logs.iter().filter(|log| !log.own().is_empty() && query.reaches(&log.list_row())) {
            for Document { turn, kind, seq, time, text } in log.documents() {
                let words = words::words(&text);
                let hit = Hit { session: log.key, turn, kind, time, seq };
                if query.wants(kind)
                    && query.before.is_none_or(|before| hit.cursor() < before)
                    && phrases.iter().all(|phrase| phrase.is_in(&words))
                {
                    found.push(hit);
                }
            }
        }
        newest(found, query.count)
    }

    /// A log by the id under which it was made, also when that no longer leads to it.
    fn made(&self, key: SessionId) -> Option<usize> {
        self.logs.iter().position(|log| log.key == key && !log.erased)
    }

    /// A log by any id that leads to it.
    fn find(&self, session: SessionId) -> Option<&Log> {
        let at = self.made(session).or_else(|| self.ids.get(&session).copied().flatten());
        at.map(|at| &self.logs[at])
    }
}

impl Log {
    fn end(&self) -> Link {
        self.entries.last().map_or(Link::START, |entry| entry.link())
    }

    /// Entries that are not shared with an origin.
    fn own(&self) -> &[Arc<Entry>] {
        self.entries.get(usize::try_from(self.base.0).unwrap_or(usize::MAX)..).unwrap_or_default()
    }

    fn key(&self, key: &MessageKey) -> Option<KeyUse> {
        self.own().iter().find_map(|entry| {
            let (_, fingerprint) = entry.event.key().filter(|(used, _)| *used == key)?;
            Some(KeyUse { seq: entry.seq, fingerprint })
        })
    }

    fn open_runs(&self) -> impl Iterator<Item = OpenRun> {
        let mut open: BTreeMap<RunId, Option<SlotNo>> = BTreeMap::new();
        for entry in self.own() {
            match &entry.event {
                Event::RunStarted { spool, .. } => drop(open.insert(RunId(entry.seq.0), *spool)),
                Event::RunEnded { end: RunEnd::Interrupted { recovering: true, .. }, .. } => {}
                Event::RunEnded { run, .. } | Event::RecoverySettled { run, .. } => drop(open.remove(run)),
                _ => {}
            }
        }
        let session = self.key;
        open.into_iter().map(move |(run, spool)| OpenRun { session, run, spool })
    }

    fn list_row(&self) -> ListRow {
        let mut row = ListRow::new(self.key);
        for entry in &self.entries {
            row.apply(entry);
        }
        row
    }

    /// The texts that a reader sees, each with the time when it was first complete.
    fn documents(&self) -> Vec<Document> {
        let mut documents: Vec<Document> = Vec::new();
        let mut turns = TurnIndex::default();
        let entries = || self.entries.iter().map(Arc::as_ref);
        for entry in entries() {
            turns.apply(entry);
            let through = || entries().take_while(|other| other.seq <= entry.seq);
            let Some(found) = document(entry, |run| session::run_text(run, through())) else { continue };
            let same = |known: &&mut Document| known.turn == found.turn && known.kind == found.kind;
            match documents.iter_mut().find(same) {
                Some(known) => *known = Document { time: known.time, ..found },
                None => documents.push(found),
            }
        }
        documents.retain(|document| document.kind == DocumentKind::Title || turns.shows(document.turn));
        documents
    }

    fn blobs(&self) -> BTreeSet<BlobHash> {
        let messages = self.entries.iter().filter_map(|entry| entry.event.message());
        messages.flat_map(|message| &message.attachments).map(|attachment| attachment.blob.clone()).collect()
    }
}
