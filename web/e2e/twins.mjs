// `just twins [COUNT] [FIRST]`: folds seeded random histories with the server's fold and the web UI's. Both
// must agree on the state after every entry, and on the view at the end. Prints one metric per line, the verdict last.

import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";

import { Report } from "./report.mjs";

const [count = 10_000, first = 0] = process.argv.slice(2).map(Number);
const THREADS = Math.min(availableParallelism(), count);
const target = process.env.CARGO_TARGET_DIR ?? join(import.meta.dirname, "../../target");
const binary = join(target, "release/examples/histories");

function compared(first, count) {
  const worker = new Worker(new URL("./twins/compare.mjs", import.meta.url), {
    workerData: { binary, first, count },
  });
  return new Promise((done, failed) => {
    worker.once("message", done);
    worker.once("error", failed);
    worker.once("exit", () => failed(new Error("a thread ended without a result")));
  });
}

const report = new Report("twins");
await report.timed("all", async () => {
  const bounds = Array.from({ length: THREADS + 1 }, (_, at) => first + Math.floor((count * at) / THREADS));
  const results = await Promise.all(bounds.slice(1).map((end, at) => compared(bounds[at], end - bounds[at])));
  const sum = (name) => results.reduce((sum, result) => sum + result[name], 0);
  const missing = results.reduce(
    (left, result) => left.filter((name) => result.missing.includes(name)),
    results[0].missing,
  );
  const differences = results.flatMap((result) => result.differences);
  const of = (kind) => differences.filter((found) => found.kind === kind).map(({ text }) => text);
  report.note(`${sum("entries")} entries`);
  report.atLeast("histories", sum("histories"), count);
  report.none("state_differences", of("state"));
  report.none("view_differences", of("view"));
  report.none("variants_missing", missing);
});
process.exit(report.verdict());
