// What the lines of a diff are, by how they begin.

export type LineKind = "added" | "removed" | "place" | "kept";

export interface DiffLine {
  kind: LineKind;
  /** With its sign and its end: together the lines are the text. */
  text: string;
}

export function diffLines(text: string): DiffLine[] {
  const lines = text.split(/(?<=\n)/);
  // The names of a file begin like changes, but stand in pairs.
  const isName = (at: number) =>
    lines[at]?.startsWith("--- ") === true && lines[at + 1]?.startsWith("+++ ") === true;
  return lines.map((line, at) => ({
    kind: isName(at) || isName(at - 1) ? "place" : kindOf(line),
    text: line,
  }));
}

function kindOf(line: string): LineKind {
  if (/^(@@|diff |index )/.test(line)) return "place";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : "kept";
}
