//! Reads the text files of the checkout, leaving out what is built or fetched.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 4] = [".git", "target", "node_modules", "dist"];

/// One text file of the checkout.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// From the root, with forward slashes.
    pub path: String,
    pub text: String,
}

impl SourceFile {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }

    /// The part of the path after the last slash.
    #[cfg(test)]
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The crate whose folder the file lies in.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

/// Every file below the root that is valid UTF-8, sorted by path.
pub(crate) fn read(root: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))? {
            let item = item?;
            let kind = item.file_type()?;
            let name = item.file_name();
            if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == *skipped) {
                folders.push(item.path());
            } else if kind.is_file() {
                let bytes =
                    fs::read(item.path()).with_context(|| format!("read {}", item.path().display()))?;
                let Ok(text) = String::from_utf8(bytes) else { continue };
                let path = item.path().strip_prefix(root)?.to_string_lossy().replace('\\', "/");
                files.push(SourceFile { path, text });
            }
        }
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(files)
}
