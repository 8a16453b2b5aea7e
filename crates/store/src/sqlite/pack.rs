//! How entries stand in a pack: columns of times, epochs and lengths, then the bodies, compressed as one.
//!
//! The chain needs no column: it is computed anew from the bytes and must end at the pack's last link. A pack of
//! placeholders stands in for entries that `repair` set aside. Its last entry takes over the hash of the entry it replaces,
//! so that the entries behind it still fit the chain.

use session::{Damage, Entry, Epoch, Event, Link, Seq, Time};

/// Compression level: 3 is zstd's default, fast enough to never be what the store waits for.
const LEVEL: i32 = 3;

/// Bytes that a pack may hold unpacked. A larger claim is damage, not data.
const UNPACKED_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The first bytes of a pack of placeholders. No zstd frame starts with them.
const PLACEHOLDERS: &[u8] = b"set aside";

/// One stored entry, before its event is read.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) time: Time,
    pub(super) epoch: Epoch,
    pub(super) body: String,
}

/// Packs consecutive rows.
pub(super) fn encode(rows: &[Row]) -> std::io::Result<Vec<u8>> {
    let mut plain = Vec::with_capacity(rows.iter().map(|row| row.body.len() + 6).sum::<usize>() + 8);
    put(&mut plain, rows.len() as u64);
    let mut time = 0;
    for row in rows {
        put(&mut plain, zigzag(row.time.0.wrapping_sub(time)));
        time = row.time.0;
    }
    let mut epoch = 0;
    for row in rows {
        put(&mut plain, row.epoch.0.wrapping_sub(epoch));
        epoch = row.epoch.0;
    }
    rows.iter().for_each(|row| put(&mut plain, row.body.len() as u64));
    rows.iter().for_each(|row| plain.extend_from_slice(row.body.as_bytes()));
    zstd::bulk::compress(&plain, LEVEL)
}

/// Packs one placeholder for each entry after `prev` up to `last`.
pub(super) fn encode_placeholders(prev: &Link, last: &Link, time: Time) -> std::io::Result<Vec<u8>> {
    let rows: Vec<Row> = (prev.seq.0..last.seq.0)
        .map(|_| Row { time, epoch: last.epoch, body: placeholder(prev, time).body.to_string() })
        .collect();
    Ok([PLACEHOLDERS, &encode(&rows)?].concat())
}

fn placeholder(prev: &Link, time: Time) -> Entry {
    Entry::seal(prev, time, prev.epoch, Event::EntriesSetAside { count: 1 })
}

/// Unpacks the entries after `after` and checks the chain from `prev` to `last`. On damage, gives what stands before
/// it and the damage.
pub(super) fn decode(body: &[u8], prev: &Link, last: &Link, after: Seq) -> (Vec<Entry>, Option<Damage>) {
    let Some(body) = body.strip_prefix(PLACEHOLDERS) else { return decode_rows(body, prev, last, after) };
    let (seq, error) = (prev.seq.next(), "the placeholders are invalid".to_owned());
    // The hash of the last one is not its own, so the bytes are compared instead.
    let first = placeholder(prev, Time(0));
    let end = zstd::stream::decode_all(body).ok().and_then(|plain| {
        let rows = rows(&plain, seq)?;
        let fit = rows.iter().all(|row| row.epoch == last.epoch && row.body == &*first.body);
        rows.iter().fold(fit.then_some(*prev), |link, row| {
            let hash = link?.hash.next(row.seq, row.time, row.epoch, row.body);
            Some(Link { seq: row.seq, epoch: row.epoch, hash })
        })
    });
    let Some(end) = end.filter(|end| end.seq == last.seq) else {
        return (Vec::new(), Some(Damage::Unreadable { seq, error }));
    };
    let (mut entries, damage) = decode_rows(body, prev, &end, after);
    if let Some(entry) = entries.last_mut() {
        entry.hash = last.hash;
    }
    (entries, damage)
}

fn decode_rows(body: &[u8], prev: &Link, last: &Link, after: Seq) -> (Vec<Entry>, Option<Damage>) {
    let mut entries = Vec::new();
    let unreadable = |seq: Seq, error: &str| Some(Damage::Unreadable { seq, error: error.to_owned() });
    let first = prev.seq.next();
    let Ok(plain) = zstd::stream::decode_all(body) else {
        return (entries, unreadable(first, "the pack can't be decompressed"));
    };
    if plain.len() > UNPACKED_BYTES_MAX {
        return (entries, unreadable(first, "the pack is too large"));
    }
    let Some(rows) = rows(&plain, first) else {
        return (entries, unreadable(first, "the pack has an invalid structure"));
    };
    let mut link = *prev;
    let mut damage = None;
    for row in rows {
        let wanted = row.seq > after && damage.is_none();
        let opened = wanted.then(|| Entry::open(&link, row.seq, row.time, row.epoch, row.body, None));
        if let Some(Ok(entry)) = opened {
            link = entry.link();
            entries.push(entry);
            continue;
        }
        // The chain is followed to its end: it alone says whether what was unpacked before is true.
        damage = damage.or(opened.and_then(Result::err));
        let hash = link.hash.next(row.seq, row.time, row.epoch, row.body);
        link = Link { seq: row.seq, epoch: row.epoch, hash };
    }
    if link != *last {
        // Without a hash an entry it cannot be told which one changed, so none of them counts.
        return (Vec::new(), Some(damage.unwrap_or(Damage::ChainBroken { seq: first })));
    }
    (entries, damage)
}

