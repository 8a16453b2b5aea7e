// `just e2e [--full] [NAME…]`: every scenario, one line a figure, the verdict last.

import { scenarios } from "./scenarios.mjs";
import { World } from "./world.mjs";

const full = process.argv.includes("--full");
const wanted = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const short = [];
const world = await World.make();
try {
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const begun = performance.now();
    let wrong;
    try {
      await scenario(world, { full });
      wrong = await world.verdict();
    } catch (error) {
      wrong = [String(error.stack ?? error), ...(await world.verdict().catch(() => []))];
      world.network.set("pass");
      if (world.server.exitCode !== null || world.server.signalCode !== null) await world.serve();
    }
    for (const line of wrong) console.log(`# ${line}`);
    console.log(`# ${name}: ${((performance.now() - begun) / 1_000).toFixed(1)} s`);
    console.log(`e2e.${name} ${wrong.length} 0 ${wrong.length === 0 ? "ok" : "short"}`);
    if (wrong.length > 0) short.push(name);
  }
} finally {
  await world.end();
}
console.log(short.length === 0 ? "e2e ok" : `e2e short: ${short.join(" ")}`);
process.exit(short.length === 0 ? 0 : 1);
