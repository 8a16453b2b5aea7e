// Runs in every page before its own scripts: whether text that was shown ever shrinks, and whether an entry is ever missing
// between two that came.
(() => {
  const longest = new WeakMap();
  const seen = { shrinks: 0, texts: [], gaps: 0 };
  window.watched = seen;
  // Markup that is complete turns into elements, so only words count; and only those of people, agent and tools: what a row is
  // called changes with what it tells of.
  const CONTENT = ".prose, .words, pre";
  const letters = (text) => text.replace(/[^\p{L}\p{N}]/gu, "").length;
  const words = (node) =>
    [...node.querySelectorAll(CONTENT)]
      .filter((part) => part.parentElement.closest(CONTENT) === null)
      .reduce((count, part) => count + letters(part.textContent), 0);
  const look = () => {
    for (const node of document.querySelectorAll("[data-turn] .parts, [data-turn] > .e:first-child .said")) {
      const length = words(node);
      const before = longest.get(node) ?? 0;
      if (length < before) {
        seen.shrinks += 1;
        seen.texts.push(`${before} to ${length}`);
      }
      longest.set(node, Math.max(length, before));
    }
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });

  // What the page is shown of a session never leaves an entry out, over all sockets that it ever had.
  const heads = new Map();
  const hear = ({ snapshot, entries }) => {
    if (snapshot !== undefined) heads.set(snapshot.session, snapshot.state.link.seq);
    for (const { seq } of entries?.entries ?? []) {
      const head = heads.get(entries.session);
      if (head !== undefined && seq > head + 1) seen.gaps += 1;
      heads.set(entries.session, Math.max(head ?? 0, seq));
    }
  };
  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) => hear(JSON.parse(data)));
    }
  };
})();
