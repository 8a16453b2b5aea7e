//! Where slots are kept: files of a directory, or whatever a simulation puts in their place.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A place for slots.
pub trait SlotMedium: Debug + Send + Sync + 'static {
    /// What tells this place from that of any other node. The first time it is `fresh`, and so from then on.
    ///
    /// # Errors
    /// When it can be neither read nor kept.
    fn identity(&self, fresh: u64) -> io::Result<u64>;

    /// The highest slot that was made so far.
    ///
    /// # Errors
    /// When the place cannot be read.
    fn made(&self) -> io::Result<u16>;

    /// Makes a slot of `size_bytes` zeros, durable once its name is.
    ///
    /// # Errors
    /// When there is no room.
    fn make(&self, no: u16, size_bytes: u64) -> io::Result<()>;

    /// Makes the names of new slots durable.
    ///
    /// # Errors
    /// When the disk refuses.
    fn sync_names(&self) -> io::Result<()>;

    /// Opens a slot.
    ///
    /// # Errors
    /// When it is not there.
    fn open(&self, no: u16, access: Access) -> io::Result<Box<dyn SlotFile>>;

    /// Whether its work keeps a thread waiting.
    fn blocks(&self) -> bool;
}

/// What a slot is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// A look must not need the right to write.
    Read,
    Write,
}

/// The bytes of one slot.
pub trait SlotFile: Debug + Send {
    /// How many there are.
    ///
    /// # Errors
    /// When that cannot be read.
    fn size_bytes(&self) -> io::Result<u64>;

    /// Reads from a place on; fewer bytes than asked for at the end.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize>;

    /// Writes at a place.
    ///
    /// # Errors
    /// When the disk refuses.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Makes what was written durable.
    ///
    /// # Errors
    /// When the disk refuses.
    fn sync(&self) -> io::Result<()>;
}

/// Slots as files of a directory.
#[derive(Debug, Clone)]
pub struct SlotDirectory(pub PathBuf);

impl SlotDirectory {
    /// The file of a slot.
    pub fn path(&self, no: u16) -> PathBuf {
        self.0.join(format!("slot-{no:05}"))
    }
}

impl SlotMedium for SlotDirectory {
    fn identity(&self, fresh: u64) -> io::Result<u64> {
        fs::create_dir_all(&self.0)?;
        let path = self.0.join("identity");
        match fs::read_to_string(&path) {
            Ok(text) => u64::from_str_radix(text.trim(), 16).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Whole or not at all: a slot is lent only under a name that stays.
                let beside = self.0.join("identity.new");
                fs::write(&beside, format!("{fresh:x}\n"))?;
                File::open(&beside)?.sync_all()?;
                fs::rename(&beside, &path)?;
                self.sync_names()?;
                Ok(fresh)
            }
            Err(error) => Err(error),
        }
    }

    fn made(&self) -> io::Result<u16> {
        let mut made = 0;
        for entry in fs::read_dir(&self.0)? {
            let name = entry?.file_name();
            let no = name.to_str().and_then(|name| name.strip_prefix("slot-")).and_then(|no| no.parse().ok());
            made = made.max(no.unwrap_or(0));
        }
        Ok(made)
    }

    fn make(&self, no: u16, size_bytes: u64) -> io::Result<()> {
        let file = File::options().create(true).truncate(false).write(true).open(self.path(no))?;
        let length = i64::try_from(size_bytes).unwrap_or(i64::MAX);
        nix::fcntl::posix_fallocate(&file, 0, length).map_err(io::Error::from)?;
        file.sync_all()
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }

    fn open(&self, no: u16, access: Access) -> io::Result<Box<dyn SlotFile>> {
        let writes = access == Access::Write;
        Ok(Box::new(File::options().read(true).write(writes).open(self.path(no))?))
    }

    fn blocks(&self) -> bool {
        true
    }
}

impl SlotFile for File {
    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        FileExt::read_at(self, bytes, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
