//! What is appended is read back: whole, in order, chained, or not at all.

use std::sync::atomic::{AtomicBool, Ordering};

use session::{Event, Link, Progress, RunId, Seq, Time};

use super::Fresh;
use super::author::{Author, NODE, START, id, post, read_all};
use crate::{Append, AppendError, Claim, Claiming, OpenError, PAGE_BYTES, ReadError, Urgency};

pub async fn entries_are_read_back_whole_with_their_chain(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.turn(&*store, "What is a log?", "A sequence of entries.").await;
    author.turn(&*store, "\u{0}\u{1}é\u{1f300}\"\\\n", "").await;
    author.assert_read(&*store).await;
    let mut last = Link::START;
    for entry in read_all(&*store, id(1)).await {
        assert_eq!(
            (entry.seq, entry.hash),
            (last.seq.next(), last.hash.next(entry.seq, entry.time, entry.epoch, &entry.body))
        );
        last = entry.link();
    }
}

pub async fn an_append_behind_or_beyond_the_end_writes_nothing(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let behind = author.clone();
    author.post(&*store, "first").await;
    let head = author.end().seq;
    assert_eq!(behind.refused(&*store, post("second")).await, AppendError::Conflict { head });
    let mut beyond = author.clone();
    beyond.accept(&author.append(vec![Event::SessionCleared {}]));
    assert_eq!(beyond.refused(&*store, post("third")).await, AppendError::Conflict { head });
    let mut other = author.append(vec![Event::SessionCleared {}]);
    other.last = Link { hash: Link::START.hash, ..other.last };
    assert_eq!(store.append(vec![other]).await, [Err(AppendError::Conflict { head })]);
    author.assert_read(&*store).await;
}

pub async fn each_append_of_a_batch_answers_for_itself(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut one = Author::create(&*store, id(1)).await;
    let mut two = Author::create(&*store, id(2)).await;
    let behind = two.clone();
    two.post(&*store, "before").await;
    let good = one.append(one.decide(post("good")).unwrap().events);
    let late = behind.append(behind.decide(post("late")).unwrap().events);
    let unknown = Append { claim: Claim { session: id(3), ..one.claim }, ..good.clone() };
    let results = store.append(vec![late, good.clone(), unknown]).await;
    let conflict = AppendError::Conflict { head: two.end().seq };
    assert_eq!(results, [Err(conflict), Ok(()), Err(AppendError::Deleted(id(3)))]);
    one.accept(&good);
    one.assert_read(&*store).await;
    two.assert_read(&*store).await;
}

pub async fn many_sessions_share_a_batch(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut authors = Vec::new();
    for number in 0..40 {
        authors.push(Author::create(&*store, id(number)).await);
    }
    for round in 0..5 {
        let text = format!("round {round}");
        let batch: Vec<Append> =
            authors.iter().map(|author| author.append(author.decide(post(&text)).unwrap().events)).collect();
        assert_eq!(store.append(batch.clone()).await, vec![Ok(()); 40]);
        authors.iter_mut().zip(&batch).for_each(|(author, append)| author.accept(append));
    }
    assert_eq!(store.append(Vec::new()).await, []);
    for author in &authors {
        author.assert_read(&*store).await;
    }
}

pub async fn appends_to_one_session_follow_each_other_in_a_batch(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    let before = author.clone();
    let mut batch = Vec::new();
    for text in ["one", "two", "three"] {
        let append = author.append(author.decide(post(text)).unwrap().events);
        author.accept(&append);
        batch.push(append);
    }
    let again = before.append(before.decide(post("four")).unwrap().events);
    batch.push(again);
    let conflict = AppendError::Conflict { head: author.end().seq };
    assert_eq!(store.append(batch).await, [Ok(()), Ok(()), Ok(()), Err(conflict)]);
    author.assert_read(&*store).await;
}

pub async fn pages_join_without_gap_or_double(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.turn(&*store, "packed", "before").await;
    store.settle().await.unwrap();
    author.turn(&*store, "not packed", "after").await;
    let count = author.log.len();
    for after in 0..=count {
        for limit in 0..=count + 1 {
            let page = store.read(id(1), Seq(after as u64), limit).await.unwrap();
            assert_eq!(page, author.log[after..count.min(after + limit)], "after {after}, at most {limit}");
        }
    }
    let rest = store.read(id(1), Seq(2), usize::MAX).await.unwrap();
    assert_eq!(rest, author.log[2..]);
}

pub async fn a_page_ends_at_a_mebibyte(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.turn(&*store, &"a long question ".repeat(PAGE_BYTES / 8), "answer").await;
    author.turn(&*store, &"another ".repeat(PAGE_BYTES / 16), "answer").await;
    let branch = author.branch(&*store, id(2), author.end().seq).await;
    for settled in [false, true] {
        if settled {
            store.settle().await.unwrap();
        }
        for of in [&author, &branch] {
            let mut after = Seq(0);
            while after < of.end().seq {
                let page = store.read(of.id(), after, usize::MAX).await.unwrap();
                let last = page.last().unwrap();
                let before_last: usize = page[..page.len() - 1].iter().map(|entry| entry.body.len()).sum();
                let bytes = before_last + last.body.len();
                assert!(before_last < PAGE_BYTES, "the page went on after {before_last} bytes");
                assert!(bytes >= PAGE_BYTES || last.seq == of.end().seq, "the page ended at {bytes} bytes");
                after = last.seq;
            }
            of.assert_read(&*store).await;
        }
    }
}

