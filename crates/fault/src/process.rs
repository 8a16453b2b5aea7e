//! Processes within a process: in test builds the tasks of one node can be paused, and killed as one, at any point at
//! which a task gives way. Whatever a task starts belongs to the same process.

/// Lets a task belong to the process that starts it. Nothing at all in a shipped build.
#[cfg(not(feature = "inject"))]
#[inline(always)]
pub fn within<F>(task: F) -> F {
    task
}

#[cfg(feature = "inject")]
pub use injected::{Killed, Process, Within, within};

#[cfg(feature = "inject")]
mod injected {
    use std::cell::RefCell;
    use std::future::Future;
    use std::pin::Pin;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
    use std::task::{Context, Poll, Waker};

    thread_local! {
        static CURRENT: RefCell<Option<Process>> = const { RefCell::new(None) };
    }

    /// The tasks of one simulated process.
    #[derive(Debug, Clone)]
    pub struct Process(Arc<Inner>);

    #[derive(Debug)]
    struct Inner {
        dead: AtomicBool,
        paused: AtomicBool,
        /// Polls left until it dies; none when at the highest number.
        polls_left: AtomicU64,
        /// Where the order of its tasks comes from.
        random: AtomicU64,
        /// One in so many polls gives way first.
        give_way: u64,
        wakers: Mutex<Vec<Option<Waker>>>,
    }

    /// The process died before the answer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Killed;

    impl Process {
        /// A process whose tasks take turns in an order that follows from the seed; one in `give_way` polls lets the
        /// others go first.
        pub fn new(seed: u64, give_way: u64) -> Self {
            Self(Arc::new(Inner {
                dead: AtomicBool::new(false),
                paused: AtomicBool::new(false),
                polls_left: AtomicU64::new(u64::MAX),
                random: AtomicU64::new(seed | 1),
                give_way: give_way.max(2),
                wakers: Mutex::default(),
            }))
        }

        fn wakers(&self) -> MutexGuard<'_, Vec<Option<Waker>>> {
            self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner)
        }

        fn wake_all(&self) {
            let wakers: Vec<Waker> = self.wakers().iter_mut().filter_map(Option::take).collect();
            wakers.into_iter().for_each(Waker::wake);
        }

        /// Ends every task where it stands.
        pub fn kill(&self) {
            self.0.dead.store(true, Ordering::Relaxed);
            self.wake_all();
        }

        /// Kills it after so many more polls of its tasks.
        pub fn kill_after(&self, polls: u64) {
            self.0.polls_left.store(polls, Ordering::Relaxed);
        }

        /// Holds every task where it stands, or lets them go on.
        pub fn pause(&self, paused: bool) {
            self.0.paused.store(paused, Ordering::Relaxed);
            if !paused {
                self.wake_all();
            }
        }

        /// Whether it was killed.
        pub fn is_dead(&self) -> bool {
            self.0.dead.load(Ordering::Relaxed)
        }

        /// Does something as a task of this process; answers that it died if it does so first.
        pub fn run<F: Future>(&self, task: F) -> impl Future<Output = Result<F::Output, Killed>> + use<F> {
            let mut task = Box::pin(Within::new(Some(self.clone()), task));
            let process = self.clone();
            std::future::poll_fn(move |context| match task.as_mut().poll(context) {
                Poll::Ready(output) => Poll::Ready(Ok(output)),
                Poll::Pending if process.is_dead() => Poll::Ready(Err(Killed)),
                Poll::Pending => Poll::Pending,
            })
        }

        fn next_random(&self) -> u64 {
            let mut number = self.0.random.load(Ordering::Relaxed);
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            self.0.random.store(number, Ordering::Relaxed);
            number
        }

        /// Counts a poll; the one after the last kills.
        fn count_poll(&self) {
            let left = self.0.polls_left.load(Ordering::Relaxed);
            if left == 0 && !self.is_dead() {
                self.kill();
            } else if left != u64::MAX {
                self.0.polls_left.store(left.saturating_sub(1), Ordering::Relaxed);
            }
        }
    }

    /// Lets a task belong to the process that starts it.
    pub fn within<F: Future>(task: F) -> Within<F> {
        Within::new(CURRENT.with_borrow(Clone::clone), task)
    }

    /// A task of a process.
    #[derive(Debug)]
    pub struct Within<F> {
        process: Option<Process>,
        /// Its place among the wakers.
        place: Option<usize>,
        task: Option<Pin<Box<F>>>,
        gave_way: bool,
    }

    impl<F> Within<F> {
        fn new(process: Option<Process>, task: F) -> Self {
            Self { process, place: None, task: Some(Box::pin(task)), gave_way: false }
        }
    }

    impl<F: Future> Future for Within<F> {
        type Output = F::Output;

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
            let this = &mut *self;
            let Some(process) = this.process.clone() else {
                return this.task.as_mut().map_or(Poll::Pending, |task| task.as_mut().poll(context));
            };
            process.count_poll();
            if process.is_dead() {
                let before = CURRENT.replace(Some(process));
                this.task = None;
                CURRENT.set(before);
                return Poll::Pending;
            }
            let place = *this.place.get_or_insert_with(|| {
                let mut wakers = process.wakers();
                wakers.push(None);
                wakers.len() - 1
            });
            process.wakers()[place] = Some(context.waker().clone());
            if process.0.paused.load(Ordering::Relaxed) {
                return Poll::Pending;
            }
            if !this.gave_way && process.next_random().is_multiple_of(process.0.give_way) {
                this.gave_way = true;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            this.gave_way = false;
            let before = CURRENT.replace(Some(process));
            let polled = this.task.as_mut().map_or(Poll::Pending, |task| task.as_mut().poll(context));
            CURRENT.set(before);
            polled
        }
    }
}
