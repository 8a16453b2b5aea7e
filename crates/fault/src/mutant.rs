//! Mutants: planted bugs in shipped code, one switched on at a time by `EVERTURN_MUTANT`, each of which must turn
//! the tests of its rules red.

/// A planted bug and the contract rules whose tests must notice it.
#[derive(Debug, Clone, Copy)]
pub struct Mutant {
    /// The value of `EVERTURN_MUTANT` that plants it.
    pub name: &'static str,
    /// Rule ids in lower case.
    pub bites: &'static [&'static str],
}

/// Every mutant, in the order of the rules that it bites.
pub const MUTANTS: &[Mutant] = &[
    Mutant { name: "missing_journal_is_unused", bites: &["r1", "r2", "r3", "r6"] },
    Mutant { name: "heal_reverses_output", bites: &["r1"] },
    Mutant { name: "spool_flushed_twice", bites: &["r1"] },
    Mutant { name: "heals_overlap", bites: &["r2"] },
    Mutant { name: "missing_journal_costs_attempt", bites: &["r3"] },
    Mutant { name: "sealed_empty_never_settles", bites: &["r4"] },
    Mutant { name: "healer_leaves_unsealed", bites: &["r5"] },
    Mutant { name: "marker_never_gives_up", bites: &["r6"] },
    Mutant { name: "unknown_variant_is_damage", bites: &["r7"] },
    Mutant { name: "follow_does_not_heal", bites: &["r8"] },
    Mutant { name: "stop_drops_gathered", bites: &["c1", "c2", "c5", "c6"] },
    Mutant { name: "stop_drops_reasoning", bites: &["c1", "c2", "c6"] },
    Mutant { name: "stop_ends_twice", bites: &["c3"] },
    Mutant { name: "stop_drops_calls", bites: &["c4", "c5", "c7"] },
    Mutant { name: "stop_invents_answer", bites: &["c8"] },
    Mutant { name: "failure_drops_attachments", bites: &["c9", "c12"] },
    Mutant { name: "failure_loses_message", bites: &["c9", "c10", "c12"] },
    Mutant { name: "no_key", bites: &["c10"] },
    Mutant { name: "no_repair", bites: &["c11"] },
    Mutant { name: "no_fence", bites: &["c11"] },
    Mutant { name: "interruption_loses_queue", bites: &["c12"] },
    Mutant { name: "half_tag_is_answer", bites: &["c13"] },
    Mutant { name: "half_call_is_dropped", bites: &["c13"] },
    Mutant { name: "seam_is_left_as_it_is", bites: &["c14"] },
    Mutant { name: "stop_sends_queue", bites: &["c15"] },
    Mutant { name: "drained_run_waits", bites: &["c16"] },
    Mutant { name: "stop_forgets_interrupted_run", bites: &["c15"] },
    Mutant { name: "freshness_counts_from_start", bites: &["c16"] },
    Mutant { name: "resume_overtakes_message", bites: &["c16"] },
    Mutant { name: "progress_counts_as_loop", bites: &["c17"] },
    Mutant { name: "steer_waits_for_a_call", bites: &["c18"] },
    Mutant { name: "steer_cuts_resumed_text", bites: &["c18"] },
    Mutant { name: "output_limit_fails", bites: &["c19"] },
    Mutant { name: "summary_hides_answered_turn", bites: &["c20"] },
    Mutant { name: "prompt_ends_at_state", bites: &["c21"] },
    Mutant { name: "undo_reaches_state_only", bites: &["c22"] },
    Mutant { name: "message_names_lost_file", bites: &["c23"] },
    Mutant { name: "unknown_finish_is_whole", bites: &["c24"] },
    Mutant { name: "provider_part_is_dropped", bites: &["c25"] },
    Mutant { name: "provider_part_goes_elsewhere", bites: &["c25"] },
    Mutant { name: "comments_are_silence", bites: &["c26"] },
    Mutant { name: "retry_doubles_text", bites: &["c27"] },
    Mutant { name: "title_asks_first_model", bites: &["c28"] },
    Mutant { name: "title_asks_for_ever", bites: &["c29"] },
    Mutant { name: "session_stays_unnamed", bites: &["p19"] },
    Mutant { name: "acknowledge_before_durable", bites: &["p1", "p8"] },
    Mutant { name: "chunk_touches_list", bites: &["p2"] },
    Mutant { name: "end_leaves_list", bites: &["p3", "p16"] },
    Mutant { name: "maintenance_moves_activity", bites: &["p4"] },
    Mutant { name: "healing_moves_activity", bites: &["p4"] },
    Mutant { name: "flush_waits_for_end", bites: &["p5"] },
    Mutant { name: "no_flush_interval", bites: &["p5"] },
    Mutant { name: "quiet_run_writes", bites: &["p6"] },
    Mutant { name: "flush_outlives_run", bites: &["p7"] },
    Mutant { name: "answer_before_append", bites: &["p8"] },
    Mutant { name: "tool_leaves_activity", bites: &["p9"] },
    Mutant { name: "two_writers", bites: &["p10", "p17"] },
    Mutant { name: "end_overtakes_output", bites: &["p11"] },
    Mutant { name: "silent_end_completes", bites: &["p12"] },
    Mutant { name: "panic_leaves_run_open", bites: &["c9", "c12", "p13"] },
    Mutant { name: "refused_command_ends_run", bites: &["p13"] },
    Mutant { name: "unknown_id_creates", bites: &["p13"] },
    Mutant { name: "title_overwrites_name", bites: &["p14"] },
    Mutant { name: "operation_in_two_appends", bites: &["p15"] },
    Mutant { name: "resume_off_by_one", bites: &["p15"] },
    Mutant { name: "stop_leaves_open_run", bites: &["p16"] },
    Mutant { name: "deleted_id_leads_on", bites: &["p18"] },
    Mutant { name: "commit_clears_newer_generation", bites: &["m1"] },
    Mutant { name: "failed_commit_forgets_owner", bites: &["m2", "m3"] },
    Mutant { name: "replacement_takes_over", bites: &["m4"] },
    Mutant { name: "named_owner_takes_over", bites: &["m5"] },
    Mutant { name: "clean_session_commits", bites: &["m6", "m15", "m16"] },
    Mutant { name: "unregistering_drops_debt", bites: &["m7"] },
    Mutant { name: "leaving_forgets_memory", bites: &["m8", "m10", "m11"] },
    Mutant { name: "release_before_flush", bites: &["m11"] },
    Mutant { name: "one_commit_at_a_time", bites: &["m12"] },
    Mutant { name: "commit_blocks_its_session", bites: &["m13"] },
    Mutant { name: "every_turn_is_owed", bites: &["m14"] },
    Mutant { name: "restart_forgets_debt", bites: &["m17"] },
    Mutant { name: "offered_segment_grows", bites: &["m18"] },
    Mutant { name: "bind_without_looking", bites: &["g1"] },
    Mutant { name: "restart_forgets_marks", bites: &["g2", "g9", "g24", "g25"] },
    Mutant { name: "every_row_is_suspended", bites: &["g3"] },
    Mutant { name: "bad_time_is_damage", bites: &["g4"] },
    Mutant { name: "marks_have_one_reason", bites: &["g5", "g6"] },
    Mutant { name: "unknown_chat_says_yes", bites: &["g7", "g12"] },
    Mutant { name: "suspended_chat_is_marked", bites: &["g8"] },
    Mutant { name: "clearing_leaves_mark", bites: &["g10"] },
    Mutant { name: "clearing_says_yes", bites: &["g11"] },
    Mutant { name: "message_clears_mark", bites: &["g13"] },
    Mutant { name: "suspended_chat_goes_on", bites: &["g14", "g15", "g30"] },
    Mutant { name: "recent_suspends_marked", bites: &["g16"] },
    Mutant { name: "suspends_in_silence", bites: &["g17"] },
    Mutant { name: "interruption_leaves_no_mark", bites: &["g18", "g24", "g25", "g33"] },
    Mutant { name: "every_stop_is_a_restart", bites: &["g19"] },
    Mutant { name: "resume_note_needs_results", bites: &["g20"] },
    Mutant { name: "two_notes", bites: &["g21"] },
    Mutant { name: "no_tool_tail_note", bites: &["g22"] },
    Mutant { name: "note_for_everyone", bites: &["g23"] },
    Mutant { name: "drain_marks_its_begin", bites: &["g26", "g27"] },
    Mutant { name: "unbuilt_agent_is_marked", bites: &["g28"] },
    Mutant { name: "stop_is_not_told", bites: &["g29"] },
    Mutant { name: "stuck_loop_goes_on", bites: &["g30"] },
    Mutant { name: "completed_turn_keeps_mark", bites: &["g31"] },
    Mutant { name: "reply_is_not_owed", bites: &["g32"] },
    // These show only in a process that continues after a fault. The simulation finds them.
    Mutant { name: "durable_append_is_not_told", bites: &[] },
    Mutant { name: "waiting_message_is_forgotten", bites: &[] },
    Mutant { name: "outage_clears_slot_early", bites: &[] },
    Mutant { name: "unreadable_log_has_nothing", bites: &[] },
    Mutant { name: "slot_is_lent_twice", bites: &[] },
    Mutant { name: "reserved_slot_is_lost", bites: &[] },
    Mutant { name: "failed_repair_is_forgotten", bites: &[] },
    // Only a power cut shows it: the crash campaign's cuts turn red.
    Mutant { name: "no_sync", bites: &[] },
];

/// Mutants that show only in a process that continues after a fault. No rule finds them; the simulation does.
pub const FOUND_BY_SIMULATION: &[&str] = &[
    "durable_append_is_not_told",
    "waiting_message_is_forgotten",
    "outage_clears_slot_early",
    "unreadable_log_has_nothing",
    "slot_is_lent_twice",
    "reserved_slot_is_lost",
    "failed_repair_is_forgotten",
];

/// Whether the mutant is planted. Always false in a shipped build.
#[cfg(not(feature = "inject"))]
#[inline(always)]
pub fn planted(_name: &'static str) -> bool {
    false
}

/// Whether the mutant is planted in this process.
#[cfg(feature = "inject")]
#[expect(clippy::disallowed_methods, reason = "test builds are armed from the environment")]
#[expect(clippy::panic, reason = "a mutant that is missing from the list would never be run")]
pub fn planted(name: &'static str) -> bool {
    use std::sync::LazyLock;
    static PLANTED: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("EVERTURN_MUTANT").ok());
    match PLANTED.as_deref() {
        None => false,
        Some(_) if !MUTANTS.iter().any(|mutant| mutant.name == name) => {
            panic!("mutant {name} is not in the list")
        }
        Some(planted) => planted == name,
    }
}
