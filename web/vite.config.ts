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

import { formatter } from "@lingui/format-po";
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

/** Catalogues of messages are compiled where they are imported. What is its own name in English need not be in one. */
function catalogues(): Plugin {
  const format = formatter({ explicitIdAsDefault: true });
  const whole = /[{}<>'#]/;
  return {
    name: "catalogues",
    async transform(code, id) {
      const language = /\/(\w+)\.po$/.exec(id)?.[1];
      if (language === undefined) return undefined;
      const { createCompiledCatalog } = await import("@lingui/cli/api");
      const catalogue = await format.parse(code, { locale: language, sourceLocale: "en", filename: id });
      const texts = Object.entries(catalogue).flatMap(([name, { translation, obsolete }]) => {
        const text = language === "en" ? name : translation;
        const kept = obsolete !== true && text && (language !== "en" || whole.test(text));
        return kept ? [[name, text]] : [];
      });
      const { source, errors } = createCompiledCatalog(language, Object.fromEntries(texts), {
        namespace: "es",
        outputPrefix: "",
      });
      if (errors[0] !== undefined) throw new Error(`${id}: ${errors[0].id}: ${errors[0].error.message}`);
      return { code: source, map: null };
    },
  };
}

export default defineConfig({
  plugins: [react(), oneFontFormat(), catalogues(), placed()],
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
  test: {
    environment: "node",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/words/english.ts"],
  },
});
