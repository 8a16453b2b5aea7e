// Highlights search matches with the CSS Custom Highlight API, which leaves the DOM unchanged.

import { useEffect } from "react";

import { BLOCK_END, matchesIn } from "./matches";

const AREA = ".area > .thread";
const TURNS = "article[data-turn]";
const WORDS = ".words, .prose";
/** Skipped: labels, buttons, and formulas, which hold their text several times. */
const APART = "button, figcaption, .cuts, .katex, [hidden]";
const INLINE = new Set(
  "a abbr b bdi bdo code del em i ins kbd mark s small span strong sub sup u".split(" "),
);

/** Highlights the given words while a search is open. The words are already folded. */
export function useMarks(words: string): void {
  useEffect(() => {
    const area = document.querySelector(AREA);
    if (words === "" || area === null || !("highlights" in CSS)) return;
    const marks = new Marks(area, words);
    marks.renew();
    CSS.highlights.set("found", marks.highlight);
    const observer = new MutationObserver((records) => marks.changed(records));
    observer.observe(area, {
      subtree: true,
      childList: true,
      characterData: true,
      attributeFilter: ["hidden"],
    });
    return () => {
      observer.disconnect();
      CSS.highlights.delete("found");
    };
  }, [words]);
}

/** The highlights of every mounted turn. A turn is searched again only after it changed. */
class Marks {
  readonly highlight = new Highlight();
  private readonly known = new Map<Element, Range[]>();

  constructor(
    private readonly area: Element,
    private readonly words: string,
  ) {}

  changed(records: readonly MutationRecord[]): void {
    for (const { target } of records) {
      const turn = (target instanceof Element ? target : target.parentElement)?.closest(TURNS);
      if (turn != null) this.forget(turn);
    }
    this.renew();
  }

  renew(): void {
    for (const turn of this.known.keys()) if (!turn.isConnected) this.forget(turn);
    for (const turn of this.area.querySelectorAll(TURNS)) {
      if (this.known.has(turn)) continue;
      const ranges = rangesIn(turn, this.words);
      this.known.set(turn, ranges);
      for (const range of ranges) this.highlight.add(range);
    }
  }

  private forget(turn: Element): void {
    for (const range of this.known.get(turn) ?? []) this.highlight.delete(range);
    this.known.delete(turn);
  }
}

/** Returns the ranges in a turn that match the words, across inline formatting. */
function rangesIn(turn: Element, words: string): Range[] {
  return [...turn.querySelectorAll(WORDS)]
    .filter((root) => root.closest("[hidden]") === null)
    .flatMap((root) => {
      const page = new PageText(root);
      return matchesIn(page.text, words).map(({ start, end }) => page.range(start, end));
    });
}

/** The visible text of an element, mapped back to its text nodes. */
class PageText {
  text = "";
  private readonly nodes: { node: Text; at: number }[] = [];

  constructor(root: Element) {
    this.collect(root);
  }

  range(start: number, end: number): Range {
    const range = document.createRange();
    const first = this.nodes.findLast(({ at }) => at <= start);
    const last = this.nodes.findLast(({ at }) => at < end);
    if (first !== undefined) range.setStart(first.node, start - first.at);
    if (last !== undefined) range.setEnd(last.node, end - last.at);
    return range;
  }

  private collect(element: Element): void {
    for (const child of element.childNodes) {
      if (child instanceof Text) {
        this.nodes.push({ node: child, at: this.text.length });
        this.text += child.data;
      } else if (child instanceof Element && !child.matches(APART)) {
        const ends = child.localName === "br" ? "\n" : INLINE.has(child.localName) ? "" : BLOCK_END;
        this.text += ends;
        this.collect(child);
        this.text += ends;
      }
    }
  }
}
