// Differences between two JSON values, and the patches that turn one state into the next.

/** Pairs already found equal, so that unchanged parts are not compared again. */
const same = new WeakMap();

/** Returns the first difference of two values as `path: found, expected`. An undefined field counts as missing. */
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

/** Returns a patched copy of a state. Leaves the original unchanged and shares its unchanged parts. */
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
