//! The server's limit of open files.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use crate::stage::Stage;

/// Has the server start with limits of open files that a shell sets.
fn limit(stage: &mut Stage, limits: &str) {
    let script = stage.setup.home.join("limited");
    let binary = env!("CARGO_BIN_EXE_everturn");
    fs::write(&script, format!("#!/bin/sh\n{limits}\nexec \"{binary}\" \"$@\"\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    stage.setup.binary = script;
}

#[test]
fn a_low_soft_limit_is_raised_to_the_hard_one() {
    let mut stage = Stage::new();
    limit(&mut stage, "ulimit -Hn 1024; ulimit -Sn 256");
    stage.restart();
    let address = ("127.0.0.1", stage.setup.port);
    let idle: Vec<TcpStream> = (0..400).map(|_| TcpStream::connect(address).unwrap()).collect();
    let session = stage.client.create().unwrap();
    stage.answered(&session, "hello");
    assert_eq!(idle.len(), 400);
}

#[test]
fn the_server_exits_with_the_reason_if_the_store_runs_out_of_descriptors() {
    let mut stage = Stage::new();
    drop(stage.server.take());
    // The first limits are too low for any program of this kind, the last one is enough.
    let mut told = Vec::new();
    for files in (12..64).step_by(2) {
        limit(&mut stage, &format!("ulimit -n {files}"));
        match stage.setup.serve() {
            Ok(_) => break,
            Err(error) => told.push(error.to_string()),
        }
    }
    assert!(told.iter().any(|line| line.contains("limit of open files")), "{told:#?}");
}
