// One view of the list: pages that are asked for while one scrolls, and changes that come by themselves.

import { Lines } from "./lines";
import { isIn, type Line, type Page, type View } from "./types";

/** Where a view stands: pages may be missing, on their way, or refused. */
export type Standing = "asking" | "ready" | "failed";

/** Where lines come from. */
export interface Source {
  page: (view: View, before: string | undefined) => Promise<Page>;
  /** All pins of a view, however old; none when they cannot be told. */
  pins: (view: View) => Promise<readonly Line[]>;
}

export class Feed {
  private lines: Lines;
  /** The same list read anew after a cut, until it is as long as the one that is shown. */
  private fresh: Lines | undefined;
  private next: string | null | undefined;
  private standing: Standing = "asking";
  private loaded = 0;

  constructor(
    readonly view: View,
    private readonly source: Source,
    private readonly held: ReadonlySet<string>,
    private readonly changed: () => void,
  ) {
    this.lines = this.empty();
  }

  get state(): Standing {
    return this.standing;
  }

  /** Grows with every page that arrives, and with the pins. */
  get loads(): number {
    return this.loaded;
  }

  /** Whether pages are left to ask for. */
  get more(): boolean {
    return this.next !== null;
  }

  get(session: string): Line | undefined {
    return this.lines.get(session);
  }

  shown(): { pins: Line[]; others: Line[] } {
    return this.lines.shown();
  }

  /** Begins, or begins anew after changes were missed: what is shown stays until as much of it has come again. */
  async open(first?: Page): Promise<void> {
    const fresh = this.empty();
    this.fresh = fresh;
    const depth = this.lines.reached;
    const again = depth !== Number.POSITIVE_INFINITY;
    const pins = this.view.shelf === "active" ? this.source.pins(this.view) : Promise.resolve([]);
    try {
      let page = first ?? (await this.source.page(this.view, undefined));
      fresh.page(page.sessions, page.next == null);
      while (again && page.next != null && depth < fresh.reached) {
        page = await this.source.page(this.view, page.next);
        fresh.page(page.sessions, page.next == null);
      }
      if (again) fresh.add(await pins);
      if (this.fresh !== fresh) return;
      this.lines = fresh;
      this.fresh = undefined;
      this.next = page.next ?? null;
      this.loaded += 1;
      this.stand("ready");
      fresh.add(await pins);
      this.loaded += 1;
      this.changed();
    } catch {
      if (this.fresh !== fresh) return;
      // What is shown may be old by now, so the next page is the first one.
      this.fresh = undefined;
      this.next = undefined;
      this.stand("failed");
    }
  }

  /** Asks for the next page, unless one is on its way. */
  async ask(): Promise<void> {
    if (this.standing === "failed" && this.next === undefined) return this.again();
    if (this.standing === "asking" || this.fresh !== undefined || this.next == null) return;
    const { lines, next } = this;
    this.stand("asking");
    try {
      const page = await this.source.page(this.view, next);
      if (this.lines !== lines) return;
      lines.page(page.sessions, page.next == null);
      this.next = page.next ?? null;
      this.loaded += 1;
      this.stand("ready");
    } catch {
      if (this.lines === lines) this.stand("failed");
    }
  }

  line(line: Line): void {
    for (const known of this.all()) known.line(line);
    this.changed();
  }

  gone(session: string): void {
    for (const known of this.all()) known.gone(session);
    this.changed();
  }

  release(session: string): void {
    for (const known of this.all()) known.release(session);
    this.changed();
  }

  private again(): Promise<void> {
    this.stand("asking");
    return this.open();
  }

  private all(): Lines[] {
    return this.fresh === undefined ? [this.lines] : [this.lines, this.fresh];
  }

  private empty(): Lines {
    const { view } = this;
    return new Lines((line) => isIn(view, line), this.held, view.shelf === "active");
  }

  private stand(standing: Standing): void {
    this.standing = standing;
    this.changed();
  }
}
