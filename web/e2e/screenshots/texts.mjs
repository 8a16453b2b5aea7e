// What is said in the pictures.

const SENTENCES = [
  "The first run at 01:10 was green, and took four minutes.",
  "The second one waited for a port: the server of the run before had answered its last request, but its listener was still open.",
  "From then on every run waited for the one before it, and each was ended after ten minutes without a word in its log.",
  "On macOS the same tests pass, because the number of the port is chosen anew there.",
  "Nobody changed the tests this week; what changed is how the server stops.",
  "Since then it closes its listener last, so that nothing is refused while it still answers.",
];

/** More than anybody waits for. */
const NIGHT = Array.from({ length: 8 }, () => SENTENCES.join(" ")).join("\n\n");

const WRITER = `The writer is the only one who appends, so two answers can never be woven into one. What it does for each
message, in order:

1. **decide** what the message leads to, without touching anything;
2. append the entries in one batch, and wait for the disk;
3. only then tell readers.

\`\`\`rust
pub async fn submit(&self, command: Command) -> Result<Acknowledged, CommandError> {
    let decided = self.decide(command)?; // pure: no clock, no disk
    self.store.append(decided.entries).await?;
    Ok(decided.acknowledged)
}
\`\`\`

| step | may fail | what is kept |
| --- | --- | --- |
| decide | yes, with a reason | everything of before |
| append | yes, if the disk is full | everything of before |
| tell | no | everything |

> On screen means on disk.

The same holds for a stop: what was streamed is in the log before the marker is.`;

const SHORT = {
  "Why the tests on Linux hang": [
    "Why do the tests on Linux hang?",
    "They wait for a port that the run before left open. The listener is closed **after** the server answered its last request, and the next run asks for the same number in between.\n\nTwo ways out: ask for port `0`, or close the listener first. I would do both.",
  ],
  "Recipe for elderflower cordial": [
    "How much sugar for a litre of elderflower cordial?",
    "About 1 kg of sugar and 50 g of citric acid for each litre of water, with some twenty-five heads of elderflower. Let it stand for two days, then strain it.",
  ],
  "Plan of the move to PostgreSQL": [
    "What is left before we move to PostgreSQL?",
    "1. The backup of the old store, restored once on another machine.\n2. A night without writers.\n3. `verify` on both sides.",
  ],
  "What the lease says about pets": [
    "Does the lease allow a cat?",
    "Section 9 asks for the landlord's consent, and says that it may not be refused without a reason. A letter should do.",
  ],
  "Letter to the landlord": [
    "Write to the landlord about the cat",
    "Dear Madam,\n\nwe would like to keep a cat and ask for your consent under section 9 of the lease.\n\nYours sincerely",
  ],
  "Names for a heron": ["Find a name for a heron", "Ardea, Lank, or simply *Mr. Grey*."],
};

export const CHAT = [
  "Is the build green again?",
  "Yes, since 14:20. The three tests that were red pass on both machines.",
];
export const WRITES = "How does one writer keep two answers apart?";
export const WORKS = "Find out why the tests on Linux hang";
export const READS = "Read the log of last night and tell me what happened";
export const LATER = ["Who was on call?", "Nobody: it was a Sunday."];

/** Sessions with a question and an answer each. */
export const sessions = Object.entries(SHORT).map(([title, [question]]) => ({ title, question }));

/** Lets the model know what to answer. */
export function teach({ questions }) {
  for (const [question, answer] of [...Object.values(SHORT), CHAT, LATER])
    questions.set(question, `recite by 64\n${answer}`);
  questions.set(WRITES, `recite pace 3\n${WRITER}`);
  questions.set(WORKS, `recite think call pace 10\n${NIGHT}`);
  questions.set(READS, `recite pace 20\n${NIGHT}`);
}
