// Commands available on every page.

import { i18n } from "@lingui/core";
import { navigate } from "wouter/use-browser-location";

import { store } from "../live/store";
import { newSession } from "../sessions/begin";
import { attempt } from "../shell/attempt";
import { leave } from "../shell/leave";
import { ui } from "../shell/ui";
import { language, LANGUAGES, type Language } from "../words/language";
import { goRound, isLive, needsYou, searchAll, speakElsewhereToo } from "./acts";
import { PLACES } from "./places";
import type { Command } from "./registry";

const some = (is: typeof isLive) => () => store.getState().list?.some(is) ?? false;

const places: Command[] = PLACES.map(({ path, title, owners }) => ({
  id: `go:${path}`,
  group: "go",
  title,
  when: () => location.pathname !== path && (owners !== true || store.getState().user?.role === "owner"),
  run: () => navigate(path),
}));

const languages: Command[] = (Object.keys(LANGUAGES) as Language[]).map((code) => ({
  id: `language:${code}`,
  group: "anywhere",
  title: () => i18n.t("Language: {name}", { name: LANGUAGES[code] }),
  when: () => language() !== code,
  run: () => void speakElsewhereToo(code),
}));

export const EVERYWHERE: readonly Command[] = [
  {
    id: "palette",
    group: "anywhere",
    title: () => i18n.t("Commands"),
    keys: "Mod+k",
    onlyKeys: true,
    run: () => ui.setState({ over: "palette" }),
  },
  {
    id: "session.new",
    group: "anywhere",
    title: () => i18n.t("New session"),
    keys: "Mod+Shift+o",
    run: newSession,
  },
  {
    id: "search",
    group: "anywhere",
    title: () => i18n.t("Search all sessions"),
    keys: "Mod+Shift+f",
    run: searchAll,
  },
  {
    id: "needs_you.next",
    group: "anywhere",
    title: () => i18n.t("Next session that needs you"),
    keys: "Mod+Shift+a",
    when: some(needsYou),
    run: () => goRound(needsYou, 1),
  },
  {
    id: "live.next",
    group: "anywhere",
    title: () => i18n.t("Next live session"),
    keys: "Alt+ArrowDown",
    when: some(isLive),
    run: () => goRound(isLive, 1),
  },
  {
    id: "live.previous",
    group: "anywhere",
    title: () => i18n.t("Previous live session"),
    keys: "Alt+ArrowUp",
    when: some(isLive),
    run: () => goRound(isLive, -1),
  },
  {
    id: "shortcuts",
    group: "anywhere",
    title: () => i18n.t("Keyboard shortcuts"),
    keys: "?",
    run: () => ui.setState({ over: "shortcuts" }),
  },
  ...languages,
  {
    id: "sign_out",
    group: "anywhere",
    title: () => i18n.t("Sign out"),
    run: () => void attempt(i18n.t("Couldn't sign out: the server is unreachable."), leave()),
  },
  ...places,
];
