//! Spool slots: preallocated files that catch a run's output while the store refuses appends.
//!
//! A slot is lent to one run at a time and named in the run's first entry, so that after a crash it is known where
//! to look. It holds the very entries that the writer would have appended, each with its place and link in the
//! chain: what the log turns out to have already is recognised and not healed twice. Slots are made and synced
//! ahead of need; a lent slot is written to only in an outage.

mod medium;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use session::{Entry, Epoch, Event, Hash, Journal, Link, RunEnd, RunId, Seq, SessionId, SlotNo, Time};
use uuid::Uuid;

pub use medium::{Access, SlotDirectory, SlotFile, SlotMedium};

/// Bytes of one slot: some minutes of a fast model. A run that fills it is interrupted.
const SLOT_BYTES: u64 = 256 * 1024;
/// Bytes kept free for the run's end.
const END_BYTES: u64 = 512;
const HEADER_BYTES: u64 = 64;
const FRAME_HEAD_BYTES: usize = 68;
const MAGIC: &[u8; 8] = b"EVSPOOL1";

/// Why output could not be spooled.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    #[error("the slot is full")]
    Full,
    #[error("the slot was sealed during recovery")]
    Sealed,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The slots of a hub.
#[derive(Debug)]
pub struct Spool {
    medium: Arc<dyn SlotMedium>,
    slots: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    /// What tells this spool from others; none is lent before it is known.
    identity: u64,
    free: BTreeSet<u16>,
    /// Slots that the log of a session names, or may name.
    reserved: BTreeMap<u16, SessionId>,
    /// Slots that no run needs any more and that could not be cleared.
    unreleased: BTreeMap<u16, SessionId>,
    made: u16,
}

/// One spooled entry: its place in the log, had the log taken it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub link: Link,
    pub event: Event,
}

/// What a slot's first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    used: bool,
    sealed: bool,
    /// Whether frames of a use that is over still stand in it.
    stained: bool,
    session: SessionId,
    run: RunId,
    /// Raised at each use, so that frames of an earlier use are not taken for this one's.
    use_no: u64,
}

impl Spool {
    /// The slots of a medium, of which none is known yet.
    pub fn new(medium: Arc<dyn SlotMedium>) -> Self {
        Self { medium, slots: Mutex::default() }
    }

    /// Finds the slots that were made before. Those that still hold output are not lent. A spool that is new calls
    /// itself `fresh`.
    ///
    /// # Errors
    /// When the medium cannot be read.
    pub fn find_slots(&self, fresh: u64) -> io::Result<()> {
        let identity = self.medium.identity(fresh & SlotNo::SPOOL_MAX)?;
        let made = self.medium.made()?;
        let free = (1..=made).filter(|no| self.make_free(*no).unwrap_or(false)).collect();
        *self.slots() = Slots { identity, free, made, ..Slots::default() };
        Ok(())
    }

    /// Whether a slot is one of this spool's. Nothing can be said of those of others.
    fn is_own(&self, slot: SlotNo) -> bool {
        slot.spool() == self.slots().identity
    }

    /// Takes the medium as it is now: one that was away at the start may be back in the place of the one begun then.
    fn take_what_is_back(&self) -> io::Result<()> {
        let known = self.slots().identity;
        if self.medium.identity(known)? == known { Ok(()) } else { self.find_slots(known) }
    }

