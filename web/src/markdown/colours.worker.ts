// Reads code in a thread of its own, so that a long block never holds up what is being written. Each grammar is fetched
// when it is needed first.

import { createJavaScriptRegexEngine } from "@shikijs/engine-javascript";
import { codeToTokensBase, createShikiPrimitiveAsync, type LanguageInput } from "@shikijs/primitive";

import { THEME, runsOf } from "./kinds";

const GRAMMARS: Record<string, () => LanguageInput> = {
  c: () => import("@shikijs/langs/c"),
  cpp: () => import("@shikijs/langs/cpp"),
  css: () => import("@shikijs/langs/css"),
  go: () => import("@shikijs/langs/go"),
  html: () => import("@shikijs/langs/html"),
  java: () => import("@shikijs/langs/java"),
  javascript: () => import("@shikijs/langs/javascript"),
  json: () => import("@shikijs/langs/json"),
  markdown: () => import("@shikijs/langs/markdown"),
  python: () => import("@shikijs/langs/python"),
  rust: () => import("@shikijs/langs/rust"),
  shellscript: () => import("@shikijs/langs/shellscript"),
  sql: () => import("@shikijs/langs/sql"),
  toml: () => import("@shikijs/langs/toml"),
  tsx: () => import("@shikijs/langs/tsx"),
  typescript: () => import("@shikijs/langs/typescript"),
  yaml: () => import("@shikijs/langs/yaml"),
};

/** A line that is longer is data, not something that anybody reads. */
const LINE_LETTERS_MAX = 2_000;

const reader = createShikiPrimitiveAsync({
  themes: [THEME],
  langs: [],
  engine: createJavaScriptRegexEngine({ forgiving: true }),
  warnings: false,
});

async function read(grammar: string, text: string) {
  const input = GRAMMARS[grammar]?.();
  if (input === undefined) return [];
  const known = await reader;
  await known.loadLanguage(input);
  const lines = codeToTokensBase(known, text, {
    lang: grammar,
    theme: THEME.name,
    tokenizeMaxLineLength: LINE_LETTERS_MAX,
    // The first line pays for the preparation of the grammar; who asks has a limit for the whole.
    tokenizeTimeLimit: 0,
  });
  return runsOf(text, lines);
}

addEventListener("message", ({ data }: MessageEvent<{ id: number; grammar: string; text: string }>) => {
  const { id, grammar, text } = data;
  void read(grammar, text)
    .catch(() => [])
    .then((runs) => postMessage({ id, runs }));
});
