// Names key presses the way commands do: `Mod+Shift+o`, `Alt+ArrowUp`, `?`.

interface Pressed {
  key: string;
  code: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

/** Whether an event matches a command's keys. */
export function matches(keys: string, event: Pressed): boolean {
  const parts = keys.split("+");
  const key = parts.pop() ?? "";
  const control = event.ctrlKey || event.metaKey;
  if (control !== parts.includes("Mod") || event.altKey !== parts.includes("Alt")) return false;
  // What sign a key writes depends on Shift already; only letters and keys with names are the same with it.
  const counts = key.length > 1 || isLetter(key);
  if (counts && event.shiftKey !== parts.includes("Shift")) return false;
  if (event.key.toLowerCase() === key.toLowerCase()) return true;
  // With Alt a keyboard may write another sign; the key is still the same.
  return event.altKey && isLetter(key) && event.code === `Key${key.toUpperCase()}`;
}

function isLetter(key: string): boolean {
  return /^[a-z]$/i.test(key);
}

/** Whether keys type text. A focused field takes them, and the user can turn such shortcuts off. */
export function isPlain(keys: string): boolean {
  return !/^(Mod|Alt)\+/.test(keys) && keys.replace("Shift+", "").length === 1;
}

const FIELDS =
  "input:not([type=checkbox]):not([type=radio]):not([type=button]), textarea, select, [contenteditable]";

/** Whether the focused element accepts text. */
export function isField(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(FIELDS) !== null;
}
