// `just api-check`: the API's description is valid, is the one that was accepted, and makes clients that work.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Report } from "./report.mjs";
import { World } from "./world.mjs";

const web = join(import.meta.dirname, "..");
const tool = (name) => join(web, "node_modules/.bin", name);

/** Exports are lines of JSON, which the Python generator cannot read. */
const PYTHON_LACKS = ["GET /api/v1/export"];

/** Runs a program; throws what it printed if it fails. */
function run(program, args, options = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", cwd: web, ...options });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout + stderr;
}

/** Operations and schemas that differ between the accepted description and the served one. */
function differences(accepted, served) {
  const parts = ({ paths, components, ...rest }) => ({
    ...Object.fromEntries(
      Object.entries(paths).flatMap(([path, item]) =>
        Object.entries(item).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation]),
      ),
    ),
    ...components.schemas,
    ...rest,
  });
  const [before, after] = [parts(accepted), parts(served)];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
}

function lint(file) {
  const { stdout } = spawnSync(
    tool("redocly"),
    ["lint", "--config", join(web, "redocly.yaml"), "--format=json", "--max-problems=1000", file],
    {
      encoding: "utf8",
      cwd: web,
      env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  return JSON.parse(stdout).problems.map(
    ({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`,
  );
}

const report = new Report("api");
const scratch = mkdtempSync(join(tmpdir(), "everturn-clients-"));
const world = await World.make();
try {
  const served = await world.ask("GET", "/openapi.json");
  const file = join(scratch, "openapi.json");
  writeFileSync(file, JSON.stringify(served));

  const accepted = JSON.parse(readFileSync(join(web, "openapi.json"), "utf8"));
  const changed = differences(accepted, served);
  if (changed.length > 0) report.note("the API changed: `just api` accepts the change");
  report.none("changes_not_accepted", changed);
  report.none("lint_problems", lint(file));

  const url = `http://127.0.0.1:${world.port}`;
  const environment = { ...process.env, EVERTURN_URL: url, EVERTURN_TOKEN: world.token };
  await report.timed("typescript", () => {
    const types = join(scratch, "schema.d.ts");
    run(tool("openapi-typescript"), [file, "-o", types]);
    const saved = readFileSync(join(web, "src/api/schema.d.ts"), "utf8");
    report.none("typescript_types_out_of_date", readFileSync(types, "utf8") === saved ? [] : ["schema.d.ts"]);
    // Compiled below the packages that it imports.
    const built = join(web, "node_modules/.clients");
    run(tool("tsc"), ["-p", join(web, "e2e/clients/tsconfig.json"), "--outDir", built]);
    const said = run(process.execPath, [join(built, "e2e/clients/smoke.js")], { env: environment });
    report.none("typescript_failures", said.trim() === "ok" ? [] : [said]);
  });
  await report.timed("python", () => {
    const bin = execFileSync(join(web, "../scripts/openapi-python"), { encoding: "utf8" }).trim();
    const client = join(scratch, "everturn_client");
    const said = run(
      join(bin, "openapi-python-client"),
      ["generate", "--path", file, "--output-path", client, "--meta", "none"],
      { cwd: scratch, env: { ...process.env, PATH: `${bin}:${process.env.PATH}` } },
    );
    const warned = [...said.matchAll(/parsing (\S+ \S+) within|schema (\S+):/g)].map(
      ([, operation, schema]) => operation ?? schema,
    );
    report.none(
      "python_warnings",
      warned.filter((what) => !PYTHON_LACKS.includes(what)),
    );
    const smoke = run(join(bin, "python"), [join(web, "e2e/clients/smoke.py")], {
      env: { ...environment, PYTHONPATH: scratch },
    });
    report.none("python_failures", smoke.trim() === "ok" ? [] : [smoke]);
  });
} finally {
  await world.end();
  rmSync(scratch, { recursive: true, force: true });
}
process.exitCode = report.verdict();
