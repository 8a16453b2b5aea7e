/**
 * Lets work that is asked for often happen once a frame, and once a second while nobody looks: a page that is hidden has no
 * frames, and one that is looked at again does not wait.
 */
export function onceAFrame(work: () => void): () => void {
  let takeBack: (() => void) | undefined;
  const now = () => {
    takeBack = undefined;
    work();
  };
  const soon = () => {
    if (takeBack !== undefined) return;
    if (document.visibilityState === "hidden") {
      const timer = setTimeout(now, 1_000);
      takeBack = () => clearTimeout(timer);
    } else {
      const frame = requestAnimationFrame(now);
      takeBack = () => cancelAnimationFrame(frame);
    }
  };
  document.addEventListener("visibilitychange", () => {
    if (takeBack === undefined) return;
    takeBack();
    takeBack = undefined;
    soon();
  });
  return soon;
}