    fn open(&self, slot: SlotNo, access: Access) -> io::Result<Box<dyn SlotFile>> {
        if !self.is_own(slot) {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("slot {slot} belongs to another node"),
            ));
        }
        self.medium.open(slot.no(), access)
    }

    /// Says whether a slot holds nothing that is wanted, and wipes what a crash left in it.
    fn make_free(&self, no: u16) -> io::Result<bool> {
        let file = self.medium.open(no, Access::Write)?;
        let Some(header) = read_header(&*file)?.filter(|header| !header.used) else { return Ok(false) };
        if header.stained {
            wipe(&*file, &header)?;
        }
        Ok(true)
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does work that may wait for a disk without keeping other tasks waiting.
    pub(crate) async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> io::Result<T> {
        if !self.medium.blocks() {
            return Ok(work(self));
        }
        let spool = self.clone();
        tokio::task::spawn_blocking(move || work(&spool)).await.map_err(io::Error::other)
    }

    /// Makes slots until `count` exist. They are lent only once they are durable.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn grow(&self, count: u16) -> io::Result<()> {
        let made = self.slots().made;
        for no in made + 1..=count {
            fault::hit("spool.preallocate")?;
            self.medium.make(no, SLOT_BYTES)?;
        }
        if made < count {
            self.medium.sync_names()?;
            let mut slots = self.slots();
            slots.free.extend(made + 1..=count);
            slots.made = slots.made.max(count);
        }
        Ok(())
    }

    /// Slots made so far, and how many are free.
    pub fn counts(&self) -> (u16, usize) {
        let slots = self.slots();
        (slots.made, slots.free.len())
    }

    /// Lends a slot to a run that may start.
    pub fn lend(&self) -> Option<SlotNo> {
        let mut slots = self.slots();
        let no = slots.free.pop_first()?;
        Some(SlotNo::new(slots.identity, no))
    }

    /// Makes a slot free again: its run did not start, or the slot was cleared.
    pub fn give_back(&self, slot: SlotNo) {
        if self.is_own(slot) {
            self.slots().free.insert(slot.no());
        }
    }

    /// Reserves a slot for a session whose log names it, or may name it. The slot is not lent, and not recreated while its
    /// file is missing.
    pub fn reserve(&self, slot: SlotNo, session: SessionId) {
        if self.is_own(slot) {
            let mut slots = self.slots();
            slots.free.remove(&slot.no());
            slots.reserved.insert(slot.no(), session);
            slots.made = slots.made.max(slot.no());
        }
    }

    /// Returns the slots reserved for a session.
    pub fn reserved_for(&self, session: SessionId) -> Vec<SlotNo> {
        let slots = self.slots();
        let own = slots.reserved.iter().filter(|(_, of)| **of == session);
        own.map(|(no, _)| SlotNo::new(slots.identity, *no)).collect()
    }

    /// Clears a slot that no run of the session needs any more, so that it can be lent again. Does nothing if the slot is
    /// reserved for another session or belongs to another spool.
    ///
    /// # Errors
    /// Returns an error if the disk refuses; the slot then stays reserved until [`Self::retry_releases`] succeeds.
    pub fn release(&self, slot: SlotNo, session: SessionId) -> io::Result<()> {
        if !self.is_own(slot) {
            return Ok(());
        }
        let released = self.try_release(slot, session);
        let mut slots = self.slots();
        match &released {
            Ok(()) => drop(slots.unreleased.remove(&slot.no())),
            Err(_) => drop(slots.unreleased.insert(slot.no(), session)),
        }
        released
    }

    /// Whether a slot could not be cleared, and waits for [`Self::retry_releases`].
    pub fn has_unreleased(&self) -> bool {
        !self.slots().unreleased.is_empty()
    }

    /// Tries again to release the slots that could not be cleared.
    ///
    /// # Errors
    /// Returns an error if the disk still refuses.
    pub fn retry_releases(&self) -> io::Result<()> {
        let (identity, unreleased) = {
            let slots = self.slots();
            (slots.identity, slots.unreleased.clone())
        };
        unreleased.into_iter().try_for_each(|(no, session)| self.release(SlotNo::new(identity, no), session))
    }

    fn try_release(&self, slot: SlotNo, session: SessionId) -> io::Result<()> {
        let reserved = self.slots().reserved.get(&slot.no()).copied();
        if reserved.is_some_and(|of| of != session) {
            return Ok(());
        }
        let header = read_header(&*self.open(slot, Access::Read)?)?;
        let holds_output = header.is_some_and(|header| header.used && header.session == session);
        if reserved.is_some() || holds_output {
            self.clear(slot)?;
            // Wipes what a clearing that failed halfway left.
            self.make_free(slot.no())?;
            let mut slots = self.slots();
            slots.reserved.remove(&slot.no());
            slots.free.insert(slot.no());
        }
        Ok(())
    }

    /// Begins to catch the output of a run.
    ///
    /// # Errors
    /// When the slot cannot be read or is in use for another run.
    pub fn begin(&self, slot: SlotNo, session: SessionId, run: RunId) -> Result<Catcher, SpoolError> {
        let file = self.open(slot, Access::Write)?;
        let before = read_header(&*file)?;
        if let Some(before) =
            before.filter(|header| header.used && (header.session, header.run) != (session, run))
        {
            let other = format!("the slot still contains run {} of {}", before.run, before.session);
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, other).into());
        }
        let use_no = before.map_or(0, |header| header.use_no) + 1;
        let header = Header { used: true, sealed: false, stained: true, session, run, use_no };
        write_header(&*file, &header)?;
        Ok(Catcher { file, header, end: HEADER_BYTES })
    }

    /// Looks for output of a run.
    pub fn look(&self, slot: Option<SlotNo>, session: SessionId, run: RunId) -> Look {
        let Some(slot) = slot else { return Look::Unused };
        if !self.is_own(slot) && self.take_what_is_back().is_err() {
            return Look::NotYet;
        }
        let Ok(file) = self.open(slot, Access::Read) else { return Look::NotYet };
        match read_header(&*file) {
            Err(_) | Ok(None) => Look::NotYet,
            Ok(Some(header)) if !header.used || (header.session, header.run) != (session, run) => {
                Look::Unused
            }
            Ok(Some(header)) => match read_frames(&*file, &header) {
                Err(_) => Look::NotYet,
                Ok(frames) => Look::Frames { sealed: header.sealed, frames },
            },
        }
    }

    /// Seals a slot: the run can never append to it again.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn seal(&self, slot: SlotNo) -> io::Result<()> {
        let file = self.open(slot, Access::Write)?;
        let Some(header) = read_header(&*file)? else { return Ok(()) };
        fault::hit("spool.before_seal")?;
        write_header(&*file, &Header { sealed: true, ..header })?;
        file.sync()?;
        fault::hit("spool.after_seal")
    }

    /// Marks a slot as unused again, durably: its output is in the log. It stays lent.
    ///
    /// # Errors
    /// When the disk refuses; the slot must not be lent again then.
    pub fn clear(&self, slot: SlotNo) -> io::Result<()> {
        if !self.is_own(slot) {
            return Ok(());
        }
        let file = self.open(slot, Access::Write)?;
        if let Some(header) = read_header(&*file)?.filter(|header| header.used) {
            fault::hit("spool.before_release")?;
            write_header(&*file, &Header { used: false, ..header })?;
            file.sync()?;
            fault::hit("spool.after_release")?;
            wipe(&*file, &header)?;
        }
        Ok(())
    }

    /// Takes back every slot that no run names any more: a crash came between the end of its run and its release.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn release_unnamed(&self, named: &BTreeMap<SlotNo, SessionId>) -> io::Result<()> {
        let Slots { identity, made, .. } = *self.slots();
        let unnamed = (1..=made).map(|no| SlotNo::new(identity, no)).filter(|slot| !named.contains_key(slot));
        for slot in unnamed {
            let header = self.open(slot, Access::Read).and_then(|file| read_header(&*file));
            if matches!(header, Ok(Some(header)) if header.used) {
                self.clear(slot)?;
                self.give_back(slot);
            }
        }
        Ok(())
    }
}

