//! Disks that can be cut from power: ext4 images on loop devices, unmounted and detached whatever happens. Small
//! disks that can be filled, and the tools in C.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use tempfile::TempDir;

/// A mounted disk.
#[derive(Debug)]
pub struct Disk {
    mount: PathBuf,
    device: Option<String>,
    _image: TempDir,
}

fn tool(program: &str, words: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(words).output().with_context(|| format!("run {program}"))?;
    if !output.status.success() {
        bail!("{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("a path that is not text")
}

/// A directory in memory, where syncing costs nothing; only for what is killed, never for what is cut.
///
/// # Errors
/// When none can be made.
pub fn scratch() -> anyhow::Result<TempDir> {
    let shared = Path::new("/dev/shm");
    let root = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    Ok(tempfile::Builder::new().prefix("everturn-crash-").tempdir_in(root)?)
}

impl Disk {
    /// A new ext4 on a loop device.
    ///
    /// # Errors
    /// When it cannot be made; that needs root and a free loop device.
    pub fn ext4(size_bytes: u64) -> anyhow::Result<Self> {
        let image = scratch()?;
        let file = image.path().join("image");
        File::create(&file)?.set_len(size_bytes)?;
        let mount = image.path().join("mount");
        fs::create_dir(&mount)?;
        let device = tool("losetup", &["-f", "--show", text(&file)?])?;
        let disk = Self { mount, device: Some(device.clone()), _image: image };
        tool("mkfs.ext4", &["-q", &device])?;
        disk.mount()?;
        Ok(disk)
    }

    /// A small disk in memory.
    ///
    /// # Errors
    /// When it cannot be mounted; that needs root.
    pub fn memory(size_bytes: u64) -> anyhow::Result<Self> {
        let image = scratch()?;
        let mount = image.path().join("mount");
        fs::create_dir(&mount)?;
        tool("mount", &["-t", "tmpfs", "-o", &format!("size={size_bytes}"), "tmpfs", text(&mount)?])?;
        Ok(Self { mount, device: None, _image: image })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.mount
    }

    fn mount(&self) -> anyhow::Result<()> {
        if let Some(device) = &self.device {
            tool("mount", &[device, text(&self.mount)?])?;
        }
        Ok(())
    }

    /// Cuts the power: what was not synced is gone. Whoever writes must stand still already.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn cut(&self, tools: &Tools) -> anyhow::Result<()> {
        tool(text(&tools.power_off)?, &[text(&self.mount)?])?;
        Ok(())
    }

    /// Power is back, once everyone who had files open is gone.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn power_on(&self) -> anyhow::Result<()> {
        self.unmount()?;
        self.mount()
    }

    fn unmount(&self) -> anyhow::Result<()> {
        let mut tried = 0;
        loop {
            match tool("umount", &[text(&self.mount)?]) {
                Ok(_) => return Ok(()),
                // A killed process lets go of its files a moment later.
                Err(_) if tried < 200 => {
                    tried += 1;
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let unmounted = self.unmount();
        let detached =
            self.device.as_ref().map_or(Ok(String::new()), |device| tool("losetup", &["-d", device]));
        for error in [unmounted.err(), detached.err()].into_iter().flatten() {
            complain(&error);
        }
    }
}

#[expect(clippy::print_stderr, reason = "a mount that stays is told to whoever runs the campaign")]
fn complain(error: &anyhow::Error) {
    eprintln!("a disk of the campaign was not taken away: {error}");
}

/// The tools in C, built once.
#[derive(Debug)]
pub struct Tools {
    pub power_off: PathBuf,
    pub fail_io: PathBuf,
    _directory: TempDir,
}

impl Tools {
    /// Builds them.
    ///
    /// # Errors
    /// When there is no compiler.
    pub fn build() -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let (power_off, fail_io) = (directory.path().join("power_off"), directory.path().join("fail_io.so"));
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults");
        let (cut, shim) = (sources.join("power_off.c"), sources.join("fail_io.c"));
        tool("gcc", &["-O2", "-o", text(&power_off)?, text(&cut)?])?;
        tool("gcc", &["-O2", "-shared", "-fPIC", "-o", text(&fail_io)?, text(&shim)?, "-ldl"])?;
        Ok(Self { power_off, fail_io, _directory: directory })
    }
}

/// Copies a directory with all in it.
///
/// # Errors
/// When something cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
