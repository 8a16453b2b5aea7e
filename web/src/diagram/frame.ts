// Runs in the frame that renders diagrams. The renderer writes HTML and inline styles, so it is isolated in a page without an
// origin, which can reach neither the server nor the surrounding page.

import mermaid from "mermaid";

import type { Asked, Told } from "./speech";

const FONT = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const ARRANGED_BY = "dagre";
/** The settings that a diagram can't change. */
const SETTLED = [
  "secure",
  "securityLevel",
  "startOnLoad",
  "maxTextSize",
  "suppressErrorRendering",
  "maxEdges",
];

function tell(told: Told): void {
  // This page can't know the origin of its parent. The messages contain no secrets.
  parent.postMessage(told, "*");
}

async function draw({ text, dark, colours }: Asked): Promise<void> {
  document.documentElement.style.colorScheme = dark ? "dark" : "light";
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    // The default layout engine is not in the build. Diagrams that request it use this one too.
    layout: ARRANGED_BY,
    state: { layout: ARRANGED_BY, look: "classic" },
    secure: [...SETTLED, "layout"],
    theme: "base",
    look: "classic",
    fontFamily: FONT,
    themeVariables: {
      darkMode: dark,
      background: colours.paper,
      primaryColor: colours.surface,
      primaryTextColor: colours.ink,
      primaryBorderColor: colours.edge,
      secondaryColor: colours.sunken,
      tertiaryColor: colours.sunken,
      lineColor: colours.edge,
      textColor: colours.ink,
      pie1: colours.kelp,
      pie2: colours.tide,
      pie3: colours.amber,
      pie4: colours.iron,
      pieOpacity: "1",
      pieStrokeColor: colours.paper,
      pieOuterStrokeColor: colours.paper,
      pieSectionTextColor: colours.paper,
    },
  });
  const { svg } = await mermaid.render("diagram", text);
  document.body.style.margin = "0";
  document.body.innerHTML = svg;
  const { width, height } = document.body.firstElementChild?.getBoundingClientRect() ?? {
    width: 0,
    height: 0,
  };
  tell({ drawn: { width: Math.ceil(width), height: Math.ceil(height) } });
}

addEventListener("message", ({ source, data }: MessageEvent<Asked>) => {
  if (source !== parent) return;
  draw(data).catch(() => tell("failed"));
});
tell("listening");
