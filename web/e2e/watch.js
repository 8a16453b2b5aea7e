// Runs in every page before its own scripts: whether text that was shown ever shrinks.
(() => {
  const longest = new WeakMap();
  const seen = { shrinks: 0, texts: [] };
  window.watched = seen;
  // Markup that is complete turns into elements; only words count.
  const words = (node) => node.textContent.replace(/[^\p{L}\p{N}]/gu, "").length;
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
})();
