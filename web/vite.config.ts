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

export default defineConfig({
  plugins: [react(), placed()],
  build: {
    outDir: FRESH,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
  },
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}"] },
});
