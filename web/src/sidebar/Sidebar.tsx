// The sessions, at the side: what is looked at, the list itself, and whether everything is saved.

import { i18n } from "@lingui/core";
import { Plus, Settings } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";

import { ask } from "../api/client";
import { store } from "../live/store";
import { useAsked } from "../sessions/asked";
import { lineOf, useLists } from "../sessions/lists";
import { usePicked } from "../sessions/picked";
import { hearOtherTabs, markShown } from "../sessions/unread";
import { attempt } from "../shell/attempt";
import { Mark } from "../shell/Mark";
import { useUi } from "../shell/ui";
import { List } from "./List";
import { Narrow } from "./Narrow";
import { SaveLine } from "./SaveLine";
import { SearchField } from "./Search";
import { Places, Views } from "./Views";

const Results = lazy(() => import("./Results"));
const Menu = lazy(() => import("./Menu"));
const PickedBar = lazy(() => import("./PickedBar"));
const Questions = lazy(() => import("../sessions/Questions"));

/** The session that is shown, if one is. */
function current(path: string): string | undefined {
  return /^\/s\/([^/]+)/.exec(path)?.[1];
}

export function Sidebar() {
  const [path, go] = useLocation();
  const shown = current(path);
  const view = useLists(({ view }) => view);
  const [words, setWords] = useState("");
  const sought = words.trim();
  const begin = useNewSession(shown, go);
  useLiveKeys(shown, go);
  useShown(shown);
  return (
    <nav className="side" aria-label={i18n.t("Sessions")}>
      <div className="brand">
        <Mark />
        <b className="grow">Everturn</b>
        <Link href="/settings" className="icon" aria-label={i18n.t("Settings")} title={i18n.t("Settings")}>
          <Settings aria-hidden="true" />
        </Link>
        <button
          type="button"
          className="icon"
          aria-label={i18n.t("New session")}
          title={i18n.t("New session (Ctrl Shift O)")}
          onClick={begin}
        >
          <Plus aria-hidden="true" />
        </button>
      </div>
      <SearchField words={words} setWords={setWords} goDown={goDown} />
      {sought === "" ? (
        <>
          <Views />
          <List key={JSON.stringify(view)} top={<Narrow />} shown={shown} />
        </>
      ) : (
        <Suspense fallback={<div className="list" />}>
          <Results words={sought} />
        </Suspense>
      )}
      {shown === undefined && <Notice />}
      <Above />
      <Places />
      <SaveLine />
    </nav>
  );
}

/** From the field to the first thing below it that one can go to. */
function goDown(): void {
  const list = document.querySelector(".side .list");
  const row = list?.querySelector<HTMLElement>('[data-row][tabindex="0"], .found a');
  row?.focus();
}

function useNewSession(shown: string | undefined, go: (path: string) => void): () => void {
  const project = useLists(({ view }) => view.project);
  const make = async () => {
    const body = { id: crypto.randomUUID(), ...(shown === undefined ? {} : { after: shown }) };
    const { session } = await ask<{ session: string }>("POST", "/sessions", { body });
    go(`/s/${session}`);
    // Who looks at a project means it to stand there.
    if (project !== undefined) await ask("PATCH", `/sessions/${session}`, { body: { project } });
  };
  const begin = () => void attempt("made", make());
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || !event.shiftKey || event.key.toLowerCase() !== "o") return;
      event.preventDefault();
      begin();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
  return begin;
}

/** Alt and an arrow go round the sessions in which something happens. */
function useLiveKeys(shown: string | undefined, go: (path: string) => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!event.altKey || !(event.key === "ArrowUp" || event.key === "ArrowDown")) return;
      const live = store.getState().list?.filter((line) => line.run != null) ?? [];
      const at = live.findIndex((line) => line.session === shown);
      const next = live.at((at + (event.key === "ArrowDown" ? 1 : -1)) % Math.max(1, live.length));
      if (next === undefined) return;
      event.preventDefault();
      go(`/s/${next.session}`);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [shown, go]);
}

/** What is on the screen is not new. */
function useShown(shown: string | undefined): void {
  const others = useLists(({ others }) => others);
  const pins = useLists(({ pins }) => pins);
  useEffect(hearOtherTabs, []);
  useEffect(() => {
    const look = () => {
      const line = shown === undefined ? undefined : lineOf(shown);
      if (line !== undefined) markShown(line);
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [shown, others, pins]);
}

/** Why what was asked for last was not done, where no session is shown that says so. */
function Notice() {
  const notice = useUi(({ notice }) => notice);
  return notice === undefined ? null : <p className="notice">{notice}</p>;
}

/** What opens over the list: menus, questions, and what is done with several. */
function Above() {
  const menu = useAsked(({ menu }) => menu);
  const question = useAsked(({ question }) => question);
  const several = usePicked(
    ({ sessions, doing, told }) => sessions.size > 0 || doing != null || told != null,
  );
  return (
    <>
      <Suspense>{several && <PickedBar />}</Suspense>
      <Suspense>{menu !== undefined && <Menu asked={menu} />}</Suspense>
      <Suspense>{question !== undefined && <Questions question={question} />}</Suspense>
    </>
  );
}
