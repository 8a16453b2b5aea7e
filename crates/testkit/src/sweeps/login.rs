//! How a password is guarded.

use std::time::Duration;

use serde_json::json;

use super::surface::{Answer, request, send};
use super::{PASSWORD, Stage};
use crate::Report;
use crate::trial::now;

/// Logins whose time is compared.
const TIMED: usize = 4;

fn log_in(stage: &Stage, name: &str, password: &str) -> anyhow::Result<Answer> {
    let body = json!({ "name": name, "password": password }).to_string();
    send(stage.owner.port, &request("POST", "/api/v1/login", "host: localhost\r\n", &body))
}

/// T15: throttle, empty password, what an unknown name tells, fixation, logins that end.
///
/// # Errors
/// When the server does not answer.
pub(super) fn guarded(report: &mut Report, stage: &Stage) -> anyhow::Result<()> {
    let right = log_in(stage, "bob", PASSWORD)?;
    report.line("t15.right_password", right.status, 200, right.status == 200);
    let again = log_in(stage, "bob", PASSWORD)?;
    let cookie =
        |answer: &Answer| answer.head.lines().find(|line| line.starts_with("set-cookie")).map(str::to_owned);
    let fresh = cookie(&right).is_some() && cookie(&right) != cookie(&again);
    report.line("t15.each_login_anew", fresh, true, fresh);
    let (wrong, unknown) =
        (log_in(stage, "bob", "wrong password")?, log_in(stage, "nobody", "wrong password")?);
    let same = (wrong.status, &wrong.body) == (unknown.status, &unknown.body) && wrong.status == 401;
    report.line("t15.unknown_name_tells_nothing", same, true, same);
    // A right login forgets the failures of its account, so that the time of a few can be taken; those of the address
    // are too few to wait.
    log_in(stage, "bob", PASSWORD)?;
    // The fastest of several, taken in turns: other processes on the machine only make a login slower.
    let mut fastest = [Duration::MAX; 2];
    for round in 0..TIMED {
        for (fastest, name) in fastest.iter_mut().zip(["bob".to_owned(), format!("somebody else {round}")]) {
            let begun = now();
            log_in(stage, &name, "wrong password")?;
            *fastest = begun.elapsed().min(*fastest);
        }
        log_in(stage, "bob", PASSWORD)?;
    }
    let ratio = fastest[0].as_secs_f64() / fastest[1].as_secs_f64();
    let alike = (0.4..2.5).contains(&ratio);
    report.line("t15.time_known_to_unknown", format!("{ratio:.2}"), "0.4..2.5", alike);
    let mut let_in = 0;
    for (name, password) in
        [("owner", ""), ("bob", ""), ("", ""), ("owner", "null"), ("bob\0", PASSWORD), ("bob%", PASSWORD)]
    {
        let_in += usize::from(log_in(stage, name, password)?.status == 200);
    }
    report.line("t15.let_in", let_in, 0, let_in == 0);
    let tries = 12;
    let refused =
        (0..tries).filter(|_| log_in(stage, "bob", "wrong").is_ok_and(|answer| answer.status == 429)).count();
    report.line("t15.throttled", refused, ">=6", refused >= 6);
    let waits = log_in(stage, "bob", PASSWORD)?;
    let told = waits.status == 429 && waits.head.contains("retry-after:");
    report.line("t15.right_one_waits_too", told, true, told);
    Ok(())
}
