//! Exports sessions to files, or one session to standard output.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use reqwest::Method;
use uuid::Uuid;

use super::client::Client;
use super::terminal::{plain, remark};
use crate::export::{Format, file_name};

/// Export a session with all turns and answers, including hidden ones.
#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// The session to export; omit it with `--all`.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    session: Option<Uuid>,
    /// Format of the export.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Output file; standard output if omitted.
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    out: Option<PathBuf>,
    /// Export every session, including archive and trash, to its own file in this directory.
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
            (None, None) => bail!("specify a session, or a directory with `--all`"),
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn all(client: &Client, folder: &Path, format: Format) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
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
        // Don't trust the server with paths: build the file name here.
        let name = file_name(title.as_deref(), session, format);
        match to_file(client, session, format, &folder.join(&name)).await {
            Ok(()) => remark(&format!("{}/{count} {name}", at + 1)),
            Err(error) => {
                failed += 1;
                remark(&format!(
                    "{}/{count} failed to export {session}: {}",
                    at + 1,
                    plain(&error.to_string())
                ));
            }
        }
    }
    if failed > 0 { bail!("failed to export {failed} of {count} sessions") } else { Ok(()) }
}

/// Exports a session to a file. Creates the file only if the export is complete.
async fn to_file(client: &Client, session: Uuid, format: Format, path: &Path) -> anyhow::Result<()> {
    let aside = path.with_extension("unfinished");
    let told = || format!("failed to write {}", path.display());
    let mut file = std::fs::File::create(&aside).with_context(told)?;
    let copied = copy(client, session, format, &mut file).await;
    let kept = copied.and_then(|()| {
        file.sync_all().with_context(told)?;
        std::fs::rename(&aside, path).with_context(told)
    });
    if kept.is_err() {
        // A partial export is useless. Ignore cleanup errors.
        drop(std::fs::remove_file(&aside));
    }
    kept
}

async fn copy(client: &Client, session: Uuid, format: Format, out: &mut impl Write) -> anyhow::Result<()> {
    let path = format!("/sessions/{session}/export?format={}", format.word());
    let mut reply = client.read(&path).await?;
    while let Some(bytes) =
        reply.chunk().await.context("the connection closed before the export was complete")?
    {
        out.write_all(&bytes)?;
    }
    Ok(out.flush()?)
}
