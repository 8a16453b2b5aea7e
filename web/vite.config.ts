import { createHash } from "node:crypto";
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
import type { Plugin, Rolldown } from "vite";
import { defineConfig } from "vitest/config";

import { needsCatalogue } from "./src/words/compile.ts";

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
      // The manifest is for tests, which find every part in it that loads on first use.
      const fresh = filesOf(FRESH).filter((name) => !name.startsWith(".vite"));
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

/** Compiles catalogues on import. English messages that the page compiles itself are left out. */
function catalogues(): Plugin {
  const format = formatter({ explicitIdAsDefault: true });
  return {
    name: "catalogues",
    async transform(code, id) {
      const language = /\/(\w+)\.po$/.exec(id)?.[1];
      if (language === undefined) return undefined;
      const { createCompiledCatalog } = await import("@lingui/cli/api");
      const catalogue = await format.parse(code, { locale: language, sourceLocale: "en", filename: id });
      const texts = Object.entries(catalogue).flatMap(([name, { translation, obsolete }]) => {
        const text = language === "en" ? name : translation;
        const kept = obsolete !== true && text && (language !== "en" || needsCatalogue(text));
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

const WORKER = "worker.js";

/** The only part that is too large to be cached before its first use. Formulas show as they were written without it. */
const LARGE = /\/markdown\/tex\.ts$/;

/** Every part of the page, also those that load on first use, with their styles. */
function partsOf(bundle: Rolldown.OutputBundle, from: readonly string[]): string[] {
  const found = new Set<string>();
  const visit = (name: string) => {
    const chunk = bundle[name];
    if (chunk?.type !== "chunk" || found.has(name) || LARGE.test(chunk.facadeModuleId ?? "")) return;
    found.add(name);
    chunk.viteMetadata?.importedCss.forEach((style) => found.add(style));
    [...chunk.imports, ...chunk.dynamicImports].forEach(visit);
  };
  from.forEach((file) => visit(file.slice(1)));
  return [...found].map((name) => `/${name}`);
}

/**
 * Gives the build a name: the page has it, the server reads it from `build.txt`, and the service worker caches the page's
 * files under it.
 */
function named(): Plugin {
  return {
    name: "named",
    apply: "build",
    enforce: "post",
    generateBundle(_, bundle) {
      const [page, worker] = [bundle["index.html"], bundle[WORKER]];
      if (page?.type !== "asset" || worker?.type !== "chunk")
        throw new Error("the page or its worker is missing");
      const html = String(page.source);
      const build = createHash("sha256").update(html).update(worker.code).digest("hex").slice(0, 16);
      const named = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, file]) => file ?? "");
      const files = [...new Set([...named, ...partsOf(bundle, named)])];
      page.source = html.replace("<title>", `<meta name="build" content="${build}" />\n    <title>`);
      worker.code = worker.code
        .replaceAll("__BUILD__", JSON.stringify(build))
        .replaceAll("__FILES__", JSON.stringify(files));
      this.emitFile({ type: "asset", fileName: "build.txt", source: build });
    },
  };
}

export default defineConfig({
  plugins: [react(), oneFontFormat(), catalogues(), named(), placed()],
  resolve: { alias: { "elkjs/lib/elk.bundled.js": join(import.meta.dirname, "src/diagram/no-elk.ts") } },
  build: {
    outDir: FRESH,
    manifest: true,
    // The page, the one for a frame that draws diagrams, and what keeps the page, by a name that stays.
    rolldownOptions: {
      input: { index: "index.html", diagram: "diagram.html", worker: "src/worker/shell.ts" },
      output: {
        entryFileNames: ({ name }) => (name === "worker" ? WORKER : "assets/[name]-[hash].js"),
      },
    },
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
