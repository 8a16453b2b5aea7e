// Every key that does something now, read from the commands themselves.

import { i18n } from "@lingui/core";
import { X } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import { isOn, turn } from "../shell/remembered";
import { titleOf } from "./groups";
import { allCommands, keysOf, type Group } from "./registry";
import { spelt } from "./spelling";
import "../styles/palette.css";

const GROUPS: readonly Group[] = ["anywhere", "session", "composer", "turn", "list", "go"];

export default function Shortcuts({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [letters, setLetters] = useState(() => isOn("letters"));
  useEffect(() => dialog.current?.showModal(), []);
  const commands = allCommands().filter((command) => keysOf(command).length > 0);
  return (
    <dialog ref={dialog} className="drawer keys" aria-labelledby="shortcuts" onClose={close}>
      <header className="head">
        <h2 id="shortcuts" className="grow">
          {i18n.t("Keyboard shortcuts")}
        </h2>
        <button
          type="button"
          className="icon"
          aria-label={i18n.t("Close")}
          onClick={() => dialog.current?.close()}
        >
          <X aria-hidden="true" />
        </button>
      </header>
      <div className="body">
        {GROUPS.map((group) => {
          const of = commands.filter((command) => command.group === group);
          if (of.length === 0) return null;
          return (
            <section key={group}>
              <h3>{titleOf(group)}</h3>
              <dl>
                {of.map((command) => (
                  <div key={command.id}>
                    <dt>{command.title()}</dt>
                    <dd>
                      {keysOf(command).map((keys) => (
                        <kbd key={keys}>{spelt(keys)}</kbd>
                      ))}
                    </dd>
                  </div>
                ))}
              </dl>
            </section>
          );
        })}
        <label className="letters">
          <input
            type="checkbox"
            checked={letters}
            onChange={(event) => {
              turn("letters", event.target.checked);
              setLetters(event.target.checked);
            }}
          />
          {i18n.t("Single letters and signs are shortcuts")}
        </label>
      </div>
    </dialog>
  );
}
