// What must hold in a real browser, whatever happens to the server, the network and the tab.

import { keyboard } from "./keyboard.mjs";
import { kills } from "./kills.mjs";
import { network } from "./network.mjs";
import { queue } from "./queue.mjs";
import { sessions } from "./sessions.mjs";
import { sharing } from "./sharing.mjs";
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
  ...sessions,
  ...sharing,
};
