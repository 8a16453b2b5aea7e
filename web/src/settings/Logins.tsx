// The devices on which the user is signed in.

import { i18n } from "@lingui/core";

import { ask, type Schemas } from "../api/client";
import { Loaded, useAsked } from "../shell/asked";
import { whenLong } from "../shell/days";
import { Problem, useDoing } from "../shell/doing";
import { Confirm } from "./Confirm";

export type Credential = Schemas["CredentialBody"];

export function Logins() {
  const asked = useAsked<{ logins: Credential[] }>("/logins");
  const doing = useDoing();
  const end = (logins: Credential[]) => async () => {
    for (const { id } of logins) await ask("DELETE", `/logins/${id}`);
    await asked.again();
  };
  return (
    <section>
      <h3>{i18n.t("Signed-in devices")}</h3>
      <Loaded asked={asked}>
        {({ logins }) => {
          const others = logins.filter((login) => !login.this);
          return (
            <>
              <ul className="rows" aria-label={i18n.t("Signed-in devices")}>
                {logins.map((login) => (
                  <li key={login.id} className="row-in">
                    <div className="what">
                      <b>{login.name}</b>
                      {login.this && <span className="badge">{i18n.t("This device")}</span>}
                      <p className="dim">
                        {login.used_at == null
                          ? i18n.t("Signed in {when}", { when: whenLong(login.created_at) })
                          : i18n.t("Last used {used}, signed in {when}", {
                              used: whenLong(login.used_at),
                              when: whenLong(login.created_at),
                            })}
                      </p>
                    </div>
                    {!login.this && (
                      <div className="do">
                        <button
                          type="button"
                          className="btn sm"
                          aria-label={i18n.t("Sign out {name}", { name: login.name })}
                          disabled={doing.busy}
                          onClick={() =>
                            void doing.run(
                              i18n.t("Couldn't sign out the device: the server is unreachable."),
                              end([login]),
                            )
                          }
                        >
                          {i18n.t("Sign out")}
                        </button>
                      </div>
                    )}
                  </li>
                ))}
              </ul>
              {others.length === 0 ? (
                <p className="dim">{i18n.t("You aren't signed in on any other device.")}</p>
              ) : (
                <Confirm
                  word={i18n.t("Sign out other devices")}
                  question={i18n.t("Sign out everywhere else?")}
                  told={i18n.t(
                    "You'll need to sign in again on your other devices. Drafts on them are kept.",
                  )}
                  failed={i18n.t("Couldn't sign out the other devices: the server is unreachable.")}
                  act={end(others)}
                />
              )}
            </>
          );
        }}
      </Loaded>
      <Problem of={doing} />
    </section>
  );
}
