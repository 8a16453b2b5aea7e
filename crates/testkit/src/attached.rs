//! The one file that messages of tests and campaigns carry.

use session::{Attachment, BlobHash};

/// Its bytes.
pub const BYTES: &[u8] = b"herons nest in April";

/// Its name in the store.
pub fn blob() -> BlobHash {
    store::blob::hash_of(BYTES)
}

/// The file as a message names it.
pub fn attachment(name: &str) -> Attachment {
    let media_type = "text/plain".to_owned();
    Attachment { name: name.to_owned(), media_type, blob: blob(), size_bytes: BYTES.len() as u64 }
}
