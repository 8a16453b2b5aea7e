// The list of keyboard shortcuts, built from the registered commands.

import { i18n } from "@lingui/core";
import { useState } from "react";

import { Drawer } from "../shell/Drawer";
import { isOn, turn } from "../shell/remembered";
import { titleOf } from "./groups";
import { allCommands, keysOf, type Group } from "./registry";
import { spelt } from "./spelling";

const GROUPS: readonly Group[] = ["anywhere", "session", "composer", "turn", "list", "go"];

export default function Shortcuts({ close }: { close: () => void }) {
  const [letters, setLetters] = useState(() => isOn("letters"));
  const commands = allCommands().filter((command) => keysOf(command).length > 0);
  return (
    <Drawer title={i18n.t("Keyboard shortcuts")} kind="keys" closed={close}>
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
        {i18n.t("Single-letter shortcuts")}
      </label>
    </Drawer>
  );
}
