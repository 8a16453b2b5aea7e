/** Something that may be asked for at any time and is done at most once in so many milliseconds: at once, or when it may. */
export function apart(millis: number, act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    timer ??= setTimeout(
      () => {
        timer = undefined;
        last = Date.now();
        act();
      },
      Math.max(0, last + millis - Date.now()),
    );
  };
}
