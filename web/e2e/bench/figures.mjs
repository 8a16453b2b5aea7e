// Speeds beside what the machine can do. In CI one falls short only beyond twice its bar: other work runs on that machine.
// Sizes, counts and pixels are exact everywhere.

import { Report } from "../report.mjs";

const round = (value) => Math.round(value * 10) / 10;

export class Figures extends Report {
  constructor({ full }) {
    super("bench-web");
    this.full = full;
  }

  /** Exactly so much. */
  exact(name, value, wanted) {
    this.figure(name, round(value), wanted, value === wanted);
  }

  /** A size: at most so much. */
  size(name, value, bar) {
    this.figure(name, round(value), `<=${bar}`, value <= bar);
  }

  /** A speed, less is better. `floor` is what this machine does with a page that does nothing. */
  slowest(name, value, bar, floor = 0) {
    const held = round(Math.max(bar, floor));
    const goal = this.full ? `<=${held}` : `<=${round(held * 2)}(twice_${held})`;
    this.figure(name, round(value), goal, value <= held * (this.full ? 1 : 2));
  }

  /** A speed, more is better; never more than a page that does nothing reaches. */
  quickest(name, value, bar, ceiling = Number.POSITIVE_INFINITY) {
    const held = round(Math.min(bar, ceiling));
    const goal = this.full ? `>=${held}` : `>=${round(held / 2)}(half_of_${held})`;
    this.figure(name, round(value), goal, value >= held / (this.full ? 1 : 2));
  }
}
