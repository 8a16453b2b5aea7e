// Lets expensive rendering take only a part of each task, so that the page stays responsive.

/** The time in milliseconds that deferred work may take in one task. */
const SLICE = 10;

type Job = () => void;

const waiting = new Set<Job>();
let scheduled = false;
let sliceEnd = 0;

/** Runs a job now if this task has time left, and otherwise in a later one. Returns how to cancel it. */
export function inSlices(job: Job): () => void {
  if (waiting.size === 0 && hasTime()) {
    job();
    return () => {};
  }
  waiting.add(job);
  return () => void waiting.delete(job);
}

function hasTime(): boolean {
  const now = performance.now();
  if (!scheduled) {
    scheduled = true;
    sliceEnd = now + SLICE;
    setTimeout(nextSlice);
  }
  return now < sliceEnd;
}

function nextSlice(): void {
  scheduled = false;
  for (const job of waiting) {
    if (!hasTime()) return;
    waiting.delete(job);
    job();
  }
}
