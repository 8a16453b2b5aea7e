//! The suite every store must pass. `conformance_suite!(factory)` makes one test of each case; a factory is a
//! [`Fresh`].
//!
//! | file | what it holds a store to |
//! | --- | --- |
//! | `conformance/author.rs` | (writes sessions as a writer does: decide, seal, append, fold) |
//! | `conformance/logs.rs` | what is appended is read back, whole, in order, or not at all |
//! | `conformance/claims.rs` | one writer at a time, epochs that rise |
//! | `conformance/names.rs` | keys and ids are used once |
//! | `conformance/kept.rs` | snapshots, open runs, waiting messages and blobs |
//! | `conformance/lists.rs` | the list of sessions |
//! | `conformance/turns.rs` | pages of turns |
//! | `conformance/search.rs` | what is found |
//! | `conformance/branches.rs` | logs that share a beginning |
//! | `conformance/erased.rs` | what is gone, and what stays for others |
//! | `conformance/random.rs` | random operations give what the reference store gives |

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a suite that tests call")]

mod author;
mod bindings;
mod branches;
mod claims;
mod erased;
mod kept;
mod lists;
mod logs;
mod names;
mod random;
mod search;
mod turns;

use std::sync::Arc;

use crate::Store;

pub use author::Author;

/// Makes stores for the suite.
pub trait Fresh: Send + Sync {
    /// An empty store of its own.
    fn store(&self) -> Arc<dyn Store>;

    /// The store that was made last, after a cold start: all that it knows comes from where it keeps things.
    fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store>;
}

/// The list of cases: makes each public and a test of each in `conformance_suite!`. A case that is missing here is
/// an unreachable `pub`, which the compiler reports.
macro_rules! cases {
    ($dollar:tt $($group:ident { $($case:ident)+ })+) => {
        $(pub use $group::{$($case),+};)+

        /// Makes a test of each case, with a factory from the given expression.
        #[macro_export]
        macro_rules! conformance_suite {
            ($dollar fresh:expr) => {
                $($(
                    #[tokio::test]
                    async fn $case() {
                        $dollar crate::conformance::$case(&$dollar fresh).await;
                    }
                )+)+
            };
        }
    };
}

cases! { $
    bindings {
        a_row_is_changed_by_who_knows_it
        one_of_many_who_bind_at_once_wins
        chats_tell_what_the_list_says
    }
    logs {
        entries_are_read_back_whole_with_their_chain
        an_append_behind_or_beyond_the_end_writes_nothing
        each_append_of_a_batch_answers_for_itself
        many_sessions_share_a_batch
        appends_to_one_session_follow_each_other_in_a_batch
        pages_join_without_gap_or_double
        a_page_ends_at_a_mebibyte
        a_cursor_beyond_the_end_is_an_error
        an_unknown_session_cannot_be_read_or_written
        packed_entries_read_the_same_as_before
        a_cold_start_reads_the_same
        a_reader_beside_the_writer_sees_a_prefix_that_only_grows
        times_may_go_backwards
    }
    claims {
        a_new_session_is_claimed_once
        a_claimed_session_without_entries_is_as_good_as_new
        an_unknown_session_cannot_be_claimed
        a_live_node_keeps_its_sessions_and_a_lapsed_one_loses_them
        the_same_node_claims_again_under_a_higher_epoch
        an_old_epoch_is_refused_in_the_batch_in_which_others_succeed
        epochs_survive_a_cold_start
    }
    names {
        a_key_is_found_by_what_it_was_used_for
        a_used_key_refuses_the_whole_append
        a_key_twice_in_one_append_refuses_it
        the_same_key_is_free_in_another_session
        several_ids_lead_to_one_log
        a_removed_id_is_never_free_again
        a_log_is_written_on_after_its_first_id_was_removed
        an_id_in_use_refuses_the_whole_append
        an_id_added_twice_in_one_append_refuses_it
    }
    kept {
        the_newest_snapshot_is_kept
        an_older_snapshot_never_replaces_a_newer_one
        open_runs_are_those_without_an_end
        a_run_that_is_being_recovered_stays_open
        open_runs_survive_packing_and_a_cold_start
        sessions_with_waiting_messages_are_known
        blobs_are_read_back
        an_unknown_blob_is_none
    }
    lists {
        the_latest_activity_stands_first
        each_user_has_his_own_list_and_finds_his_own_words
        sessions_that_owe_are_found
        sessions_with_undelivered_answers_are_found
        interrupted_sessions_are_found
        pages_of_the_list_join
        each_session_stands_on_one_shelf
        chunks_and_maintenance_leave_the_list_alone
        finished_calls_touch_the_list_at_most_once_a_second
        a_name_by_a_person_beats_a_generated_one
        a_claimed_session_without_entries_is_not_listed
        a_list_is_narrowed_by_tag_and_by_project
        tags_are_counted_for_their_user_outside_the_trash
        the_trash_is_found_by_how_long_something_is_there
        what_goes_on_and_what_waits_for_a_person_is_listed_and_counted
    }
    turns {
        turns_come_newest_first_in_pages
        queued_turns_appear_in_the_order_of_their_runs
        undone_turns_hide_and_come_back
        an_edit_hides_what_it_replaces
        a_cleared_session_has_no_turns
        steered_and_withdrawn_messages_are_no_turns
        turns_are_the_same_however_often_they_are_settled
    }
    search {
        messages_and_answers_are_found_by_all_their_words
        the_newest_hits_come_first
        an_edited_queued_message_is_found_by_its_new_words_only
        reasoning_is_not_found
        an_answer_is_found_once_it_is_complete
        no_character_of_a_search_is_an_operator
        a_session_is_found_by_the_name_that_it_has
        a_search_is_narrowed_by_where_and_by_who_said_it
        words_of_every_script_are_found
        a_long_text_is_found_by_a_phrase_at_its_end
        pages_of_a_search_give_every_hit_once
        a_name_is_found_among_many_texts
        removed_and_undone_texts_are_not_found
        texts_that_an_edit_replaced_are_not_found
        a_steered_message_is_found_as_long_as_its_turn_is_seen
        a_branch_is_found_by_shared_texts_even_without_its_origin
    }
    branches {
        a_branch_shares_the_beginning_and_goes_on_by_itself
        a_branch_lists_and_shows_the_turns_it_shares
        a_branch_is_named_and_counted_as_of_where_it_began
        a_branch_starts_without_keys_runs_and_waiting_messages
        a_branch_of_a_branch_reads_through
        a_branch_beyond_the_end_or_of_nothing_is_refused
        a_branch_whose_first_entry_never_came_is_no_session
        a_branch_survives_its_origin
        an_origin_survives_its_branch
        a_shared_beginning_goes_with_its_last_branch
    }
    erased {
        an_erased_session_is_gone_and_its_ids_stay_used
        an_erased_session_stays_gone_after_a_cold_start
        erasing_needs_the_current_claim
        a_blob_goes_with_its_last_session
        a_blob_that_another_session_just_posted_stays
        a_blob_in_a_shared_beginning_stays_for_the_branch
        a_branch_keeps_only_the_blobs_that_it_shares
        a_message_names_only_bytes_that_are_stored
        an_upload_outlives_other_sessions_with_the_same_bytes
        an_upload_that_no_message_names_expires
        erasing_one_session_leaves_the_others_alone
        a_reader_beside_an_erase_sees_the_log_or_nothing
    }
    random {
        random_operations_give_what_the_reference_store_gives
        random_long_sessions_give_what_the_reference_store_gives
        random_branches_and_erasures_give_what_the_reference_store_gives
        random_cold_starts_give_what_the_reference_store_gives
    }
}
