// The only place that touches the browser's storage for small values. A browser that denies storage gets a memory that lasts
// as long as the page. A value that cannot be read is set aside under another name and counts as missing.

export const SET_ASIDE = "broken:";

/** A memory in place of a storage that the browser denies. */
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

function storage(): Storage {
  if (found !== undefined) return found;
  try {
    const here = globalThis.localStorage;
    here.getItem("");
    found = here;
  } catch {
    found = inMemory();
  }
  return found;
}

/** Looks for the browser's storage again. For tests. */
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
 * Keeps a text.
 *
 * @throws if the device has no room. Then the text of before is still there.
 */
export function write(name: string, text: string): void {
  storage().setItem(name, text);
}

/** Keeps a text that is not worth an error. */
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

/** Returns a value if it is what `isValue` wants, and sets anything else aside. */
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
 * Keeps a value.
 *
 * @throws if the device has no room. Then the value of before is still there.
 */
export function writeValue(name: string, value: unknown): void {
  write(name, JSON.stringify(value));
}

/** Whether a value is an object whose fields with these names are texts. */
export function hasTexts(value: unknown, ...fields: string[]): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  return fields.every((field) => typeof (value as Record<string, unknown>)[field] === "string");
}
