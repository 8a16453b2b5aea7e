//! Writes sessions to files, or one to standard output.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use reqwest::Method;
use uuid::Uuid;

use super::client::Client;
use super::terminal::{plain, remark};
use crate::export::{Format, file_name};

/// Write a session to a file: all its turns with every answer, also those that are out of sight.
#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// The session; with `--all` it is left out.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    session: Option<Uuid>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The file; standard output if left out.
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    out: Option<PathBuf>,
    /// Write every session, from every shelf, to a file of its own in this folder.
    #[arg(long, value_name = "DIR")]
    all: Option<PathBuf>,
}

impl Export {
    pub(crate) async fn run(self, client: &Client) -> anyhow::Result<ExitCode> {
        match (&self.all, self.session) {
            (Some(folder), _) => all(client, folder, self.format).await?,
            (None, Some(session)) => match &self.out {
                Some(file) => to_file(client, session, self.format, file).await?,
                None => copy(client, session, self.format, &mut std::io::stdout().lock()).await?,
            },
            (None, None) => bail!("name a session, or a folder with `--all`"),
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn all(client: &Client, folder: &Path, format: Format) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let mut lines = Vec::new();
    for shelf in ["active", "archived", "trash"] {
        let mut before = String::new();
        loop {
            let page =
                client.ask(Method::GET, &format!("/sessions?count=200&shelf={shelf}{before}"), None).await?;
            for line in page["sessions"].as_array().into_iter().flatten() {
                let session: Uuid = line["session"].as_str().unwrap_or_default().parse()?;
                lines.push((session, line["title"].as_str().map(str::to_owned)));
            }
            match page["next"].as_str() {
                Some(next) => before = format!("&before={next}"),
                None => break,
            }
        }
    }
    let (count, mut failed) = (lines.len(), 0);
    for (at, (session, title)) in lines.into_iter().enumerate() {
        // The name is made here: what a server says is no path.
        let name = file_name(title.as_deref(), session, format);
        match to_file(client, session, format, &folder.join(&name)).await {
            Ok(()) => remark(&format!("{}/{count} {name}", at + 1)),
            Err(error) => {
                failed += 1;
                remark(&format!(
                    "{}/{count} {session} was not written: {}",
                    at + 1,
                    plain(&error.to_string())
                ));
            }
        }
    }
    if failed > 0 { bail!("{failed} of {count} sessions were not written") } else { Ok(()) }
}

/// A file stands for the whole session or does not stand there.
async fn to_file(client: &Client, session: Uuid, format: Format, path: &Path) -> anyhow::Result<()> {
    let aside = path.with_extension("unfinished");
    let told = || format!("write {}", path.display());
    let mut file = std::fs::File::create(&aside).with_context(told)?;
    let copied = copy(client, session, format, &mut file).await;
    let kept = copied.and_then(|()| {
        file.sync_all().with_context(told)?;
        std::fs::rename(&aside, path).with_context(told)
    });
    if kept.is_err() {
        // What is half is of no use; that it cannot be removed changes nothing.
        drop(std::fs::remove_file(&aside));
    }
    kept
}

async fn copy(client: &Client, session: Uuid, format: Format, out: &mut impl Write) -> anyhow::Result<()> {
    let path = format!("/sessions/{session}/export?format={}", format.word());
    let mut reply = client.read(&path).await?;
    while let Some(bytes) = reply.chunk().await.context("the export was cut off")? {
        out.write_all(&bytes)?;
    }
    Ok(out.flush()?)
}
