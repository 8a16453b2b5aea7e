// Commands for the shown session.

import { i18n } from "@lingui/core";
import { navigate } from "wouter/use-browser-location";

import { ask } from "../api/client";
import type { View } from "../log/types";
import { compact } from "../sessions/acts";
import { ask as question } from "../sessions/asked";
import { exportPath, type ExportFormat } from "../sessions/exports";
import { attempt } from "../shell/attempt";
import { ui } from "../shell/ui";
import { continuable, continueAnswer, isContinuing } from "../conversation/continue";
import { takeBack } from "../conversation/undo";
import { useCommands, type Command } from "./registry";

interface Shown {
  session: string;
  view: View | undefined;
  finding: boolean;
  find: () => void;
  print: () => void;
  history: () => void;
}

export function useSessionCommands(shown: Shown): void {
  useCommands(sessionCommands(shown));
}

export function sessionCommands(shown: Shown): Command[] {
  return [...acts(shown), ...context(shown), ...shelves(shown), ...exports(shown)];
}

function acts({ session, view, finding, find, print, history }: Shown): Command[] {
  const newest = view?.turns.at(-1)?.turn;
  const rests = newest !== undefined && view?.run == null;
  const ended = continuable(view?.run, view?.turns.at(-1))?.run;
  return [
    {
      id: "session.continue",
      group: "session",
      title: () => i18n.t("Continue"),
      when: () => ended !== undefined && !isContinuing(session, ended),
      run: () => void continueAnswer(session),
    },
    {
      id: "session.retry",
      group: "session",
      title: () => i18n.t("Retry last answer"),
      when: () => rests,
      run: () =>
        void attempt(
          i18n.t("Couldn't retry: the server is unreachable."),
          ask("POST", `/sessions/${session}/retry`),
        ),
    },
    {
      id: "session.edit",
      group: "session",
      title: () => i18n.t("Edit last message"),
      when: () => newest !== undefined,
      run: () => newest !== undefined && ui.setState({ editing: { session, turn: newest } }),
    },
    {
      id: "session.take_back",
      group: "session",
      title: () => i18n.t("Undo last turn"),
      keys: "Mod+Alt+z",
      when: () => newest !== undefined,
      run: () => newest !== undefined && takeBack(session, newest),
    },
    {
      id: "session.find",
      group: "session",
      title: () => i18n.t("Find in this session"),
      keys: "Mod+f",
      // A second press opens the browser's own search.
      when: () => !finding,
      run: find,
    },
    {
      id: "session.print",
      group: "session",
      title: () => i18n.t("Print"),
      // The browser's own shortcut would print only the loaded turns.
      keys: "Mod+p",
      when: () => view !== undefined,
      run: print,
    },
    {
      id: "session.history",
      group: "session",
      title: () => i18n.t("History"),
      when: () => view !== undefined,
      run: history,
    },
    {
      id: "session.timeline",
      group: "session",
      title: () => i18n.t("Timeline"),
      when: () => view !== undefined,
      run: () => navigate(`/s/${session}/timeline`),
    },
  ];
}

/** The same actions as in the session's menu in the list. */
function context({ session, view }: Shown): Command[] {
  const when = () => view !== undefined && !view.trashed;
  return [
    {
      id: "session.compact",
      group: "session",
      title: () => i18n.t("Compact context"),
      when,
      run: () => compact(session),
    },
    {
      id: "session.clear",
      group: "session",
      title: () => i18n.t("Clear conversation"),
      when,
      run: () => question({ kind: "clear", session }),
    },
  ];
}

function shelves({ session, view }: Shown): Command[] {
  if (view === undefined) return [];
  const change = (body: object) =>
    void attempt(
      i18n.t("Couldn't change the session: the server is unreachable."),
      ask("PATCH", `/sessions/${session}`, { body }),
    );
  return [
    {
      id: "session.tags",
      group: "session",
      title: () => i18n.t("Tags"),
      run: () => question({ kind: "tags", sessions: [session] }),
    },
    {
      id: "session.move",
      group: "session",
      title: () => i18n.t("Move to project"),
      run: () => question({ kind: "move", sessions: [session] }),
    },
    {
      id: "session.pin",
      group: "session",
      title: () => (view.pinned ? i18n.t("Unpin") : i18n.t("Pin")),
      run: () => change({ pinned: !view.pinned }),
    },
    {
      id: "session.archive",
      group: "session",
      title: () => (view.archived ? i18n.t("Unarchive session") : i18n.t("Archive session")),
      when: () => !view.trashed,
      run: () => change({ archived: !view.archived }),
    },
    {
      id: "session.trash",
      group: "session",
      title: () => (view.trashed ? i18n.t("Restore from trash") : i18n.t("Move to trash")),
      run: () => change({ trashed: !view.trashed }),
    },
  ];
}

function exports({ session, view }: Shown): Command[] {
  const save = (format: ExportFormat) => {
    const link = document.createElement("a");
    link.href = exportPath(session, format);
    link.download = "";
    link.click();
  };
  const when = () => view !== undefined;
  return [
    {
      id: "session.share",
      group: "session",
      title: () => i18n.t("Share"),
      when,
      run: () => question({ kind: "share", session }),
    },
    {
      id: "session.export.markdown",
      group: "session",
      title: () => i18n.t("Export as Markdown"),
      when,
      run: () => save("markdown"),
    },
    {
      id: "session.export.html",
      group: "session",
      title: () => i18n.t("Export as HTML"),
      when,
      run: () => save("html"),
    },
    {
      id: "session.export.json",
      group: "session",
      title: () => i18n.t("Export as JSON"),
      when,
      run: () => save("json"),
    },
  ];
}
