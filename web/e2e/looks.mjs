// What is looked at on a page that is in some state: axe's rules, what reaches beyond the edge, how large what is pressed
// is. The functions run in the page.

/** Every rule of WCAG 2.0 to 2.2, A and AA, and those that axe calls best practice. */
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"];

/** Rules that do not hold, each with the first places where. */
export async function violations(page) {
  return page.evaluate(async (tags) => {
    // Styles are read from the page; asking for them again would only be slow.
    const options = { runOnly: tags, resultTypes: ["violations"], preload: false, elementRef: false };
    const found = await window.axe.run(document, options);
    return found.violations.map(({ id, nodes }) => {
      const places = nodes
        .slice(0, 3)
        .map(
          (node) =>
            `${node.html.slice(0, 140)} (${node.any[0]?.message ?? node.none[0]?.message ?? node.all[0]?.message})`,
        );
      return `${id}, ${nodes.length} times: ${places.join("; ")}`;
    });
  }, TAGS);
}

/** What cannot be seen without going sideways. Code and tables are meant to scroll by themselves. */
export async function overflows(page) {
  return page.evaluate(() => {
    const found = [];
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) found.push(`the page is ${root.scrollWidth} wide`);
    const cuts = (element) =>
      !element.matches(".app, body, html") && getComputedStyle(element).overflowX !== "visible";
    const isCut = (element) => {
      for (let outer = element.parentElement; outer !== null; outer = outer.parentElement) {
        if (cuts(outer)) return true;
      }
      return false;
    };
    const name = (element) => `${element.localName}.${element.className?.baseVal ?? element.className}`;
    for (const element of document.querySelectorAll("body *")) {
      if (!element.checkVisibility() || element.closest(".sr") !== null) continue;
      const scrolls = ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
      const meant = element.matches("pre, .table, textarea, input");
      if (scrolls && !meant && element.scrollWidth > element.clientWidth + 1)
        found.push(`${name(element)} scrolls sideways by ${element.scrollWidth - element.clientWidth}`);
      const { left, right, width } = element.getBoundingClientRect();
      if (width > 0 && (right > root.clientWidth + 1 || left < -1) && !isCut(element))
        found.push(`${name(element)} goes from ${Math.round(left)} to ${Math.round(right)}`);
    }
    return found;
  });
}

/** What is pressed and is smaller than 24 px. Links inside a line of text may be. */
export async function smallTargets(page) {
  return page.evaluate(() => {
    const PRESSED =
      "a[href], button, input, textarea, select, summary, [role=button], [role=radio], [role=checkbox], " +
      "[role=menuitem], [role=option], [role=switch], [role=tab]";
    return [...document.querySelectorAll(PRESSED)].flatMap((element) => {
      if (!element.checkVisibility() || element.disabled === true) return [];
      if (element.localName === "a" && getComputedStyle(element).display === "inline") return [];
      const { width, height } = element.getBoundingClientRect();
      if (width === 0 || Math.min(width, height) >= 24) return [];
      return [`${element.outerHTML.slice(0, 120)} is ${Math.round(width)} by ${Math.round(height)}`];
    });
  });
}

/** Places that speak by themselves, besides the one that tells events and those for errors. */
export async function otherVoices(page) {
  return page.evaluate(() => {
    const live = [
      ...document.querySelectorAll("[aria-live], [role=log], [role=status], [role=timer], output"),
    ];
    const others = live.filter(
      (element) => element.ariaLive !== "off" && !element.matches(".sr[role=status]"),
    );
    return others.map((element) => element.outerHTML.slice(0, 120));
  });
}

/** Animations that go on. */
export async function animations(page) {
  return page.evaluate(() =>
    document
      .getAnimations()
      .filter(({ playState }) => playState === "running")
      .map((animation) => `${animation.animationName ?? animation.transitionProperty}`),
  );
}
