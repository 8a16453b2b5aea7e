// Draws the icons of the installed page anew from `public/icon.svg`: `node web/e2e/icons.mjs`.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { chromium } from "playwright-core";

const PUBLIC = join(import.meta.dirname, "../public");
const drawn = readFileSync(join(PUBLIC, "icon.svg"), "utf8");
/** A system cuts its own shape out of this one: nothing but the middle is sure to be seen. */
const maskable = drawn
  .replace(' rx="11"', "")
  .replace("translate(4.5 6) scale(1.5)", "translate(9.7 10.8) scale(1.1)");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const icons = {
  "icon-192.png": [192, drawn],
  "icon-512.png": [512, drawn],
  "icon-maskable.png": [512, maskable],
};
for (const [name, [size, svg]] of Object.entries(icons)) {
  const page = await browser.newPage({ viewport: { width: size, height: size } });
  await page.setContent(`<style>body{margin:0}svg{display:block;width:100vw;height:100vh}</style>${svg}`);
  await page.screenshot({ path: join(PUBLIC, name), omitBackground: true });
}
await browser.close();
