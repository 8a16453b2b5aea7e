/**
 * Returns `now` with every part that equals the same part of `before` replaced by that part. Modifies `now`,
 * which must be plain data with no other user.
 */
export function share<T>(before: unknown, now: T): T {
  if (before === now || !isRecord(before) || !isRecord(now)) return now;
  if (Array.isArray(before) !== Array.isArray(now)) return now;
  const parts: Record<string, unknown> = now;
  const names = Object.keys(parts);
  let same = names.length === Object.keys(before).length;
  for (const name of names) {
    parts[name] = share(before[name], parts[name]);
    same &&= parts[name] === before[name] && name in before;
  }
  return same ? (before as T) : now;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
