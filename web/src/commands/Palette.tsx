// The command palette: finds available commands and all sessions by a few letters.

import { i18n } from "@lingui/core";
import { ChevronRight, MessageSquare, Search, X } from "lucide-react";
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { navigate } from "wouter/use-browser-location";

import { announce } from "../shell/announce";
import { useKnown } from "../shell/use";
import { fitting, wordsOf } from "./find";
import { titleOf as groupTitle } from "./groups";
import { matches } from "./keys";
import { allCommands, can, keysOf, type Group } from "./registry";
import { useFound } from "./found";
import { spelt } from "./spelling";

const RECENT = 8;
/** Commands for the palette, which excludes those that act on the focused element. */
const SHOWN: readonly Group[] = ["session", "anywhere", "go"];

interface Option {
  id: string;
  title: string;
  note?: string | undefined;
  keys?: string | undefined;
  session?: true;
  run: () => void;
}

interface Section {
  name: string;
  options: Option[];
}

function useSections(typed: string): Section[] {
  const list = useKnown(({ list }) => list);
  const found = useFound(typed.trim());
  return useMemo(() => {
    const words = wordsOf(typed);
    const commands = allCommands().filter((command) => command.onlyKeys !== true && can(command));
    const byGroup = SHOWN.map((group) => ({
      name: groupTitle(group),
      options: fitting(
        commands.filter((command) => command.group === group),
        (command) => command.title(),
        words,
      ).map((command) => ({
        id: command.id,
        title: command.title(),
        keys: keysOf(command)[0],
        run: command.run,
      })),
    }));
    const lines = (list ?? []).map(({ session, title }) => ({
      session,
      title: title ?? i18n.t("New session"),
    }));
    const named = fitting(lines, ({ title }) => title, words).slice(0, RECENT);
    const elsewhere = found.filter(({ session }) => !named.some((line) => line.session === session));
    const sessions = [
      ...named.map(({ session, title }) => ({ session, title, turn: null, note: undefined })),
      ...elsewhere.map(({ session, title, turn, excerpt }) => ({
        session,
        title: title ?? lines.find((line) => line.session === session)?.title ?? i18n.t("New session"),
        turn,
        note: excerpt,
      })),
    ].map(({ session, title, turn, note }): Option => ({
      id: `session:${session}`,
      title,
      note,
      session: true,
      run: () => navigate(turn === null ? `/s/${session}` : `/s/${session}?turn=${turn}`),
    }));
    const sections = [
      ...byGroup.slice(0, 2),
      { name: i18n.t("Sessions"), options: sessions },
      ...byGroup.slice(2),
    ];
    return sections.filter(({ options }) => options.length > 0);
  }, [typed, list, found]);
}

export default function Palette({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const sections = useSections(typed);
  const options = sections.flatMap((section) => section.options);
  const chosen = Math.min(at, options.length - 1);
  const nothing = options.length === 0;
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    if (nothing) announce(i18n.t("No results"));
  }, [nothing]);
  useEffect(() => {
    document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [id, chosen, typed]);
  const run = (option: Option | undefined) => {
    if (option === undefined) return;
    // Closed first: the focus goes back to where it was, and what is done may take it from there.
    dialog.current?.close();
    option.run();
  };
  const press = (event: React.KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) setAt((chosen + by + options.length) % Math.max(1, options.length));
    else if (event.key === "Home") setAt(0);
    else if (event.key === "End") setAt(options.length - 1);
    else if (event.key === "Enter") run(options[chosen]);
    else if (matches("Mod+k", event.nativeEvent)) dialog.current?.close();
    else return;
    event.preventDefault();
  };
  const firsts = sections.map((_, at) => sections.slice(0, at).flatMap(({ options }) => options).length);
  return (
    <dialog
      ref={dialog}
      className="pal"
      aria-label={i18n.t("Commands")}
      onClose={close}
      onClick={(event) => event.target === event.currentTarget && dialog.current?.close()}
    >
      <div className="in">
        <Search aria-hidden="true" />
        <input
          type="text"
          dir="auto"
          role="combobox"
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls={`${id}-list`}
          aria-activedescendant={nothing ? undefined : `${id}-${chosen}`}
          aria-label={i18n.t("Command or session")}
          placeholder={i18n.t("Search commands and sessions…")}
          value={typed}
          autoFocus
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setTyped(event.target.value);
            setAt(0);
          }}
          onKeyDown={press}
        />
        <button
          type="button"
          className="icon only-p"
          aria-label={i18n.t("Close")}
          onClick={() => dialog.current?.close()}
        >
          <X aria-hidden="true" />
        </button>
      </div>
      <div className="options" role="listbox" id={`${id}-list`} aria-label={i18n.t("Commands and sessions")}>
        {sections.map(({ name, options }, section) => (
          <div key={name} role="group" aria-label={name}>
            <div className="h3" aria-hidden="true">
              {name}
            </div>
            {options.map((option, at) => {
              const place = (firsts[section] ?? 0) + at;
              return (
                <div
                  key={option.id}
                  id={`${id}-${place}`}
                  role="option"
                  aria-selected={place === chosen}
                  className="o"
                  onClick={() => run(option)}
                  onPointerMove={() => setAt(place)}
                >
                  {option.session === true ? (
                    <MessageSquare aria-hidden="true" />
                  ) : (
                    <ChevronRight aria-hidden="true" />
                  )}
                  <span className="clip" dir="auto">
                    {option.title}
                  </span>
                  {option.note !== undefined && <span className="clip dim">{option.note}</span>}
                  {option.keys !== undefined && (
                    <span className="r">
                      <kbd>{spelt(option.keys)}</kbd>
                    </span>
                  )}
                </div>
              );
            })}
          </div>
        ))}
      </div>
      {nothing && <p className="dim none">{i18n.t("No results")}</p>}
    </dialog>
  );
}
