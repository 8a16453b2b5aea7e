// Formats times and numbers in the language of the page. Server times are microseconds since 1970.

import { i18n } from "@lingui/core";

import type { Link } from "../live/store";

/** Creates a formatter on first use, because the language is not known earlier. */
function once<T>(make: (locales: string | string[]) => T): () => T {
  let made: T | undefined;
  return () => (made ??= make(i18n.locales ?? i18n.locale));
}

function dates(options: Intl.DateTimeFormatOptions) {
  return once((locales) => new Intl.DateTimeFormat(locales, options));
}

function numbers(options: Intl.NumberFormatOptions) {
  return once((locales) => new Intl.NumberFormat(locales, options));
}

const clock = dates({ hour: "2-digit", minute: "2-digit" });
const exact = dates({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const weekday = dates({ weekday: "short" });
const day = dates({ day: "numeric", month: "short" });

const whole = numbers({});
const part = numbers({ style: "percent" });
const tenths = numbers({ minimumFractionDigits: 1, maximumFractionDigits: 1 });
const price = numbers({ minimumFractionDigits: 4, maximumFractionDigits: 4 });
const dollars = numbers({ style: "currency", currency: "USD", minimumFractionDigits: 0 });

export function countOf(count: number): string {
  return whole().format(count);
}

/** Formats a fraction: 62%. */
export function percentOf(of: number): string {
  return part().format(of);
}

export function costOf(cost: number): string {
  return price().format(cost);
}

/** Formats a list price: $2.50. */
export function priceOf(amount: number): string {
  return dollars().format(amount);
}

export function clockOf(micros: number): string {
  return clock().format(micros / 1_000);
}

export function exactClock(millis: number): string {
  return exact().format(millis);
}

/** Returns when the agent was last seen writing, for a page without a connection. */
export function lastSeen(link: Link): string {
  const heard = link.kind === "away" ? link.heard : undefined;
  if (heard === undefined) return i18n.t("Was writing");
  return i18n.t("Last seen writing {time}", { time: exactClock(heard) });
}

/** Formats the time of the last activity, as short as possible. */
export function whenOf(micros: number, now: number): string {
  const millis = micros / 1_000;
  const minutes = Math.floor((now - millis) / 60_000);
  if (minutes < 1) return i18n.t("now");
  if (minutes < 60) return i18n.t("{minutes}m", { minutes });
  if (minutes < 24 * 60) return i18n.t("{hours}h", { hours: Math.floor(minutes / 60) });
  return minutes < 6 * 24 * 60 ? weekday().format(millis) : day().format(millis);
}

/** Formats a duration: 0:42. */
export function spanOf(millis: number): string {
  const seconds = Math.max(0, Math.floor(millis / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

export function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
  return `${tenths().format(bytes / 1_000_000)} MB`;
}

/** Returns the placeholder for content that only a newer version can show. */
export function newerWords(): string {
  return i18n.t("Reload the page to show this content.");
}
