import { i18n } from "@lingui/core";
import { useState } from "react";

import { useKnown } from "../shell/use";
import { read, remove } from "../storage/local";
import { ownPlace, tryWriteOwn } from "../storage/own";

const place = (session: string) => ownPlace("model", session);

/** The model chosen for a session, remembered on this device. Undefined for the server's default. */
export function useModel(session: string): [string | undefined, (name: string) => void] {
  const models = useKnown(({ models }) => models);
  const [chosen, setChosen] = useState(() => read(place(session)) ?? undefined);
  const choose = (name: string) => {
    const other = name === models[0]?.name ? undefined : name;
    if (other === undefined) remove(place(session));
    else tryWriteOwn(place(session), other);
    setChosen(other);
  };
  // Ignores a model that the server no longer offers.
  return [models.some(({ name }) => name === chosen) ? chosen : undefined, choose];
}

interface Props {
  chosen: string | undefined;
  choose: (name: string) => void;
}

export function ModelChoice({ chosen, choose }: Props) {
  const models = useKnown(({ models }) => models);
  if (models.length < 2) return null;
  return (
    <select
      className="choice"
      aria-label={i18n.t("Model")}
      value={chosen ?? models[0]?.name}
      onChange={(event) => choose(event.target.value)}
    >
      {models.map(({ name }) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}
