// Log entries as readable lines, newest first, grouped by day.

import { sentence, tookUp, type About, type Sentence } from "./sentences";

/** One entry of the log. The server merges streamed text into one entry and names its end. */
export interface Logged {
  seq: number;
  time: number;
  epoch: number;
  until_seq?: number;
  until_time?: number;
  event: object;
}

export interface Line extends Sentence {
  key: string;
  seq: number;
  time: number;
  until?: number;
}

export type Filter = "all" | "people" | "trouble";

const SHOWN: Record<Filter, readonly About[]> = {
  all: ["person", "agent", "server", "trouble"],
  people: ["person"],
  trouble: ["trouble"],
};

/**
 * Converts entries, newest first, to lines. Adds a line below the first entry of each epoch, because a new writer opened
 * the session there. The oldest entry of a page gets none: the entry before it is not loaded.
 */
export function linesOf(entries: readonly Logged[], filter: Filter): Line[] {
  const lines = entries.flatMap(({ seq, time, epoch, until_time, event }, at): Line[] => {
    const line: Line = {
      key: String(seq),
      seq,
      time,
      ...(until_time === undefined ? {} : { until: until_time }),
      ...sentence(event),
    };
    const before = entries[at + 1];
    if (before === undefined || before.epoch === epoch) return [line];
    return [line, { key: `${seq} writer`, seq, time, about: "server", words: tookUp(epoch) }];
  });
  return lines.filter(({ about }) => SHOWN[filter].includes(about));
}

/** Groups lines by day, with the name of each day. */
export function byDay(lines: readonly Line[], dayOf: (micros: number) => string): [string, Line[]][] {
  const days: [string, Line[]][] = [];
  for (const line of lines) {
    const day = dayOf(line.time);
    const last = days.at(-1);
    if (last?.[0] === day) last[1].push(line);
    else days.push([day, [line]]);
  }
  return days;
}
