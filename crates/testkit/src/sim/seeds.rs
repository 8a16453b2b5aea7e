//! Worlds of the simulation that were broken once.

use super::live;

/// Readers of an outage woke in an order of their own: not the same world each time.
#[test]
fn seed_27_is_the_same_world_each_time() {
    assert_eq!(live(27), live(27));
}

/// A clock that jumped a day ahead made its node lose a run, whose journal was then waited for another day.
#[test]
fn seed_47050_comes_to_its_end() {
    assert_eq!(live(47_050).broken, None);
}

/// A slow memory provider kept a drain so long that it ended before it interrupted a run.
#[test]
fn seed_9070_drains_although_memory_is_slow() {
    assert_eq!(live(9_070).broken, None);
}

/// A drain interrupted a chat while its store was away, and left no mark.
#[test]
fn seed_391_marks_what_a_drain_interrupts_in_an_outage() {
    assert_eq!(live(391).broken, None);
}

/// A chat's run was interrupted in an outage; its journal brought back the end without the mark.
#[test]
fn seed_553_marks_what_comes_back_from_a_journal() {
    assert_eq!(live(553).broken, None);
}

/// An operator marked a chat while a run of it started, and the run was told of it too.
#[test]
fn seed_518246_may_tell_what_is_marked_while_the_run_starts() {
    assert_eq!(live(518_246).broken, None);
}
