//! What entries change in the projections beside the log: turns and uses of blobs.

use rusqlite::{Connection, params};
use session::{Entry, Event, Seq, TurnId};

use crate::catalog::TurnRow;

use super::Fault;

/// Whether an entry changes a projection at all; chunks of a run that goes on do not.
pub(super) fn concerns(event: &Event) -> bool {
    event.output_of().is_none()
        && !matches!(
            event,
            Event::FlagSet { .. }
                | Event::TagsSet { .. }
                | Event::ProjectSet { .. }
                | Event::IdAdded { .. }
                | Event::IdRemoved { .. }
                | Event::ContextCompacted { .. }
                | Event::EntriesSetAside { .. }
                | Event::ResumeMarked { .. }
                | Event::ResumeCleared {}
                | Event::MemoryOwnerSet { .. }
                | Event::MemoryReassigned { .. }
                | Event::MemoryCommitStarted { .. }
                | Event::MemoryCommitAccepted { .. }
                | Event::MemoryCommitEnded { .. }
                | Event::Unknown { .. }
        )
}

/// Applies one entry to the index of turns and to the uses of blobs.
pub(super) fn turns(connection: &Connection, no: i64, entry: &Entry) -> Result<(), Fault> {
    let seq = entry.seq.0;
    match &entry.event {
        Event::MessagePosted { message, .. } => {
            wait(connection, no, TurnId(seq), seq)?;
            blobs(connection, no, message)?;
        }
        Event::MessageEdited { turn, message, .. } => {
            hide(connection, no, *turn, seq)?;
            wait(connection, no, TurnId(seq), seq)?;
            blobs(connection, no, message)?;
        }
        Event::QueuedEdited { turn, message, .. } => {
            run(connection, "UPDATE turns SET message = ?3 WHERE no = ?1 AND turn = ?2", no, *turn, seq)?;
            blobs(connection, no, message)?;
        }
        Event::QueuedRemoved { turn } | Event::MessageSteered { turn, .. } => {
            let sql = "DELETE FROM turns WHERE no = ?1 AND turn = ?2 AND position IS NULL AND ?3 > 0";
            run(connection, sql, no, *turn, seq)?;
        }
        Event::RunStarted { turn, .. } => {
            let sql =
                "UPDATE turns SET position = coalesce(position, ?3), last = ?3 WHERE no = ?1 AND turn = ?2";
            run(connection, sql, no, *turn, seq)?;
        }
        Event::RunEnded { turn, .. }
        | Event::AnswerChosen { turn, .. }
        | Event::RecoveryAttempted { turn, .. }
        | Event::RecoverySettled { turn, .. }
        | Event::RequestBilled { turn, .. } => {
            run(connection, "UPDATE turns SET last = ?3 WHERE no = ?1 AND turn = ?2", no, *turn, seq)?;
        }
        Event::TurnsUndone { from, .. } => hide(connection, no, *from, seq)?,
        Event::TurnsPutBack { from } => put_back(connection, no, *from)?,
        Event::SessionCleared {} => {
            connection
                .prepare_cached(
                    "UPDATE turns SET hidden = ?2 WHERE no = ?1 AND position IS NOT NULL AND hidden IS NULL",
                )?
                .execute(params![no, seq])?;
        }
        _ => {}
    }
    Ok(())
}

fn run(connection: &Connection, sql: &str, no: i64, turn: TurnId, seq: u64) -> Result<(), Fault> {
    connection.prepare_cached(sql)?.execute(params![no, turn.0, seq])?;
    Ok(())
}

fn wait(connection: &Connection, no: i64, turn: TurnId, seq: u64) -> Result<(), Fault> {
    run(
        connection,
        "INSERT OR REPLACE INTO turns (no, turn, message, last) VALUES (?1, ?2, ?3, ?3)",
        no,
        turn,
        seq,
    )
}

fn hide(connection: &Connection, no: i64, from: TurnId, by: u64) -> Result<(), Fault> {
    let sql = "UPDATE turns SET hidden = ?3 WHERE no = ?1 AND hidden IS NULL
               AND position >= (SELECT position FROM turns WHERE no = ?1 AND turn = ?2)";
    run(connection, sql, no, from, by)
}

fn put_back(connection: &Connection, no: i64, from: TurnId) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "UPDATE turns SET hidden = NULL WHERE no = ?1
             AND hidden = (SELECT hidden FROM turns WHERE no = ?1 AND turn = ?2)",
        )?
        .execute(params![no, from.0])?;
    Ok(())
}

pub(super) fn blobs(connection: &Connection, no: i64, message: &session::Message) -> Result<(), Fault> {
    for attachment in &message.attachments {
        connection
            .prepare_cached("INSERT OR IGNORE INTO blob_uses (blob, no) VALUES (?, ?)")?
            .execute(params![attachment.blob.0, no])?;
    }
    Ok(())
}

/// The turns that a branch shares with its origin.
pub(super) fn inherit(connection: &Connection, no: i64, rows: &[TurnRow]) -> Result<(), Fault> {
    for row in rows {
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO turns (no, turn, position, message, last) VALUES (?, ?, ?, ?, ?)",
            )?
            .execute(params![no, row.turn.0, row.position.0, row.message.0, row.last.0])?;
    }
    Ok(())
}

pub(super) fn watermark(connection: &Connection, no: i64, indexed_to: Seq) -> Result<(), Fault> {
    connection
        .prepare_cached("UPDATE watermarks SET indexed_to = ? WHERE no = ?")?
        .execute(params![indexed_to.0, no])?;
    Ok(())
}
