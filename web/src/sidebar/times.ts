// Days as the list tells them. Server times are microseconds since 1970.

import { i18n } from "@lingui/core";

const DAY = 24 * 60 * 60 * 1_000;

export function dayOf(micros: number): string {
  const format = new Intl.DateTimeFormat(i18n.locales ?? i18n.locale, { day: "numeric", month: "short" });
  return format.format(micros / 1_000);
}

/** A day and a time, for what happened once. */
export function momentOf(micros: number): string {
  const options = { dateStyle: "medium", timeStyle: "short" } as const;
  return new Intl.DateTimeFormat(i18n.locales ?? i18n.locale, options).format(micros / 1_000);
}

/** Whole days until something in the trash is erased. */
export function daysLeft(trashedAt: number, days: number, now: number): number {
  return Math.max(0, Math.ceil((trashedAt / 1_000 + days * DAY - now) / DAY));
}

/** How long it stays in the trash, which is kept for so many days; 0 is until it is erased by hand. */
export function trashWords(trashedAt: number, days: number, now: number): string {
  if (days === 0) return i18n.t("Kept until you erase it");
  const left = daysLeft(trashedAt, days, now);
  if (left === 0) return i18n.t("Erased within the day");
  return i18n.t("{left, plural, one {# day left} other {# days left}}", { left });
}
