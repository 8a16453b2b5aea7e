// What the page and the frame that draws diagrams say to each other.

/** From the page: what to draw, and how it looks there. */
export interface Asked {
  text: string;
  dark: boolean;
  colours: Record<(typeof COLOURS)[number], string>;
}

/** The page's own, by their names in its style sheet. */
export const COLOURS = [
  "paper",
  "surface",
  "sunken",
  "ink",
  "edge",
  "kelp",
  "tide",
  "amber",
  "iron",
] as const;

/** From the frame: it listens, it drew, or it could not. */
export type Told = "listening" | "failed" | { drawn: { width: number; height: number } };

/** What came from the frame, if it is anything that it may say. */
export function told(data: unknown): Told | undefined {
  if (data === "listening" || data === "failed") return data;
  if (typeof data !== "object" || data === null || !("drawn" in data)) return undefined;
  const { width, height } = (data.drawn ?? {}) as Record<string, unknown>;
  return isLength(width) && isLength(height) ? { drawn: { width, height } } : undefined;
}

/** A diagram that is larger scrolls in its frame. */
const LENGTH_MAX = 4_000;

function isLength(value: unknown): value is number {
  return typeof value === "number" && value > 0 && value <= LENGTH_MAX;
}
