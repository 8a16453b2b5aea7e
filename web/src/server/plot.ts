// The geometry of a plot: time runs from left to right, and the highest value is at the top.

export interface Point {
  /** Microseconds since 1970. */
  at: number;
  value: number;
}

export interface Box {
  width: number;
  height: number;
}

export interface Figures {
  least: number;
  most: number;
  now: number;
}

/** Returns the lowest, highest and newest value, or undefined without points. */
export function figuresOf(points: readonly Point[]): Figures | undefined {
  const newest = points.at(-1);
  if (newest === undefined) return undefined;
  const values = points.map(({ value }) => value);
  return { least: Math.min(...values), most: Math.max(...values), now: newest.value };
}

/**
 * Returns the points of a polyline. The vertical axis starts at zero, so that a small change looks small; `top` is the value
 * of the upper edge, shared by all lines of a plot.
 */
export function lineOf(points: readonly Point[], { width, height }: Box, top: number): string {
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined) return "";
  const span = last.at - first.at;
  // A single point is at the right edge, which is now.
  const x = (at: number) => (span === 0 ? width : ((at - first.at) / span) * width);
  const y = (value: number) => (top <= 0 ? height : height - (Math.min(value, top) / top) * height);
  return points.map(({ at, value }) => `${rounded(x(at))},${rounded(y(value))}`).join(" ");
}

function rounded(place: number): number {
  return Math.round(place * 10) / 10;
}
