// Runs in every page before its own scripts: what a screen reader is told, and everything that moves.
(() => {
  const heard = { said: [], moved: [] };
  Object.defineProperty(window, "heard", { value: heard });
  new MutationObserver(() => {
    const text = document.querySelector("[role=status]")?.textContent ?? "";
    if (text !== "" && text !== heard.said.at(-1)) heard.said.push(text);
  }).observe(document, { subtree: true, childList: true, characterData: true });
  for (const kind of ["animationstart", "transitionrun"]) {
    document.addEventListener(
      kind,
      (event) =>
        heard.moved.push(`${event.animationName ?? event.propertyName} of ${event.target.localName}`),
      true,
    );
  }
})();
