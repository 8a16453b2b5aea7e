// Formats days for the list. Server times are microseconds since 1970.

import { i18n } from "@lingui/core";

const DAY = 24 * 60 * 60 * 1_000;

export function dayOf(micros: number): string {
  const format = new Intl.DateTimeFormat(i18n.locales ?? i18n.locale, { day: "numeric", month: "short" });
  return format.format(micros / 1_000);
}

/** Formats a date and time. */
export function momentOf(micros: number): string {
  const options = { dateStyle: "medium", timeStyle: "short" } as const;
  return new Intl.DateTimeFormat(i18n.locales ?? i18n.locale, options).format(micros / 1_000);
}

/** Returns the whole days until a session in the trash is deleted. */
export function daysLeft(trashedAt: number, days: number, now: number): number {
  return Math.max(0, Math.ceil((trashedAt / 1_000 + days * DAY - now) / DAY));
}

/** Returns how long a session stays in the trash. `days` is the retention; 0 is forever. */
export function trashWords(trashedAt: number, days: number, now: number): string {
  if (days === 0) return i18n.t("Kept until deleted");
  const left = daysLeft(trashedAt, days, now);
  if (left === 0) return i18n.t("Deleted within a day");
  return i18n.t("{left, plural, one {# day left} other {# days left}}", { left });
}