struct PlainRow<'a> {
    seq: Seq,
    time: Time,
    epoch: Epoch,
    body: &'a str,
}

fn rows(plain: &[u8], first: Seq) -> Option<Vec<PlainRow<'_>>> {
    let mut rest = plain;
    let count = usize::try_from(take(&mut rest)?).ok().filter(|count| *count <= plain.len())?;
    let mut times = Vec::with_capacity(count);
    let mut time = 0_i64;
    for _ in 0..count {
        time = time.wrapping_add(unzigzag(take(&mut rest)?));
        times.push(Time(time));
    }
    let mut epochs = Vec::with_capacity(count);
    let mut epoch = 0_u64;
    for _ in 0..count {
        epoch = epoch.wrapping_add(take(&mut rest)?);
        epochs.push(Epoch(epoch));
    }
    let lengths: Vec<u64> = (0..count).map(|_| take(&mut rest)).collect::<Option<_>>()?;
    let mut rows = Vec::with_capacity(count);
    for (at, length) in lengths.into_iter().enumerate() {
        let (body, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        rest = after;
        let body = std::str::from_utf8(body).ok()?;
        rows.push(PlainRow { seq: Seq(first.0 + at as u64), time: times[at], epoch: epochs[at], body });
    }
    rest.is_empty().then_some(rows)
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(count: u64) -> (Link, Vec<Entry>) {
        let start = Link { seq: Seq(41), epoch: Epoch(2), hash: session::Hash([7; 16]) };
        let mut link = start;
        let entries = (0..count)
            .map(|at| {
                let run = session::RunId(3);
                let event = session::Event::TextAdded { run, text: format!("word {at} ") };
                let time = Time(1_700_000_000_000_000 - at.cast_signed() * 37 + 5_000);
                let entry = Entry::seal(&link, time, Epoch(3 + at / 50), event);
                link = entry.link();
                entry
            })
            .collect();
        (start, entries)
    }

    fn packed(entries: &[Entry]) -> Vec<u8> {
        let rows: Vec<Row> = entries
            .iter()
            .map(|entry| Row { time: entry.time, epoch: entry.epoch, body: entry.body.to_string() })
            .collect();
        encode(&rows).unwrap()
    }

    #[test]
    fn a_pack_gives_back_the_same_entries() {
        let (start, entries) = log(200);
        let body = packed(&entries);
        let last = entries.last().unwrap().link();
        assert_eq!(decode(&body, &start, &last, Seq(0)), (entries.clone(), None));
        assert_eq!(decode(&body, &start, &last, Seq(141)), (entries[100..].to_vec(), None));
        assert!(body.len() < 2_400, "{} bytes for 200 short chunks", body.len());
    }

    #[test]
    fn placeholders_fit_the_chain() {
        let (start, entries) = log(20);
        let last = entries.last().unwrap().link();
        let body = encode_placeholders(&start, &last, Time(5)).unwrap();
        let (given, damage) = decode(&body, &start, &last, Seq(0));
        assert_eq!((given.len(), given.last().unwrap().link(), damage), (20, last, None));
        assert!(given.iter().all(|entry| entry.event == Event::EntriesSetAside { count: 1 }));
        assert_eq!(decode(&body, &start, &last, Seq(51)), (given[10..].to_vec(), None));
        // Packed again without the last one, as an erasure does, they are an ordinary pack.
        assert_eq!(
            decode(&packed(&given[..19]), &start, &given[18].link(), Seq(0)),
            (given[..19].to_vec(), None)
        );
        // A pack of other entries cannot pass as placeholders, nor one of fewer.
        for other in [&entries[..], &given[..19]] {
            let body = [PLACEHOLDERS, &packed(other)].concat();
            assert!(decode(&body, &start, &last, Seq(0)).1.is_some());
        }
    }

    #[test]
    fn no_flipped_bit_goes_unnoticed() {
        let (start, entries) = log(20);
        let body = packed(&entries);
        let last = entries.last().unwrap().link();
        for bit in 0..body.len() * 8 {
            let mut damaged = body.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let (given, damage) = decode(&damaged, &start, &last, Seq(0));
            // A bit that the format ignores leaves every entry as it was.
            assert!(damage.is_some() || given == entries, "bit {bit}");
            assert!(entries.starts_with(&given), "bit {bit} gives an entry that never was");
        }
    }
}
