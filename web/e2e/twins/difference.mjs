// Differences between two values of JSON, and the changes that make a later state of an earlier one.

/** Pairs that were found equal: what did not change since need not be read again. */
const same = new WeakMap();

/** Returns where two values differ first, as `path: found, expected`. A field that is undefined counts as missing. */
export function difference(found, expected, path = "state") {
  if (found === expected) return undefined;
  if (!isObject(found) || !isObject(expected) || Array.isArray(found) !== Array.isArray(expected))
    return `${path}: ${told(found)}, expected ${told(expected)}`;
  if (same.get(found) === expected) return undefined;
  const differs = Array.isArray(found) ? inItems(found, expected, path) : inFields(found, expected, path);
  if (differs === undefined) same.set(found, expected);
  return differs;
}

function inItems(found, expected, path) {
  if (found.length !== expected.length) return `${path}: ${found.length} items, expected ${expected.length}`;
  for (const [at, item] of found.entries()) {
    const differs = difference(item, expected[at], `${path}[${at}]`);
    if (differs !== undefined) return differs;
  }
  return undefined;
}

function inFields(found, expected, path) {
  for (const name in found) {
    const differs = difference(found[name], expected[name], `${path}.${name}`);
    if (differs !== undefined) return differs;
  }
  for (const name in expected) {
    if (found[name] === undefined) return `${path}.${name}: missing, expected ${told(expected[name])}`;
  }
  return undefined;
}

function isObject(value) {
  return typeof value === "object" && value !== null;
}

const TOLD_MAX = 120;

function told(value) {
  const text = value === undefined ? "missing" : JSON.stringify(value);
  return text.length > TOLD_MAX ? `${text.slice(0, TOLD_MAX)}… (${text.length} characters)` : text;
}

/** Makes the state after an entry of the one before it. Neither is changed, and they share what is the same. */
export function changed(state, changes) {
  return changes.reduce((before, [path, kind, given]) => at(before, path, 0, kind, given), state);
}

function at(value, path, depth, kind, given) {
  if (depth === path.length) {
    if (kind === "append") return value + given;
    return kind === "splice" ? value.toSpliced(given[0], given[1], ...given[2]) : given;
  }
  const name = path[depth];
  const copy = Array.isArray(value) ? value.slice() : { ...value };
  if (kind === "drop" && depth === path.length - 1) delete copy[name];
  else copy[name] = at(value[name], path, depth + 1, kind, given);
  return copy;
}
