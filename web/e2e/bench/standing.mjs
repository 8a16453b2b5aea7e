// What a reader's eye would notice: a line that moves by itself, and a screen without text. Looked at after each frame was
// painted: what a frame puts right before it is painted, nobody sees.

/** Runs in the page. Follows the turn that stands across the middle, frame by frame. */
function watchLine() {
  const area = document.querySelector(".thread").getBoundingClientRect();
  const middle = area.top + area.height / 2;
  const line = [...document.querySelectorAll("article")].find(
    (turn) => turn.getBoundingClientRect().bottom > middle,
  );
  const seen = { worst: line === undefined ? Number.POSITIVE_INFINITY : 0, over: false };
  const begun = line?.getBoundingClientRect().top;
  const look = () => {
    if (seen.over) return;
    const moved = line?.isConnected
      ? Math.abs(line.getBoundingClientRect().top - begun)
      : Number.POSITIVE_INFINITY;
    seen.worst = Math.max(seen.worst, moved);
    requestAnimationFrame(painted);
  };
  const painted = () => setTimeout(look);
  requestAnimationFrame(painted);
  window.standing = seen;
}

/** Whole pixels that the line under a reader's eyes moved by, at most, while something was done. */
export async function movement(page, act) {
  await page.evaluate(watchLine);
  await act();
  const worst = await page.evaluate(() => {
    window.standing.over = true;
    return window.standing.worst;
  });
  return Math.round(worst);
}

/** Runs in the page. A frame without a turn across the first, second or third quarter of it is blank. */
function watchScreen() {
  const scroller = document.querySelector(".thread");
  const area = scroller.getBoundingClientRect();
  const heights = [0.25, 0.5, 0.75].map((part) => area.top + area.height * part);
  const seen = { frames: 0, blank: 0, over: false };
  const look = (place) => {
    if (seen.over) return;
    requestAnimationFrame(painted);
    // Scrolled since: what is there now was not painted yet.
    if (scroller.scrollTop !== place) return;
    seen.frames += 1;
    // A list that scrolls takes no clicks, so the page cannot be asked what is at a point.
    const turns = [...document.querySelectorAll("article")]
      .filter((turn) => turn.checkVisibility({ visibilityProperty: true }))
      .map((turn) => turn.getBoundingClientRect());
    if (heights.some((height) => turns.every(({ top, bottom }) => height < top || height > bottom)))
      seen.blank += 1;
  };
  const painted = () => setTimeout(look, 0, scroller.scrollTop);
  requestAnimationFrame(painted);
  window.screens = seen;
}

/** Frames that showed no turn while something was done. */
export async function blankFrames(page, act) {
  await page.evaluate(watchScreen);
  await act();
  return page.evaluate(() => {
    window.screens.over = true;
    return window.screens;
  });
}

/** How far the end is from where the reader stands, once a frame was painted. */
export function fromEnd(page) {
  return page.evaluate(async () => {
    const area = document.querySelector(".thread");
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return area.scrollHeight - area.scrollTop - area.clientHeight;
  });
}

export function scrollTo(page, part) {
  return page.evaluate((part) => {
    const area = document.querySelector(".thread");
    area.scrollTop = part * (area.scrollHeight - area.clientHeight);
  }, part);
}

/** Until nothing has moved for a few frames. */
export function stillness(page) {
  return page.evaluate(async () => {
    const area = document.querySelector(".thread");
    let [still, last] = [0, ""];
    for (let frame = 0; frame < 300 && still < 10; frame += 1) {
      await new Promise(requestAnimationFrame);
      const now = `${area.scrollTop} ${area.scrollHeight}`;
      still = now === last ? still + 1 : 0;
      last = now;
    }
  });
}
