// Fallback for browsers without `field-sizing`: measures the field once per frame, however many keys were pressed.

/** The largest part of the window's height that a field takes. Keep in sync with the style sheet. */
const PART = 0.4;

let grows: boolean | undefined;
const waiting = new Set<HTMLTextAreaElement>();

/** Makes a field as tall as its text, up to a part of the window. */
export function fit(area: HTMLTextAreaElement): void {
  grows ??= globalThis.CSS?.supports?.("field-sizing", "content") ?? false;
  if (grows) return;
  if (waiting.size === 0) requestAnimationFrame(measure);
  waiting.add(area);
}

function measure(): void {
  for (const area of waiting) {
    const box = area.parentElement;
    // Fixes the height of the box while measuring, so that the turns above do not move.
    if (box !== null) box.style.minHeight = `${box.offsetHeight}px`;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, window.innerHeight * PART)}px`;
    if (box !== null) box.style.minHeight = "";
  }
  waiting.clear();
}