pub async fn a_cursor_beyond_the_end_is_an_error(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.turn(&*store, "question", "answer").await;
    for _ in 0..2 {
        let head = author.end().seq;
        assert_eq!(store.read(id(1), head, 10).await, Ok(Vec::new()));
        let beyond = store.read(id(1), head.next(), 10).await;
        assert_eq!(beyond, Err(ReadError::BeyondEnd { after: head.next(), head }));
        store.settle().await.unwrap();
    }
}

pub async fn an_unknown_session_cannot_be_read_or_written(fresh: &dyn Fresh) {
    let store = fresh.store();
    let author = Author::create(&*store, id(1)).await;
    assert_eq!(store.read(id(2), Seq(0), 10).await, Err(ReadError::Unknown(id(2))));
    assert_eq!(store.open(id(2)).await, Err(OpenError::Unknown(id(2))));
    let stray = Append { claim: Claim { session: id(2), ..author.claim }, ..author.append(Vec::new()) };
    assert_eq!(store.append(vec![stray]).await, [Err(AppendError::Deleted(id(2)))]);
    store.claim(id(3), NODE, Claiming::New, START).await.unwrap();
    assert_eq!(store.open(id(3)).await, Err(OpenError::Unknown(id(3))));
    assert_eq!(store.read(id(3), Seq(0), 10).await, Ok(Vec::new()));
}

pub async fn packed_entries_read_the_same_as_before(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut one = Author::create(&*store, id(1)).await;
    let mut two = Author::create(&*store, id(2)).await;
    one.turn(&*store, "first", "an answer").await;
    two.post(&*store, "a run that goes on").await;
    two.progress(&*store, Progress::Text("so far".to_owned())).await;
    store.settle().await.unwrap();
    one.assert_read(&*store).await;
    two.assert_read(&*store).await;
    two.progress(&*store, Progress::Text(", and further".to_owned())).await;
    two.assert_read(&*store).await;
    store.settle().await.unwrap();
    two.progress(&*store, Progress::Completed).await;
    one.turn(&*store, "second", "another").await;
    one.assert_read(&*store).await;
    two.assert_read(&*store).await;
    store.settle().await.unwrap();
    one.assert_read(&*store).await;
    two.assert_read(&*store).await;
}

pub async fn a_cold_start_reads_the_same(fresh: &dyn Fresh) {
    let mut store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    for round in 0..3 {
        author.turn(&*store, "question", "answer").await;
        store = fresh.reopen(store);
        author.assert_read(&*store).await;
        author.turn(&*store, "and", format!("round {round}").as_str()).await;
        store.settle().await.unwrap();
        store = fresh.reopen(store);
        author.assert_read(&*store).await;
    }
}

pub async fn a_reader_beside_the_writer_sees_a_prefix_that_only_grows(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    author.turn(&*store, "shared", "beginning").await;
    let branch = author.branch(&*store, id(2), author.end().seq).await;
    let done = AtomicBool::new(false);
    let write = async {
        for round in 0..60 {
            author.turn(&*store, "question", &format!("answer {round}")).await;
            if round % 3 == 0 {
                store.settle().await.unwrap();
            }
        }
        done.store(true, Ordering::SeqCst);
        author
    };
    let read = async {
        let mut seen = Vec::new();
        while !done.load(Ordering::SeqCst) {
            let now = read_all(&*store, id(1)).await;
            assert!(now.starts_with(&seen), "nothing seen is ever unsaid");
            seen = now;
            assert_eq!(read_all(&*store, id(2)).await, branch.log);
        }
        seen
    };
    let (author, seen) = futures_util::future::join(write, read).await;
    assert!(author.log.starts_with(&seen));
    author.assert_read(&*store).await;
}

pub async fn times_may_go_backwards(fresh: &dyn Fresh) {
    let store = fresh.store();
    let mut author = Author::create(&*store, id(1)).await;
    for time in [5, -3, i64::MAX, i64::MIN, 0] {
        author.now = Time(time);
        let run = RunId(1);
        author.write(&*store, vec![Event::TextAdded { run, text: "tick".to_owned() }]).await;
    }
    let mut essential = author.append(vec![Event::SessionCleared {}]);
    essential.urgency = Urgency::Essential;
    assert_eq!(store.append(vec![essential.clone()]).await, [Ok(())]);
    author.accept(&essential);
    author.assert_read(&*store).await;
    store.settle().await.unwrap();
    author.assert_read(&*store).await;
}
