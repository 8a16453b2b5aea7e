//! The rates, on a clock that is wound by the tests.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::*;

fn person(number: usize) -> Place {
    Place { kind: ChatKind::Direct, chat: number.to_string(), thread: None }
}

fn group(number: usize) -> Place {
    Place { kind: ChatKind::Group, chat: format!("-{number}"), thread: None }
}

fn limiter() -> Limiter {
    Limiter::new(Rates::default())
}

/// When each of some requests went out, in milliseconds; all of them come at once, in this order.
async fn went_out(limiter: &Limiter, requests: &[(Place, Work)]) -> Vec<(usize, u64)> {
    let begun = Instant::now();
    let mut waiting: FuturesUnordered<_> = requests
        .iter()
        .enumerate()
        .map(|(index, (to, work))| async move {
            limiter.turn(to, *work).await.unwrap();
            (index, u64::try_from(begun.elapsed().as_millis()).unwrap())
        })
        .collect();
    let mut gone = Vec::new();
    while let Some(one) = waiting.next().await {
        gone.push(one);
    }
    gone.sort_by_key(|(_, at)| *at);
    gone
}

#[tokio::test(start_paused = true)]
async fn one_person_gets_one_message_a_second_in_the_order_in_which_they_came() {
    let requests = vec![(person(1), Work::Send); 4];
    let gone = went_out(&limiter(), &requests).await;
    assert_eq!(gone, [(0, 0), (1, 1_000), (2, 2_000), (3, 3_000)]);
}

#[tokio::test(start_paused = true)]
async fn a_group_gets_twenty_a_minute() {
    let requests = vec![(group(1), Work::Send); 41];
    let gone = went_out(&limiter(), &requests).await;
    assert_eq!(gone.iter().filter(|(_, at)| *at < 60_000).count(), 20);
    assert_eq!(gone.iter().filter(|(_, at)| *at < 120_000).count(), 40);
    assert_eq!(gone[40].1, 120_000);
}

#[tokio::test(start_paused = true)]
async fn no_second_has_more_than_the_account_may_and_nobody_waits_much_longer_than_another() {
    let requests: Vec<_> =
        (0..10).flat_map(|_| (0..100).map(|number| (person(number), Work::Send))).collect();
    let gone = went_out(&limiter(), &requests).await;
    for (index, (_, at)) in gone.iter().enumerate() {
        let within = gone[index..].iter().take_while(|(_, later)| *later < at + 1_000).count();
        assert!(within <= 28, "{within} in the second from {at}");
        let bunch = gone[index..].iter().take_while(|(_, later)| *later < at + 100).count();
        assert!(bunch <= 4, "{bunch} at once from {at}");
    }
    // A thousand at 28 a second.
    let last = gone.last().unwrap().1;
    assert!((35_600..=36_000).contains(&last), "{last}");
    // Nobody is served twice more than anybody else, at any time.
    let mut served = vec![0_usize; 100];
    for (index, _) in &gone {
        served[index % 100] += 1;
        assert!(served.iter().max().unwrap() - served.iter().min().unwrap() <= 2);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_goes_before_edits() {
    let limiter = limiter();
    let requests =
        [(person(1), Work::Send), (person(1), Work::Edit), (person(1), Work::Edit), (person(1), Work::Send)];
    // The second edit keeps its distance from the first.
    let gone = went_out(&limiter, &requests).await;
    assert_eq!(gone, [(0, 0), (3, 1_000), (1, 2_000), (2, 3_500)]);
}

#[tokio::test(start_paused = true)]
async fn very_many_edits_do_not_hold_up_what_is_sent() {
    let limiter = limiter();
    let mut requests: Vec<_> = (0..1_000).map(|number| (person(number), Work::Edit)).collect();
    requests.extend((2_000..2_020).map(|number| (person(number), Work::Send)));
    let gone = went_out(&limiter, &requests).await;
    let last_sent = gone.iter().filter(|(index, _)| *index >= 1_000).map(|(_, at)| *at).max();
    assert!(last_sent.unwrap() <= 1_000, "{last_sent:?}");
}

#[tokio::test(start_paused = true)]
async fn edits_in_a_group_are_further_apart_and_leave_some_of_the_minute() {
    let limiter = limiter();
    let gone = went_out(&limiter, &vec![(group(1), Work::Edit); 16]).await;
    assert_eq!(gone[1].1, 3_500);
    assert_eq!(gone[14].1, 14 * 3_500);
    // Fifteen of twenty are used: the next edit waits for the first to be a minute old, a message does not.
    assert_eq!(gone[15].1, 60_000);
    let begun = Instant::now();
    limiter.turn(&group(1), Work::Send).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_short_wait_that_was_asked_for_is_sat_out_and_a_long_one_is_told() {
    let limiter = limiter();
    let begun = Instant::now();
    limiter.told_to_wait(&group(1), Duration::from_secs(4));
    limiter.turn(&group(1), Work::Send).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_secs(4));
    limiter.told_to_wait(&group(1), Duration::from_secs(200));
    let told = limiter.turn(&group(1), Work::Send).await.unwrap_err();
    assert_eq!(told, Paused(Duration::from_secs(200)));
    // Nobody else waits for a group that talks too much.
    limiter.turn(&group(2), Work::Send).await.unwrap();
    limiter.turn(&person(1), Work::Send).await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(4_100), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn when_one_person_was_too_much_everybody_rests_for_a_moment() {
    let limiter = limiter();
    let begun = Instant::now();
    limiter.told_to_wait(&person(1), Duration::from_secs(30));
    limiter.turn(&person(2), Work::Send).await.unwrap();
    assert_eq!(begun.elapsed(), BREATH_MAX);
}

#[tokio::test(start_paused = true)]
async fn there_is_slack_until_an_edit_would_have_to_wait() {
    let limiter = limiter();
    assert!(limiter.slack(&person(1)));
    limiter.turn(&person(1), Work::Send).await.unwrap();
    assert!(!limiter.slack(&person(1)), "it was written to just now");
    assert!(limiter.slack(&person(2)));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(limiter.slack(&person(1)));
    // Half of what the account may is used.
    for number in 10..25 {
        limiter.turn(&person(number), Work::Send).await.unwrap();
    }
    assert!(!limiter.slack(&person(1)));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(limiter.slack(&person(1)));
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_waiting_leaves_no_gap() {
    let limiter = Arc::new(limiter());
    let begun = Instant::now();
    limiter.turn(&person(1), Work::Send).await.unwrap();
    let (one, two) = (person(1), person(1));
    let mut impatient = Box::pin(limiter.turn(&one, Work::Send));
    assert!(impatient.as_mut().now_or_never().is_none());
    let mut next = Box::pin(limiter.turn(&two, Work::Send));
    assert!(next.as_mut().now_or_never().is_none());
    drop(impatient);
    next.await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn places_that_are_idle_are_forgotten() {
    let limiter = limiter();
    for number in 0..10_000 {
        limiter.turn(&person(number), Work::Send).await.unwrap();
    }
    let known = limiter.paces().places.len();
    // A minute's worth at 28 a second is 1,680; twice that before the next look.
    assert!(known <= 4_000, "{known}");
}
