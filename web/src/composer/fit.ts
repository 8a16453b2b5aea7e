// Browsers that cannot let a field grow with its text are helped: it is measured once a frame, however many keys came.

/** The most that a field takes of the window, as in the style sheet. */
const PART = 0.4;

let grows: boolean | undefined;
const waiting = new Set<HTMLTextAreaElement>();

/** Lets a field be as tall as its text, up to a part of the window. */
export function fit(area: HTMLTextAreaElement): void {
  grows ??= globalThis.CSS?.supports?.("field-sizing", "content") ?? false;
  if (grows) return;
  if (waiting.size === 0) requestAnimationFrame(measure);
  waiting.add(area);
}

function measure(): void {
  for (const area of waiting) {
    const box = area.parentElement;
    // Held open meanwhile: the conversation above must not move because something is measured here.
    if (box !== null) box.style.minHeight = `${box.offsetHeight}px`;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, window.innerHeight * PART)}px`;
    if (box !== null) box.style.minHeight = "";
  }
  waiting.clear();
}
