// Runs in the frame that draws diagrams. What draws them writes HTML and inline styles, so it is kept where that can do no
// harm: in a page without an origin, which reaches neither the server nor the page around it.

import mermaid from "mermaid";

import type { Asked, Told } from "./speech";

const FONT = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const ARRANGED_BY = "dagre";
/** What a diagram may not change. */
const SETTLED = [
  "secure",
  "securityLevel",
  "startOnLoad",
  "maxTextSize",
  "suppressErrorRendering",
  "maxEdges",
];

function tell(told: Told): void {
  // The page around has an origin, but this one cannot know it. Nothing that is told is secret.
  parent.postMessage(told, "*");
}

async function draw({ text, dark, colours }: Asked): Promise<void> {
  document.documentElement.style.colorScheme = dark ? "dark" : "light";
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    // The usual way is left out of the build. A diagram that asks for it is arranged in this one too.
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
