import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { brotliCompressSync } from "node:zlib";

import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const FRESH = "build";
const PLACE = "dist";

/** Files below a folder, by their names in it. */
function filesOf(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/**
 * Leaves a packed copy beside everything that packs well; the server hands out either. What is in its place already is
 * left alone, so that the server is built anew only when the pages changed.
 */
function placed(): Plugin {
  return {
    name: "placed",
    apply: "build",
    closeBundle() {
      for (const name of filesOf(FRESH).filter((name) => /\.(html|js|css|svg)$/.test(name))) {
        writeFileSync(join(FRESH, `${name}.br`), brotliCompressSync(readFileSync(join(FRESH, name))));
      }
      const fresh = filesOf(FRESH);
      for (const name of filesOf(PLACE).filter((name) => !fresh.includes(name))) rmSync(join(PLACE, name));
      for (const name of fresh) {
        const [from, to] = [join(FRESH, name), join(PLACE, name)];
        if (existsSync(to) && readFileSync(from).equals(readFileSync(to))) continue;
        mkdirSync(dirname(to), { recursive: true });
        copyFileSync(from, to);
      }
    },
  };
}

/** Every browser that runs the page reads the first form of the formulas' fonts; the other two would only fill the binary. */
function oneFontFormat(): Plugin {
  return {
    name: "one-font-format",
    enforce: "pre",
    transform(code, id) {
      if (!/katex[^/]*\.css$/.test(id)) return undefined;
      return code.replace(/,url\([^)]*\) format\("(?:woff|truetype)"\)/g, "");
    },
  };
}

export default defineConfig({
  plugins: [react(), oneFontFormat(), placed()],
  resolve: { alias: { "elkjs/lib/elk.bundled.js": join(import.meta.dirname, "src/diagram/no-elk.ts") } },
  build: {
    outDir: FRESH,
    // The page, and the one for a frame that draws diagrams.
    rolldownOptions: { input: ["index.html", "diagram.html"] },
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    // The largest is a grammar that is fetched on demand; what the page begins with is far smaller.
    chunkSizeWarningLimit: 900,
  },
  // Threads fetch what they need piece by piece too.
  worker: { format: "es" },
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}"] },
});
