// `just api`: the description of the API as the released binary gives it.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { World } from "./world.mjs";

const world = await World.make();
try {
  const described = await world.ask("GET", "/openapi.json");
  writeFileSync(join(import.meta.dirname, "../openapi.json"), `${JSON.stringify(described, null, 2)}\n`);
} finally {
  await world.end();
}
