// What must hold in a real browser, whatever happens to the server, the network and the tab.

import { breakIt } from "./break_it.mjs";
import { continued } from "./continued.mjs";
import { diskFull } from "./disk_full.mjs";
import { firstRun } from "./first_run.mjs";
import { installed } from "./installed.mjs";
import { keyboard } from "./keyboard.mjs";
import { kills } from "./kills.mjs";
import { languages } from "./languages.mjs";
import { localContent } from "./local_content.mjs";
import { messaging } from "./messaging.mjs";
import { network } from "./network.mjs";
import { newSession } from "./new_session.mjs";
import { notifications } from "./notifications.mjs";
import { openid } from "./openid.mjs";
import { outOfTouch } from "./out_of_touch.mjs";
import { ownFaults } from "./own_faults.mjs";
import { palettes } from "./palette.mjs";
import { partsOfThePage } from "./parts.mjs";
import { passkeys } from "./passkeys.mjs";
import { people } from "./people.mjs";
import { queue } from "./queue.mjs";
import { searching } from "./searching.mjs";
import { serverPage } from "./server_page.mjs";
import { sessions } from "./sessions.mjs";
import { settings } from "./settings.mjs";
import { sharing } from "./sharing.mjs";
import { stop } from "./stop.mjs";
import { tabs } from "./tabs.mjs";
import { theEnd } from "./the_end.mjs";
import { timeline } from "./timeline.mjs";
import { tokensAndDevices } from "./tokens_and_devices.mjs";
import { turns } from "./turns.mjs";
import { upgrades } from "./upgrade.mjs";
import { whole } from "./whole.mjs";

// The longest first: the others fill the time beside them.
export const scenarios = {
  ...network,
  ...upgrades,
  ...kills,
  ...continued,
  ...diskFull,
  ...tabs,
  ...outOfTouch,
  ...ownFaults,
  ...localContent,
  ...newSession,
  ...turns,
  ...whole,
  ...theEnd,
  ...stop,
  ...queue,
  ...keyboard,
  ...sessions,
  ...searching,
  ...sharing,
  ...breakIt,
  ...settings,
  ...timeline,
  ...serverPage,
  ...tokensAndDevices,
  ...people,
  ...passkeys,
  ...openid,
  ...messaging,
  ...firstRun,
  ...installed,
  ...notifications,
  ...palettes,
  ...partsOfThePage,
  ...languages,
};
