// What a stretch of code is: a keyword, a text, a remark. A few kinds, drawn by the style sheet; nothing here knows a
// colour.

/** `k` keyword, `s` text, `c` remark, `n` number, `f` function, `t` type; nothing for the rest. */
export type Kind = "" | "k" | "s" | "c" | "n" | "f" | "t";

/** So many letters of a kind. Together the runs of a text are as long as the text. */
export type Run = readonly [kind: Kind, length: number];

/** More than this stays as it is: colours are not worth the wait. */
const COLOURED_LETTERS_MAX = 20_000;

/** What people write behind the fence, and the grammar that reads it. */
const GRAMMARS: Record<string, string> = {
  bash: "shellscript",
  c: "c",
  "c++": "cpp",
  cjs: "javascript",
  cpp: "cpp",
  css: "css",
  go: "go",
  golang: "go",
  h: "c",
  hpp: "cpp",
  html: "html",
  java: "java",
  javascript: "javascript",
  js: "javascript",
  json: "json",
  jsonc: "json",
  jsx: "tsx",
  markdown: "markdown",
  md: "markdown",
  mjs: "javascript",
  py: "python",
  python: "python",
  rs: "rust",
  rust: "rust",
  sh: "shellscript",
  shell: "shellscript",
  sql: "sql",
  toml: "toml",
  ts: "typescript",
  tsx: "tsx",
  typescript: "typescript",
  yaml: "yaml",
  yml: "yaml",
  zsh: "shellscript",
};

/** The grammar for a text in a language; none when it stays plain. */
export function grammarFor(language: string, text: string): string | undefined {
  if (text.length > COLOURED_LETTERS_MAX) return undefined;
  const name = language.toLowerCase();
  return Object.hasOwn(GRAMMARS, name) ? GRAMMARS[name] : undefined;
}

/** Which scopes of a grammar are of a kind. A later line wins over an earlier one that is as exact. */
const SCOPES: readonly (readonly [Kind, readonly string[]])[] = [
  ["k", ["keyword", "storage", "variable.language", "markup.heading", "punctuation.definition.heading"]],
  ["", ["keyword.operator", "storage.modifier.import", "storage.modifier.package"]],
  ["k", ["keyword.operator.new", "keyword.operator.expression", "keyword.operator.logical.python"]],
  ["s", ["string", "markup.inline.raw", "markup.fenced_code", "punctuation.definition.string"]],
  ["n", ["constant", "support.constant", "markup.underline.link"]],
  ["f", ["entity.name.function", "support.function", "meta.function-call.generic", "entity.name.command"]],
  ["t", ["entity.name.type", "entity.name.class", "support.type", "support.class", "storage.type.java"]],
  ["t", ["entity.name.tag", "entity.other.attribute-name", "support.type.property-name"]],
  ["", ["string meta.embedded", "string source", "meta.template.expression", "punctuation.section.embedded"]],
  ["c", ["comment", "punctuation.definition.comment"]],
];

const THEME_NAME = "kinds";
const KINDS: readonly Kind[] = ["", "k", "s", "c", "n", "f", "t"];
/** The reader of grammars hands back a colour for each token, so a kind travels as the colour with its number. */
const colourOf = (kind: Kind) => `#00000${KINDS.indexOf(kind)}`;
const kindOf = (colour: string | undefined): Kind => KINDS[Number(colour?.slice(1))] ?? "";

export const THEME = {
  name: THEME_NAME,
  type: "light" as const,
  settings: [
    { settings: { foreground: colourOf(""), background: "#ffffff" } },
    ...SCOPES.map(([kind, scope]) => ({ scope: [...scope], settings: { foreground: colourOf(kind) } })),
  ],
};

/** A token as the reader of grammars gives it. */
interface Token {
  content: string;
  offset: number;
  color?: string;
}

/** The runs of a text, from the tokens of its lines; what no token takes is of no kind. */
export function runsOf(text: string, lines: readonly (readonly Token[])[]): Run[] {
  const runs: Run[] = [];
  let end = 0;
  const add = (kind: Kind, length: number) => {
    if (length <= 0) return;
    const last = runs.at(-1);
    if (last !== undefined && last[0] === kind) runs[runs.length - 1] = [kind, last[1] + length];
    else runs.push([kind, length]);
    end += length;
  };
  for (const { content, offset, color } of lines.flat()) {
    add("", offset - end);
    // White space has no colour, so it goes with what stands before it.
    const kind = content.trim() === "" ? (runs.at(-1)?.[0] ?? "") : kindOf(color);
    add(kind, offset + content.length - end);
  }
  add("", text.length - end);
  return runs;
}
