// The cost of a change in the frame that shows it. Frames per second stay constant until a page falls behind;
// the cost per frame shows how much headroom is left.

/**
 * Runs in the page. For each frame that changes something inside an element, records when it changed and when
 * it was painted.
 */
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
    // Requested before anything else, so that it is also the first callback of the next frame.
    requestAnimationFrame(frame);
    // The browser delivers the message only after it painted the frame.
    port2.postMessage(undefined);
  };
  requestAnimationFrame(frame);
  window.frameCosts = seen;
}

/**
 * Counts the frames that changed something inside an element during `act`, and returns their 95th percentiles
 * in milliseconds: to lex and render, and to lay out and paint as well.
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
