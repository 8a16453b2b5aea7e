// Times and numbers as a person reads them. Server times are microseconds since 1970.

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

const number = new Intl.NumberFormat();

export function countOf(count: number): string {
  return number.format(count);
}

export function clockOf(micros: number): string {
  return clock.format(micros / 1_000);
}

export function exactClock(millis: number): string {
  return exact.format(millis);
}

/** When a session was last active, as short as it can be told apart. */
export function whenOf(micros: number, now: number): string {
  const millis = micros / 1_000;
  const minutes = Math.floor((now - millis) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes}m`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)}h`;
  return minutes < 6 * 24 * 60 ? weekday.format(millis) : day.format(millis);
}

/** How long something takes: 0:42. */
export function spanOf(millis: number): string {
  const seconds = Math.max(0, Math.floor(millis / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

export function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
