// The messages between the page and the frame that renders diagrams.

/** From the page: the diagram and the page's colors. */
export interface Asked {
  text: string;
  dark: boolean;
  colours: Record<(typeof COLOURS)[number], string>;
}

/** The names of the page's colors in its style sheet. */
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

/** From the frame: it is ready, has rendered the diagram, or failed. */
export type Told = "listening" | "failed" | { drawn: { width: number; height: number } };

/** Returns the message from the frame, or undefined if it is invalid. */
export function told(data: unknown): Told | undefined {
  if (data === "listening" || data === "failed") return data;
  if (typeof data !== "object" || data === null || !("drawn" in data)) return undefined;
  const { width, height } = (data.drawn ?? {}) as Record<string, unknown>;
  return isLength(width) && isLength(height) ? { drawn: { width, height } } : undefined;
}

/** A larger diagram scrolls in its frame. */
const LENGTH_MAX = 4_000;

function isLength(value: unknown): value is number {
  return typeof value === "number" && value > 0 && value <= LENGTH_MAX;
}
