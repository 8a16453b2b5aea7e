// Measures a page while something happens in it: frames, script, long tasks, and how long keys take that are typed into
// its field meanwhile.

/** Runs in the page. Keys that take less than the browser tells of count as this. */
const SHORTEST_TOLD = 16;

function begin(shortest) {
  const seen = { frames: 0, gap: 0, longest: 0, keys: [], begun: performance.now(), over: false };
  let last = seen.begun;
  const frame = (now) => {
    if (seen.over) return;
    seen.frames += 1;
    seen.gap = Math.max(seen.gap, now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  const tasks = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      if (startTime >= seen.begun) seen.longest = Math.max(seen.longest, duration);
  });
  tasks.observe({ type: "longtask" });
  const keys = new PerformanceObserver((list) => {
    for (const { name, startTime, duration } of list.getEntries())
      if (name === "keydown" && startTime >= seen.begun) seen.keys.push(duration);
  });
  keys.observe({ type: "event", durationThreshold: shortest });
  window.metered = seen;
}

/** Runs in the page. What was seen until now; the browser tells of a task and a key only after it. */
async function end() {
  const seen = window.metered;
  const seconds = (performance.now() - seen.begun) / 1_000;
  const { frames, gap } = seen;
  seen.over = true;
  await new Promise((resolve) => setTimeout(resolve, 300));
  return { seconds, frames, gap, longest: seen.longest, keys: seen.keys };
}

export class Meter {
  static async of(page) {
    const meter = new Meter();
    meter.page = page;
    // The time that the script itself had, and the time that went by while it ran: on a busy machine they differ.
    for (const [name, timeDomain] of [
      ["own", "threadTicks"],
      ["wall", "timeTicks"],
    ]) {
      meter[name] = await page.context().newCDPSession(page);
      await meter[name].send("Performance.enable", { timeDomain });
    }
    return meter;
  }

  async metrics(of) {
    const { metrics } = await this[of].send("Performance.getMetrics");
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  }

  /** For so many seconds, with a key typed into the focused field eight times a second. */
  async measure(seconds) {
    const before = { own: await this.metrics("own"), wall: await this.metrics("wall") };
    await this.page.evaluate(begin, SHORTEST_TOLD);
    const deadline = performance.now() + seconds * 1_000;
    let pressed = 0;
    while (performance.now() < deadline) {
      await this.page.keyboard.press("hern "[pressed % 5]);
      pressed += 1;
      await new Promise((resolve) => setTimeout(resolve, 125));
    }
    const after = { own: await this.metrics("own"), wall: await this.metrics("wall") };
    const seen = await this.page.evaluate(end);
    const spent = (of, what) => ((after[of][what] - before[of][what]) * 1_000) / seen.seconds;
    const keys = [...seen.keys, ...Array(Math.max(0, pressed - seen.keys.length)).fill(SHORTEST_TOLD)];
    return {
      fps: seen.frames / seen.seconds,
      script: spent("own", "ScriptDuration"),
      scriptWall: spent("wall", "ScriptDuration"),
      layout: spent("own", "LayoutDuration") + spent("own", "RecalcStyleDuration"),
      longest: seen.longest,
      gap: seen.gap,
      key: keys.toSorted((one, other) => one - other)[Math.ceil(keys.length * 0.95) - 1] ?? 0,
    };
  }

  /** Megabytes that are in use once everything else was let go. */
  async heap() {
    await this.own.send("HeapProfiler.enable");
    await this.own.send("HeapProfiler.collectGarbage");
    const { JSHeapUsedSize } = await this.metrics("own");
    await this.own.send("HeapProfiler.disable");
    return JSHeapUsedSize / 1_000_000;
  }
}