/// What was found in a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// Readable, and the run never wrote there.
    Unused,
    /// Missing, empty or out of reach.
    NotYet,
    Frames {
        sealed: bool,
        frames: Vec<Frame>,
    },
}

impl Look {
    /// What the frames mean to the session, once those that `in_log` knows are left out.
    pub(crate) fn journal(self, in_log: impl Fn(&Link) -> bool) -> Journal {
        let (sealed, frames) = match self {
            Self::Unused => return Journal::Unused,
            Self::NotYet => return Journal::NotYet,
            Self::Frames { sealed, frames } => (sealed, frames),
        };
        let had_frames = !frames.is_empty();
        let mut events = Vec::new();
        let mut end: Option<RunEnd> = None;
        for frame in
            frames.into_iter().filter(|frame| !in_log(&frame.link) || fault::planted("spool_flushed_twice"))
        {
            match frame.event {
                Event::RunEnded { end: how, .. } => end = Some(how),
                event => events.push(event),
            }
        }
        match (events.is_empty(), end.is_some(), sealed) {
            (true, false, _) if had_frames => Journal::Unused,
            (true, false, true) => Journal::SealedEmpty,
            (true, false, false) => Journal::NotYet,
            (false, _, _) | (true, true, _) => Journal::Output { events, end },
        }
    }
}

/// Catches the output of one run.
#[derive(Debug)]
pub struct Catcher {
    file: Box<dyn SlotFile>,
    header: Header,
    end: u64,
}

impl Catcher {
    /// Adds entries and syncs: they survive a power cut once this answers.
    ///
    /// # Errors
    /// When the slot is full, was sealed by the healer, or the disk refuses.
    pub fn add(&mut self, last: &Link, entries: &[&Entry]) -> Result<(), SpoolError> {
        let current = read_header(&*self.file)?;
        if current.is_none_or(|header| header.sealed || header.use_no != self.header.use_no) {
            return Err(SpoolError::Sealed);
        }
        let mut bytes = Vec::new();
        let mut prev = last.hash;
        for entry in entries {
            put_frame(&mut bytes, self.header.use_no, prev, entry);
            prev = entry.hash;
        }
        // A frame that cannot be read back would be lost silently.
        let mut rest = bytes.as_slice();
        while let Some((_, after)) = take_frame(rest, self.header.use_no) {
            rest = after;
        }
        if !rest.is_empty() {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        }
        let is_end = entries.iter().any(|entry| matches!(entry.event, Event::RunEnded { .. }));
        let room = if is_end { SLOT_BYTES } else { SLOT_BYTES - END_BYTES };
        if self.end + bytes.len() as u64 > room {
            return Err(SpoolError::Full);
        }
        fault::hit("spool.before_frame")?;
        self.file.write_at(&bytes, self.end)?;
        fault::hit("spool.before_sync")?;
        self.file.sync()?;
        fault::hit("spool.after_sync")?;
        self.end += bytes.len() as u64;
        Ok(())
    }
}

