// Runs in every page and frame before its own scripts: tells of everything that was run, that the policy of the page
// refused, and that was drawn although no text may draw it.
(() => {
  const tell = (kind, what) => void window.tellCanary?.(kind, String(what).slice(0, 300));
  const run = (what) => tell("executed", what);
  Object.defineProperty(window, "pwned", { value: (number) => run(`pwned(${number})`) });
  for (const name of ["alert", "confirm", "prompt", "print", "open"]) window[name] = () => run(name);
  document.addEventListener("securitypolicyviolation", (event) =>
    tell("policy_reports", `${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
  );

  const NEVER = [
    "script:not([src^='/assets/'])",
    "link:not(head > link)",
    "meta:not(head > meta)",
    "style:not(head > style)",
    "img:not([src^='blob:'], [src^='/api/v1/'])",
    "form[action]",
    // Diagrams are drawn in a frame without an origin, and formulas have a twin for screen readers.
    "iframe:not([sandbox='allow-scripts'][src='/diagram.html'])",
    "math:not(.katex math)",
    ...["frame", "frameset", "object", "embed", "applet", "portal", "base", "bgsound", "marquee"],
    ...["picture", "video", "audio", "source", "track", "template", "noscript"],
    ...["foreignObject", "animate", "set", "use", "image", "feImage"],
  ].join(", ");
  const ADDRESSES = [
    "href",
    "xlink:href",
    "src",
    "srcset",
    "srcdoc",
    "action",
    "formaction",
    "data",
    "poster",
  ];
  const OTHERS = ["background", "ping", "cite", "manifest", "codebase"];
  const GONE_TO = ["http:", "https:", "mailto:", "blob:"];

  /** Whether an element may have an address: anywhere that people go, and for what is loaded only here. */
  function allowed(element, text) {
    let url;
    try {
      url = new URL(text, location.href);
    } catch {
      return false;
    }
    // The mark on the tab is drawn here; no text is in it.
    if (element.matches("head > link[rel=icon]") && text.startsWith("data:image/svg+xml,")) return true;
    if (element.localName === "a") return GONE_TO.includes(url.protocol);
    return url.protocol === "blob:" || url.origin === location.origin;
  }

  function inspect(element) {
    const told = (kind) => tell(kind, element.outerHTML);
    if (element.matches(NEVER)) told("elements");
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name)) told("handlers");
      if ([...ADDRESSES, ...OTHERS].includes(name) && !allowed(element, value)) told("hrefs");
      if (name === "style" && /url\(|expression|binding|behavior/i.test(value)) told("hrefs");
    }
    if (element.target === "_blank" && !/noopener.*noreferrer/.test(element.rel)) told("openers");
  }

  new MutationObserver((changes) => {
    for (const { type, target, addedNodes } of changes) {
      if (type === "attributes") inspect(target);
      for (const node of addedNodes) {
        if (node.nodeType !== Node.ELEMENT_NODE) continue;
        inspect(node);
        for (const inner of node.querySelectorAll("*")) inspect(inner);
      }
    }
  }).observe(document, { subtree: true, childList: true, attributes: true });
})();
