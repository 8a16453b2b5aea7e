// Days and large sizes as a person reads them, in the language of the page. Server times are microseconds since 1970.

import { language } from "../words/language";
import { sizeOf } from "./words";

const GIGABYTE = 1_000_000_000;

export function dayOf(micros: number): string {
  return new Date(micros / 1_000).toLocaleDateString(language(), {
    day: "numeric",
    month: "long",
    year: "numeric",
  });
}

/** A day and the time on it. */
export function whenLong(micros: number): string {
  const time = new Date(micros / 1_000).toLocaleTimeString(language(), {
    hour: "2-digit",
    minute: "2-digit",
  });
  return `${dayOf(micros)}, ${time}`;
}

/** The time of a day to the second. */
export function secondOf(micros: number): string {
  return new Date(micros / 1_000).toLocaleTimeString(language());
}

export function spaceOf(bytes: number): string {
  return bytes < GIGABYTE ? sizeOf(bytes) : `${(bytes / GIGABYTE).toFixed(1)} GB`;
}
