// What the model says: prose, code, lists, tables and some reasoning, the same each time.

const WORDS = (
  "the heron stands in the reeds and waits until the water is still then it takes one step towards the fish while a tern " +
  "turns above the shore and the wind goes round to the north so that every nest on the island is out of the rain again"
).split(" ");

function words(from, count) {
  return Array.from({ length: count }, (_, at) => WORDS[(from * 7 + at * 3) % WORDS.length]).join(" ");
}

const KINDS = [
  (at) => `A **paragraph** about \`nest_${at}\`: ${words(at, 40)}, [see here](https://example.org/${at}).`,
  (at) => `- ${words(at, 8)}\n- **${words(at + 1, 3)}** ${words(at + 2, 6)}\n- ${words(at + 3, 9)}`,
  (at) =>
    `\`\`\`rust\nfn nest_${at}(eggs: usize) -> Option<usize> {\n    let kept = eggs.checked_sub(${at})?;\n` +
    `    // ${words(at, 7)}\n    (kept > 0).then_some(kept)\n}\n\`\`\``,
  (at) => `### ${words(at, 4)}\n\n${words(at + 5, 30)}.`,
  (at) =>
    `| bird | eggs | place |\n|---|---:|---|\n` +
    Array.from(
      { length: 4 },
      (_, row) => `| ${words(at + row, 2)} | ${row + at} | ${words(row, 3)} |\n`,
    ).join(""),
  (at) => `1. ${words(at, 6)}\n2. ${words(at + 1, 7)}\n   - ${words(at + 2, 5)}\n3. ${words(at + 3, 6)}`,
];

/** Markdown of about so many letters. */
export function text(letters) {
  let made = "";
  for (let at = 0; made.length < letters; at += 1) made += `${KINDS[at % KINDS.length](at)}\n\n`;
  return made;
}

/** Returns one list of about `letters` characters. */
export function list(letters) {
  let made = "";
  for (let at = 0; made.length < letters; at += 1)
    made += `- **${words(at, 2)}** ${words(at + 2, 9)} in \`nest_${at}\`\n`;
  return made;
}

/** Answers as they come in a conversation: two or three blocks each, every fourth with some thought before it. */
export const ANSWERS = Array.from({ length: 24 }, (_, at) => {
  const blocks = Array.from({ length: 2 + (at % 2) }, (_, place) =>
    KINDS[(at + place * 2) % KINDS.length](at),
  );
  const thought = at % 4 === 0 ? `<think>${words(at, 25)}</think>` : "";
  return `${thought}${blocks.join("\n\n")}`;
});