fn read_header(file: &dyn SlotFile) -> io::Result<Option<Header>> {
    let mut bytes = [0_u8; 64];
    if file.size_bytes()? < HEADER_BYTES {
        return Ok(None);
    }
    if file.read_at(&mut bytes, 0)? < bytes.len() {
        return Ok(None);
    }
    if bytes == [0; 64] {
        // Preallocated and never used.
        let session = SessionId(Uuid::nil());
        return Ok(Some(Header {
            used: false,
            sealed: false,
            stained: false,
            session,
            run: RunId(0),
            use_no: 0,
        }));
    }
    if &bytes[..8] != MAGIC {
        return Ok(None);
    }
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&bytes[16..32]);
    let header = Header {
        used: bytes[8] == 1,
        sealed: bytes[9] == 1,
        stained: bytes[10] == 1,
        session: SessionId(Uuid::from_bytes(uuid)),
        run: RunId(number(&bytes[32..40])),
        use_no: number(&bytes[40..48]),
    };
    Ok(Some(header))
}

/// One write of one sector: it is there whole or not at all.
fn write_header(file: &dyn SlotFile, header: &Header) -> io::Result<()> {
    let mut bytes = [0_u8; 64];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8] = u8::from(header.used);
    bytes[9] = u8::from(header.sealed);
    bytes[10] = u8::from(header.stained);
    bytes[16..32].copy_from_slice(header.session.0.as_bytes());
    bytes[32..40].copy_from_slice(&header.run.0.to_le_bytes());
    bytes[40..48].copy_from_slice(&header.use_no.to_le_bytes());
    file.write_at(&bytes, 0)
}

/// Blanks the frames of a use that is over: what a person erases later must not be left here.
fn wipe(file: &dyn SlotFile, header: &Header) -> io::Result<()> {
    let bytes = read_all(file)?;
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    fault::hit("spool.before_wipe")?;
    file.write_at(&vec![0; end], HEADER_BYTES)?;
    file.sync()?;
    fault::hit("spool.after_wipe")?;
    write_header(file, &Header { used: false, stained: false, ..*header })
}

/// Frame: length, use, seq, time, epoch, link before, link, body.
fn put_frame(bytes: &mut Vec<u8>, use_no: u64, prev: Hash, entry: &Entry) {
    let length = u32::try_from(entry.body.len()).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&use_no.to_le_bytes());
    bytes.extend_from_slice(&entry.seq.0.to_le_bytes());
    bytes.extend_from_slice(&entry.time.0.to_le_bytes());
    bytes.extend_from_slice(&entry.epoch.0.to_le_bytes());
    bytes.extend_from_slice(&prev.0);
    bytes.extend_from_slice(&entry.hash.0);
    bytes.extend_from_slice(entry.body.as_bytes());
}

/// Reads frames up to the first that is not whole: that one was never acknowledged.
fn read_frames(file: &dyn SlotFile, header: &Header) -> io::Result<Vec<Frame>> {
    let bytes = read_all(file)?;
    let mut frames = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some((frame, after)) = take_frame(rest, header.use_no) {
        frames.push(frame);
        rest = after;
    }
    Ok(frames)
}

/// Everything behind the header.
fn read_all(file: &dyn SlotFile) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(SLOT_BYTES - HEADER_BYTES).unwrap_or(0)];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], HEADER_BYTES + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn take_frame(bytes: &[u8], use_no: u64) -> Option<(Frame, &[u8])> {
    let (head, rest) = bytes.split_at_checked(FRAME_HEAD_BYTES)?;
    let length = usize::try_from(number(&head[..4])).ok()?;
    if length == 0 || number(&head[4..12]) != use_no {
        return None;
    }
    let (body, after) = rest.split_at_checked(length)?;
    let body = std::str::from_utf8(body).ok()?;
    let (seq, time) = (Seq(number(&head[12..20])), Time(number(&head[20..28]).cast_signed()));
    let epoch = Epoch(number(&head[28..36]));
    let (mut prev, mut hash) = ([0; 16], [0; 16]);
    prev.copy_from_slice(&head[36..52]);
    hash.copy_from_slice(&head[52..68]);
    let last = Link { seq: Seq(seq.0.checked_sub(1)?), epoch: Epoch(0), hash: Hash(prev) };
    let entry = Entry::open(&last, seq, time, epoch, body, Some(Hash(hash))).ok()?;
    Some((Frame { link: entry.link(), event: entry.event }, after))
}

fn number(bytes: &[u8]) -> u64 {
    let mut number = [0; 8];
    number[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(number)
}
