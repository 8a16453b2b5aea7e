// The only module that uses `localStorage`. If the browser denies it, values stay in memory until the page
// closes. An unreadable value is moved aside under another name and counts as missing.

export const SET_ASIDE = "broken:";

/** Returns an in-memory fallback for storage that the browser denies. */
export function inMemory(): Storage {
  const values = new Map<string, string>();
  return {
    get length() {
      return values.size;
    },
    key: (at) => [...values.keys()][at] ?? null,
    getItem: (name) => values.get(name) ?? null,
    setItem: (name, text) => void values.set(name, text),
    removeItem: (name) => void values.delete(name),
    clear: () => values.clear(),
  };
}

let found: Storage | undefined;
let denied = false;

function storage(): Storage {
  if (found !== undefined) return found;
  try {
    const here = globalThis.localStorage;
    here.getItem("");
    found = here;
    denied = false;
  } catch {
    found = inMemory();
    denied = true;
  }
  return found;
}

/** Returns whether values are lost with this page, because the browser denies storage. */
export function isVolatile(): boolean {
  storage();
  return denied;
}

/** Looks up the browser's storage again. For tests only. */
export function forgetStorage(): void {
  found = undefined;
}

/** Returns a text, or null if there is none. */
export function read(name: string): string | null {
  try {
    return storage().getItem(name);
  } catch {
    return null;
  }
}

/**
 * Saves a text.
 *
 * @throws if storage is full. The previous text is then unchanged.
 */
export function write(name: string, text: string): void {
  storage().setItem(name, text);
}

/** Saves a text and ignores a failure. */
export function tryWrite(name: string, text: string): void {
  try {
    write(name, text);
  } catch {
    return;
  }
}

export function remove(name: string): void {
  try {
    storage().removeItem(name);
  } catch {
    return;
  }
}

/** Returns the names that start with `prefix`. */
export function names(prefix: string): string[] {
  try {
    const kept = storage();
    const all = Array.from({ length: kept.length }, (_, at) => kept.key(at) ?? "");
    return all.filter((name) => name.startsWith(prefix));
  } catch {
    return [];
  }
}

/** Returns a value if `isValue` accepts it, and sets it aside otherwise. */
export function readValue<T>(name: string, isValue: (value: unknown) => value is T): T | undefined {
  const text = read(name);
  if (text === null) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (isValue(value)) return value;
  } catch {
    // Not JSON.
  }
  tryWrite(SET_ASIDE + name, text);
  remove(name);
  return undefined;
}

/**
 * Saves a value.
 *
 * @throws if storage is full. The previous value is then unchanged.
 */
export function writeValue(name: string, value: unknown): void {
  write(name, JSON.stringify(value));
}

/** Returns whether a value is an object whose named fields are all strings. */
export function hasTexts(value: unknown, ...fields: string[]): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  return fields.every((field) => typeof (value as Record<string, unknown>)[field] === "string");
}
