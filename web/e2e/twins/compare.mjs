// Compares the server's fold with the web UI's on generated histories and reports the differences: one worker
// of `just twins`.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";

import { runnerImport } from "vite";

import { changed, difference } from "./difference.mjs";

const { binary, first, count } = workerData;

async function imported(name) {
  const root = join(import.meta.dirname, "../..");
  const { module } = await runnerImport(join(root, "src/log", name), { configFile: false, root });
  return module;
}

const { EMPTY } = await imported("empty.ts");
const { applied } = await imported("fold.ts");
const { view } = await imported("view.ts");

/** Drops the epoch and hash of the link, which the web UI does not track. */
const comparable = ({ link: { seq }, ...state }) => ({ ...state, link: { seq } });

const plain = (value) => JSON.parse(JSON.stringify(value));

/** Runs `act` and turns an exception into a difference. */
function caught(act) {
  try {
    return act();
  } catch (error) {
    return `${error.stack}`;
  }
}

/** Folds one history and compares the states after every entry. */
function differs({ seed, entries, changes, state, view: shown }, begin) {
  let found = EMPTY;
  let expected = begin;
  const before = difference(comparable(found), expected);
  if (before !== undefined) return { kind: "state", text: `seed ${seed}, without entries: ${before}` };
  for (const [at, entry] of entries.entries()) {
    expected = changed(expected, changes[at]);
    const text = caught(() => {
      found = applied(found, entry);
      return difference(comparable(found), expected);
    });
    if (text !== undefined)
      return {
        kind: "state",
        text: `seed ${seed}, entry ${entry.seq}, ${Object.keys(entry.event)[0]}: ${text}`,
      };
  }
  const end = difference(expected, state);
  if (end !== undefined)
    return { kind: "state", text: `seed ${seed}: the changes do not lead to the state: ${end}` };
  const drawn = caught(() => difference(plain(view(found)), shown, "view"));
  return drawn === undefined ? undefined : { kind: "view", text: `seed ${seed}: ${drawn}` };
}

/** Removes each variant that occurs in a value, as a key or as a string, from `variants`. */
function note(value, variants) {
  if (typeof value === "string") variants.delete(value);
  if (typeof value !== "object" || value === null) return;
  for (const name in value) {
    variants.delete(name);
    note(value[name], variants);
  }
}

/** Yields the lines of a stream. `readline` would also split at characters that may occur in texts. */
async function* lines(stream) {
  let rest = "";
  for await (const chunk of stream.setEncoding("utf8")) {
    const [begun, ...ended] = chunk.split("\n");
    rest += begun;
    for (const next of ended) {
      yield rest;
      rest = next;
    }
  }
}

const result = { histories: 0, entries: 0, differences: [], missing: [] };
const printer = spawn(binary, [String(first), String(count)], { stdio: ["ignore", "pipe", "inherit"] });
let begin;
let variants;
for await (const line of lines(printer.stdout)) {
  const told = JSON.parse(line);
  if (begin === undefined) {
    begin = told.state;
    variants = new Set(told.variants);
    continue;
  }
  result.histories += 1;
  result.entries += told.entries.length;
  const differing = differs(told, begin);
  if (differing !== undefined) result.differences.push(differing);
  if (variants.size > 0) note([told.entries, told.state], variants);
}
result.missing = [...variants];
parentPort.postMessage(result);
