import { i18n } from "@lingui/core";
import { useState, type FormEvent } from "react";

import { ask, type Schemas } from "../api/client";
import { Loaded, useAsked } from "../shell/asked";
import { dayOf } from "../shell/days";
import { Problem, useDoing } from "../shell/doing";
import { textIn } from "../shell/form";
import { Confirm } from "./Confirm";
import { canPasskeys, makePasskey, turnedAway } from "./passkey";

type Passkey = Schemas["PasskeyBody"];

export function Passkeys() {
  const asked = useAsked<{ passkeys: Passkey[] }>("/passkeys");
  return (
    <section>
      <h3>{i18n.t("Passkeys")}</h3>
      <p className="dim">
        {i18n.t("Sign in with your fingerprint, face or device PIN instead of a password.")}
      </p>
      <Loaded asked={asked}>
        {({ passkeys }) => (
          <>
            {passkeys.length === 0 && <p className="dim">{i18n.t("No passkeys yet.")}</p>}
            <ul className="rows" aria-label={i18n.t("Passkeys")}>
              {passkeys.map(({ passkey, name, created_at, used_at }) => (
                <li key={passkey} className="row-in">
                  <div className="what">
                    <b>{name}</b>
                    <p className="dim">
                      {used_at == null
                        ? i18n.t("Created {day}, never used", { day: dayOf(created_at) })
                        : i18n.t("Created {day}, last used {used}", {
                            day: dayOf(created_at),
                            used: dayOf(used_at),
                          })}
                    </p>
                  </div>
                  <div className="do">
                    <Confirm
                      word={i18n.t("Remove")}
                      label={i18n.t("Remove {name}", { name })}
                      question={i18n.t("Remove the passkey {name}?", { name })}
                      told={i18n.t(
                        "You can no longer sign in with it. Devices already signed in stay signed in.",
                      )}
                      failed={i18n.t("Couldn't remove the passkey: the server is unreachable.")}
                      act={async () => {
                        await ask("DELETE", `/passkeys/${passkey}`);
                        await asked.again();
                      }}
                    />
                  </div>
                </li>
              ))}
            </ul>
          </>
        )}
      </Loaded>
      {canPasskeys() ? (
        <NewPasskey changed={asked.again} />
      ) : (
        <p className="dim">{i18n.t("This browser can't create passkeys on this site.")}</p>
      )}
    </section>
  );
}

export function NewPasskey({ changed }: { changed: () => Promise<void> }) {
  const doing = useDoing();
  const [away, setAway] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const name = textIn(new FormData(form), "passkey");
    setAway(false);
    const made = await doing.run(
      i18n.t("Couldn't create the passkey: the server is unreachable."),
      async () => {
        try {
          await makePasskey(name);
        } catch (error) {
          if (!turnedAway(error)) throw error;
          setAway(true);
        }
        await changed();
      },
    );
    if (made) form.reset();
  };
  return (
    <form className="form line" onSubmit={(event) => void submit(event)}>
      <label>
        {i18n.t("Passkey name")}
        <input
          name="passkey"
          required
          maxLength={100}
          autoComplete="off"
          placeholder={i18n.t("For example: Work laptop")}
        />
      </label>
      <button className="btn" disabled={doing.busy}>
        {doing.busy ? i18n.t("Waiting for the device…") : i18n.t("Add passkey")}
      </button>
      {away && (
        <p role="alert">{i18n.t("Passkey setup was canceled or timed out. Try again when you're ready.")}</p>
      )}
      <Problem of={doing} />
    </form>
  );
}
