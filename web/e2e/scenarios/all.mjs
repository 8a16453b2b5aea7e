// What must hold in a real browser, whatever happens to the server, the network and the tab.

import { installed } from "./installed.mjs";
import { keyboard } from "./keyboard.mjs";
import { kills } from "./kills.mjs";
import { languages } from "./languages.mjs";
import { network } from "./network.mjs";
import { notifications } from "./notifications.mjs";
import { palettes } from "./palette.mjs";
import { queue } from "./queue.mjs";
import { stop } from "./stop.mjs";
import { tabs } from "./tabs.mjs";
import { turns } from "./turns.mjs";

// The longest first: the others fill the time beside them.
export const scenarios = {
  ...network,
  ...kills,
  ...tabs,
  ...turns,
  ...stop,
  ...queue,
  ...keyboard,
  ...installed,
  ...notifications,
  ...palettes,
  ...languages,
};
