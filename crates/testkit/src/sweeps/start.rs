//! What a server does that nobody set up.

use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use crate::Report;
use crate::trial::{Setup, free_port};

/// T18: it listens on this machine only, opens to others only when it is safe, and keeps its files to itself.
///
/// # Errors
/// When the binary cannot be run.
pub(super) fn closed(report: &mut Report, home: &Path) -> anyhow::Result<()> {
    let home = home.join("fresh");
    let setup = Setup::at(&home, free_port()?)?;
    setup.prepare()?;
    let refused = |variables: &[(&str, &str)]| -> anyhow::Result<bool> {
        let mut command = setup.command();
        command.arg("serve").envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // One that is not refused would serve for ever.
        let mut child = command.spawn()?;
        let begun = crate::trial::now();
        while begun.elapsed().as_secs() < 5 {
            if let Some(status) = child.try_wait()? {
                return Ok(!status.success());
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        child.kill()?;
        child.wait()?;
        Ok(false)
    };
    let open = format!("0.0.0.0:{}", setup.port);
    let cases: [&[(&str, &str)]; 5] = [
        &[("EVERTURN_LISTEN", &open)],
        &[("EVERTURN_LISTEN", "[::]:18999")],
        // A proxy, but nobody who can log in.
        &[("EVERTURN_LISTEN", &open), ("EVERTURN_PROXY", "10.0.0.1")],
        &[("EVERTURN_LISTEN", &open), ("EVERTURN_PROXY", "nonsense")],
        &[("EVERTURN_HOSTS", "['https://x']")],
    ];
    let mut count = 0;
    for case in cases {
        count += usize::from(refused(case)?);
    }
    report.line("t18.refused", count, cases.len(), count == cases.len());
    let server = setup.serve()?;
    let local = TcpStream::connect(("127.0.0.1", setup.port)).is_ok();
    let elsewhere = TcpStream::connect(("127.0.0.2", setup.port)).is_err();
    report.line("t18.loopback_only", local && elsewhere, true, local && elsewhere);
    let (mut files, mut loose) = (0, Vec::new());
    let mut folders = vec![setup.data.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let mode = entry.metadata()?.permissions().mode() & 0o777;
            files += 1;
            if mode & 0o077 != 0 {
                loose.push(format!("{} {mode:o}", entry.path().display()));
            }
            if entry.metadata()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    let mode = std::fs::metadata(&setup.data)?.permissions().mode() & 0o777;
    drop(server);
    loose.iter().take(5).for_each(|line| report.note(line));
    report.line("t18.files", files, ">=5", files >= 5);
    report.line("t18.readable_by_others", loose.len(), 0, loose.is_empty() && mode == 0o700);
    Ok(())
}
