// Loads a part of the page until it is there.

/** Pauses between attempts, in milliseconds; the last one repeats. */
const PAUSES = [500, 1_000, 2_000, 5_000];

/** Loads a module. Retries after a pause, or as soon as the browser is online. */
export async function loadWithRetry<T>(
  load: () => Promise<T>,
  pauses: readonly number[] = PAUSES,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await load();
    } catch {
      await pause(pauses[Math.min(attempt, pauses.length - 1)] ?? 0);
    }
  }
}

function pause(length: number): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      done();
    };
    const timer = setTimeout(end, length);
    addEventListener("online", end);
  });
}
