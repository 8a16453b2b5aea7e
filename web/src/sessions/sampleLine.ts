// A line of the list for tests.

import type { Line } from "./types";

export function sampleLine(session: string, more: Partial<Line> = {}): Line {
  return {
    session,
    created_at: 0,
    active_at: 0,
    pinned: false,
    archived: false,
    trashed: false,
    tags: [],
    ...more,
  };
}
