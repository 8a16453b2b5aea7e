// One line a figure, `name value goal ok|short`, the verdict last. In CI a speed falls short only beyond twice its bar:
// other work runs on that machine. Sizes, counts and pixels are exact everywhere.

const round = (value) => Math.round(value * 10) / 10;

export class Figures {
  short = [];

  constructor({ full }) {
    this.full = full;
  }

  line(name, value, goal, reached) {
    console.log(`bench-web.${name} ${round(value)} ${goal} ${reached ? "ok" : "short"}`);
    if (!reached) this.short.push(name);
  }

  /** Exactly so much. */
  exact(name, value, wanted) {
    this.line(name, value, wanted, value === wanted);
  }

  /** A size: at most so much. */
  size(name, value, bar) {
    this.line(name, value, `≤${bar}`, value <= bar);
  }

  /** A speed, less is better. `floor` is what this machine does with a page that does nothing. */
  atMost(name, value, bar, floor = 0) {
    const held = round(Math.max(bar, floor));
    const goal = this.full ? `≤${held}` : `≤${round(held * 2)}(twice_${held})`;
    this.line(name, value, goal, value <= held * (this.full ? 1 : 2));
  }

  /** A speed, more is better; never more than a page that does nothing reaches. */
  atLeast(name, value, bar, ceiling = Number.POSITIVE_INFINITY) {
    const held = round(Math.min(bar, ceiling));
    const goal = this.full ? `≥${held}` : `≥${round(held / 2)}(half_of_${held})`;
    this.line(name, value, goal, value >= held / (this.full ? 1 : 2));
  }

  note(text) {
    console.log(`# ${text}`);
  }

  verdict() {
    console.log(
      this.short.length === 0 ? "bench-web ok" : `bench-web short: ${[...new Set(this.short)].join(" ")}`,
    );
    return this.short.length === 0;
  }
}
