// The sidebar: views, the list of sessions, and the save status.

import { i18n } from "@lingui/core";
import { Plus, Settings } from "lucide-react";
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";

import { sessionIn } from "../commands/places";
import { useCommands } from "../commands/registry";
import { withKeys } from "../commands/spelling";
import { closeMenu, useAsked } from "../sessions/asked";
import { newSession } from "../sessions/begin";
import { lineOf, useLists } from "../sessions/lists";
import { usePicked } from "../sessions/picked";
import { hearOtherTabs, markShown } from "../sessions/unread";
import { Mark } from "../shell/Mark";
import { lazily } from "../shell/lazily";
import { useUi } from "../shell/ui";
import { IN_THE_LIST } from "./commands";
import { List } from "./List";
import { Narrow } from "./Narrow";
import { SaveLine } from "./SaveLine";
import { SearchField } from "./Search";
import { Places, show, VIEWS, Views } from "./Views";

const Results = lazily(() => import("./Results"), { loading: <div className="list" /> });
const Menu = lazily(() => import("./Menu"), { close: closeMenu });
const PickedBar = lazily(() => import("./PickedBar"));

export function Sidebar() {
  const [path] = useLocation();
  const shown = sessionIn(path);
  const view = useLists(({ view }) => view);
  const [words, setWords] = useState("");
  const sought = words.trim();
  useCommands(IN_THE_LIST);
  useAddress(path);
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
          title={withKeys(i18n.t("New session"), "Mod+Shift+o")}
          onClick={() => newSession()}
        >
          <Plus aria-hidden="true" />
        </button>
      </div>
      <SearchField words={words} setWords={setWords} goDown={goDown} />
      {sought === "" ? (
        <>
          <Views />
          <List key={JSON.stringify(view)} top={<Narrow shown={shown} />} shown={shown} />
        </>
      ) : (
        <Results words={sought} />
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

/** Addresses that are parts of the list, for who comes by one of them. */
function useAddress(path: string): void {
  useEffect(() => {
    const view = VIEWS[path];
    if (view !== undefined) show(view);
  }, [path]);
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

/** The notice, where no session is shown that has it. */
function Notice() {
  const notice = useUi(({ notice }) => notice);
  return notice === undefined ? null : <p className="notice">{notice.text}</p>;
}

/** What opens over the list: menus, and what is done with several. */
function Above() {
  const menu = useAsked(({ menu }) => menu);
  const several = usePicked(
    ({ sessions, doing, told }) => sessions.size > 0 || doing != null || told != null,
  );
  return (
    <>
      {several && <PickedBar />}
      {menu !== undefined && <Menu asked={menu} />}
    </>
  );
}
