//! House rules that no compiler knows, as tests: names, lengths, first lines, paths in documents, who depends on
//! whom. They look at the shape of the tree and never at what the product does.

pub(crate) mod tree;

#[cfg(test)]
mod rules;

use std::path::Path;

use anyhow::Result;

/// A file longer than this is split; there is no list of exceptions.
pub(crate) const FILE_LINES_MAX: usize = 800;

/// From here on a split is talked about.
const FILE_LINES_TALK: usize = 500;

/// How long the source files are.
#[derive(Debug)]
pub(crate) struct Lengths {
    /// Lines of the longest file.
    pub longest: usize,
    /// Path and lines of every file past the talking point, longest first.
    pub over_talk: Vec<(String, usize)>,
}

/// Measures every Rust file below the root.
pub(crate) fn long_files(root: &Path) -> Result<Lengths> {
    let files = tree::read(root)?;
    let counted =
        files.iter().filter(|file| file.is_rust()).map(|file| (file.path.clone(), file.text.lines().count()));
    let mut counted: Vec<(String, usize)> = counted.collect();
    counted.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
    let longest = counted.first().map_or(0, |(_, lines)| *lines);
    counted.retain(|(_, lines)| *lines > FILE_LINES_TALK);
    Ok(Lengths { longest, over_talk: counted })
}
