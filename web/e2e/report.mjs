// Figures as every target prints them: `name value goal ok|short`, explanations behind `#`, the verdict last.

const EXAMPLES = 20;

export class Report {
  short = [];

  constructor(target) {
    this.target = target;
  }

  note(text) {
    console.log(`# ${text}`);
  }

  figure(name, value, goal, holds) {
    console.log(`${this.target}.${name} ${value} ${goal} ${holds ? "ok" : "short"}`);
    if (!holds) this.short.push(name);
  }

  atLeast(name, value, least) {
    this.figure(name, value, `>=${least}`, value >= least);
  }

  /** Nothing of a kind may have been found; some of what was is shown. */
  none(name, found) {
    for (const one of found.slice(0, EXAMPLES))
      this.note(`${name}: ${String(one).replaceAll("\n", "\n#   ")}`);
    this.figure(name, found.length, 0, found.length === 0);
  }

  /** Does something and says how long it took; what went wrong counts against it. */
  async timed(name, act) {
    const begun = performance.now();
    try {
      await act();
    } catch (error) {
      this.none(name, [error.stack ?? error]);
    }
    this.note(`${name}: ${((performance.now() - begun) / 1_000).toFixed(1)} s`);
  }

  verdict() {
    const { target, short } = this;
    console.log(short.length === 0 ? `${target} ok` : `${target} short: ${[...new Set(short)].join(" ")}`);
    return short.length === 0 ? 0 : 1;
  }
}
