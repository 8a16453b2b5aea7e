// `just e2e [--full] [NAME…]`: every scenario, one line a figure, the verdict last. Two worlds at once: most of the time each
// waits for something.

import { Report } from "./report.mjs";
import { scenarios } from "./scenarios/all.mjs";
import { World } from "./world.mjs";

const WORLDS = 2;
const full = process.argv.includes("--full");
const wanted = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const left = Object.entries(scenarios).filter(([name]) => wanted.length === 0 || wanted.includes(name));
const report = new Report("e2e");

/** What is wrong after a scenario. */
async function play(world, scenario) {
  try {
    await scenario(world, { full });
    return await world.verdict();
  } catch (error) {
    const wrong = [String(error.stack ?? error), ...(await world.verdict().catch(() => []))];
    world.network.delay(0);
    world.network.set("pass");
    if (world.server.exitCode !== null || world.server.signalCode !== null) await world.serve();
    return wrong;
  }
}

async function inhabit() {
  const world = await World.make();
  try {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [name, scenario] = next;
      const begun = performance.now();
      const wrong = await play(world, scenario);
      report.note(`${name}: ${((performance.now() - begun) / 1_000).toFixed(1)} s`);
      report.none(name, wrong);
    }
  } finally {
    await world.end();
  }
}

if (left.length === 0) throw new Error(`there is no scenario ${wanted}`);
await Promise.all(Array.from({ length: Math.min(WORLDS, left.length) }, inhabit));
process.exit(report.verdict());
