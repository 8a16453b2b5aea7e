//! The scripted model as a process of its own: `scripted-model PORT`.

use std::sync::Arc;

use anyhow::Context;
use testkit::model::ScriptedModel;
use tokio::net::TcpListener;

fn main() -> anyhow::Result<()> {
    let port: u16 = std::env::args().nth(1).context("usage: scripted-model PORT")?.parse()?;
    // One thread: it must cost less than the server that it is asked by.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        Arc::new(ScriptedModel::default()).serve(listener).await?;
        Ok(())
    })
}
