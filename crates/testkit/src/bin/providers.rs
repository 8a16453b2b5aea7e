//! Reads what providers answer, in every way that a network delivers it. `providers`.

use testkit::{Report, providers};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut report = Report::default();
    providers::run(&mut report).await?;
    if !report.verdict("providers") {
        std::process::exit(1);
    }
    Ok(())
}
