import { i18n } from "@lingui/core";
import { ArrowLeft, Ellipsis, GitBranch, History as HistoryIcon, ScrollText, Search } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useSearch } from "wouter";

import { codeText } from "../api/problems";
import { useSessionCommands } from "../commands/session";
import { withKeys } from "../commands/spelling";
import { Composer } from "../composer/Composer";
import { follow } from "../live/store";
import type { State, TurnView, View } from "../log/types";
import { view as viewOf } from "../log/view";
import { ViewBoundary } from "../shell/ErrorBoundary";
import { lazily } from "../shell/lazily";
import { ui } from "../shell/ui";
import { useKnown } from "../shell/use";
import { useAnnouncements } from "./announcements";
import { Bound } from "./Bound";
import { Context } from "./Context";
import { Find } from "./Find";
import { useTurnKeys } from "./keys";
import { Nowhere } from "./Nowhere";
import { SeenHere } from "./SeenHere";
import { Strip } from "./Strip";
import { TakenBack } from "./TakenBack";
import { Thread } from "./Thread";
import { Title } from "./Title";
import { useEarlier } from "./earlier";
import { usePrint } from "./print";

const NONE: readonly TurnView[] = [];
const BreakIt = lazily(() => import("../first/BreakIt"));
const History = lazily(() => import("./History"), { close: ({ close }) => close() });

export function Conversation({ session }: { session: string }) {
  const known = useKnown(({ sessions }) => sessions[session]);
  const missing = useKnown(({ unknown }) => unknown[session]);
  const owner = useKnown(({ user }) => user?.role === "owner");
  const fresh = useKnown(({ fresh }) => fresh[session] !== undefined);
  useEffect(() => (fresh ? undefined : follow(session)), [session, fresh]);
  const view = useView(known?.state);
  const earlier = useEarlier(session, view);
  useAnnouncements(view);
  const [history, setHistory] = useState(false);
  const [finding, setFinding] = useState(false);
  useAskedTurn(session);
  const newest = view?.turns.at(-1)?.turn;
  const editLast = () => {
    if (newest !== undefined) ui.setState({ editing: { session, turn: newest } });
  };
  const find = () => setFinding(true);
  const { printing, print } = usePrint(earlier);
  useSessionCommands({ session, view, finding, find, print, history: () => setHistory(true) });
  useTurnKeys();
  if (missing !== undefined) {
    const title = missing === "session_not_found" ? {} : { title: i18n.t("Can't open this session") };
    return <Nowhere {...title} why={codeText(missing)} session={session} />;
  }
  return (
    <>
      <header className="head">
        <Link href="/" className="icon only-p" aria-label={i18n.t("Back to sessions")}>
          <ArrowLeft aria-hidden="true" />
        </Link>
        {fresh ? (
          <NewTitle />
        ) : (
          <Title session={session} title={view === undefined ? undefined : (view.title ?? null)} />
        )}
        {view?.origin != null && <Origin session={view.origin} />}
        {!fresh && <Tools session={session} find={find} history={() => setHistory(true)} />}
        <button
          type="button"
          className="icon"
          aria-label={i18n.t("Commands")}
          title={withKeys(i18n.t("Commands"), "Mod+k")}
          onClick={() => ui.setState({ over: "palette" })}
        >
          <Ellipsis aria-hidden="true" />
        </button>
      </header>
      {finding && (
        <Find
          session={session}
          turns={view?.turns ?? NONE}
          earlier={earlier}
          close={() => setFinding(false)}
        />
      )}
      <Strip />
      {owner && view?.tags?.includes("scratch") === true && <BreakIt session={session} view={view} />}
      <ViewBoundary of={session}>
        <Thread session={session} view={view} earlier={earlier} printing={printing}>
          {view?.can_put_back === true && <TakenBack session={session} />}
          <SeenHere session={session} />
        </Thread>
      </ViewBoundary>
      <Composer session={session} view={view} onEditLast={editLast} />
      {history && (
        <History session={session} canPutBack={view?.can_put_back === true} close={() => setHistory(false)} />
      )}
    </>
  );
}

/** Returns the view of a state, or the last valid view if building it throws. */
function useView(state: State | undefined): View | undefined {
  const last = useRef<View>(undefined);
  const view = useMemo(() => {
    try {
      return state === undefined ? undefined : viewOf(state);
    } catch (error) {
      console.error(error);
      // oxlint-disable-next-line react/refs -- read after an error only, and any earlier view is better than none
      return last.current;
    }
  }, [state]);
  useEffect(() => {
    last.current = view;
  }, [view]);
  return view;
}

/** A session that the server does not have yet cannot be renamed. */
function NewTitle() {
  return (
    <div className="grow titled">
      <h1 className="clip">{i18n.t("New session")}</h1>
    </div>
  );
}

function Tools({ session, find, history }: { session: string; find: () => void; history: () => void }) {
  return (
    <>
      <Bound session={session} />
      <Context session={session} />
      <button
        type="button"
        className="icon no-p"
        aria-label={i18n.t("Find in this session")}
        title={withKeys(i18n.t("Find in this session"), "Mod+f")}
        onClick={find}
      >
        <Search aria-hidden="true" />
      </button>
      <Link
        href={`/s/${session}/timeline`}
        className="icon no-p"
        aria-label={i18n.t("Timeline")}
        title={i18n.t("Timeline")}
      >
        <ScrollText aria-hidden="true" />
      </Link>
      <button type="button" className="icon" aria-label={i18n.t("History")} onClick={history}>
        <HistoryIcon aria-hidden="true" />
      </button>
    </>
  );
}

/** Scrolls to the turn named in the address. */
function useAskedTurn(session: string): void {
  const turn = Number(new URLSearchParams(useSearch()).get("turn") ?? Number.NaN);
  useEffect(() => {
    if (Number.isInteger(turn)) ui.setState({ reveal: { session, turn } });
  }, [session, turn]);
}

/** The link to the session that this one is a branch of. */
function Origin({ session }: { session: string }) {
  const title = useKnown(({ list }) => list?.find((line) => line.session === session)?.title);
  return (
    <Link href={`/s/${session}`} className="origin" title={i18n.t("Original session")}>
      <GitBranch aria-hidden="true" />
      <span className="clip">
        {title == null ? i18n.t("Branch of another session") : i18n.t("Branch of {title}", { title })}
      </span>
    </Link>
  );
}
