//! The position of a reader in a stream: the number of an entry, and the beginning of its hash. After a restored backup the
//! number may belong to another entry, which the hash reveals.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use session::{Link, Seq};

/// Bytes of the hash that an id carries.
const HASH_BYTES: usize = 4;

/// The id of an event: `13.9f86d081`. The number alone is accepted, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Cursor {
    pub(crate) seq: Seq,
    pub(crate) hash: Option<[u8; HASH_BYTES]>,
}

impl Cursor {
    /// The entry with this number, whichever it is.
    pub(crate) fn number(seq: u64) -> Self {
        Self { seq: Seq(seq), hash: None }
    }
}

impl From<Link> for Cursor {
    fn from(link: Link) -> Self {
        Self { seq: link.seq, hash: link.hash.0.first_chunk().copied() }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seq.0)?;
        self.hash.map_or(Ok(()), |hash| write!(f, ".{}", session::hex(&hash)))
    }
}

impl FromStr for Cursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "a cursor must be an entry's number or an event's ID";
        let (number, hash) = text.split_once('.').map_or((text, None), |(number, hash)| (number, Some(hash)));
        let seq = number.parse().map(Seq).map_err(|_| WRONG)?;
        let plain =
            |hash: &&str| hash.len() == 2 * HASH_BYTES && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let hash = match hash {
            None => None,
            Some(hash) => {
                let hash = Some(hash).filter(plain).ok_or(WRONG)?;
                Some(u32::from_str_radix(hash, 16).map_err(|_| WRONG)?.to_be_bytes())
            }
        };
        Ok(Self { seq, hash })
    }
}

impl TryFrom<String> for Cursor {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written_and_nothing_else_is() {
        for text in ["0", "13", "13.9f86d081", "18446744073709551615.00000000"] {
            assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
        }
        for text in ["", ".", "13.", "13.9f86d08", "13.9f86d0811", "13.+f86d081", "-1", "1.2.3", "x"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
    }
}
