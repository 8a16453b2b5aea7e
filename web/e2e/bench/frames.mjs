// What a change costs in the frame in which it is shown. A page that keeps up shows as many frames a second whatever they
// cost; this tells how near it is to not keeping up.

/** Runs in the page. For each frame that changes something below an element: when it had changed, and when it was painted. */
function watchFrames(selector) {
  const seen = { changed: [], painted: [], over: false };
  let [begun, changed] = [0, 0];
  new MutationObserver(() => (changed = performance.now())).observe(document.querySelector(selector), {
    subtree: true,
    childList: true,
    characterData: true,
  });
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    if (changed === 0) return;
    seen.changed.push(changed - begun);
    seen.painted.push(performance.now() - begun);
    changed = 0;
  };
  const frame = () => {
    if (seen.over) return;
    begun = performance.now();
    // Asked for before anything else is, so the next one is the first callback of its frame too.
    requestAnimationFrame(frame);
    // A message comes only after the frame was painted.
    port2.postMessage(undefined);
  };
  requestAnimationFrame(frame);
  window.frameCosts = seen;
}

/**
 * How many frames changed something below an element while something was done, and the milliseconds that all but a
 * twentieth of them took at most: to lex and to render, and to lay out and to paint too.
 */
export async function frameCosts(page, selector, act) {
  await page.evaluate(watchFrames, selector);
  await act();
  const { changed, painted } = await page.evaluate(() => {
    window.frameCosts.over = true;
    return window.frameCosts;
  });
  return { frames: changed.length, rendered: p95(changed), painted: p95(painted) };
}

function p95(values) {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.ceil(values.length * 0.95) - 1] ?? Number.POSITIVE_INFINITY;
}
