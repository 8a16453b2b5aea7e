// The users of the server, and the audit log.

import { i18n } from "@lingui/core";
import { useState, type FormEvent } from "react";

import { ask, type Schemas } from "../api/client";
import { Loaded, useAsked } from "../shell/asked";
import { dayOf } from "../shell/days";
import { Problem, useDoing } from "../shell/doing";
import { exactTextIn, textIn } from "../shell/form";
import { useKnown } from "../shell/use";
import { Audit } from "./Audit";
import { Confirm } from "./Confirm";
import { PASSWORD_MAX, PASSWORD_MIN } from "./Password";

export type Person = Schemas["UserBody"];

export function People() {
  const asked = useAsked<{ users: Person[] }>("/users");
  const own = useKnown(({ user }) => user?.user);
  return (
    <>
      <p>{i18n.t("Everyone sees only their own sessions. Owners also manage the server.")}</p>
      <Loaded asked={asked}>
        {({ users }) => (
          <>
            <ul className="rows" aria-label={i18n.t("People")}>
              {users.map((person) => (
                <li key={person.user}>
                  <Row person={person} own={person.user === own} changed={asked.again} />
                </li>
              ))}
            </ul>
            <NewPerson changed={asked.again} />
            <Audit people={users} />
          </>
        )}
      </Loaded>
    </>
  );
}

export function roleWord(role: string): string {
  return role === "owner" ? i18n.t("Owner") : i18n.t("Member");
}

interface RowProps {
  person: Person;
  own: boolean;
  changed: () => Promise<void>;
}

function Row({ person, own, changed }: RowProps) {
  const { name, user } = person;
  const doing = useDoing();
  const [resetting, setResetting] = useState(false);
  const change = (body: object) => async () => {
    await ask("PATCH", `/users/${user}`, { body });
    await changed();
  };
  return (
    <div className="row-in" role="group" aria-label={name}>
      <div className="what">
        <h3>
          {name}
          {own && <span className="badge">{i18n.t("You")}</span>}
          {person.disabled && <span className="badge warn">{i18n.t("Disabled")}</span>}
        </h3>
        <p className="dim">
          {i18n.t("Added {day}", { day: dayOf(person.created_at) })}
          {!person.can_log_in && <> · {i18n.t("No password")}</>}
        </p>
      </div>
      <div className="do">
        <select
          aria-label={i18n.t("Role of {name}", { name })}
          value={person.role}
          disabled={doing.busy}
          onChange={(event) =>
            void doing.run(
              i18n.t("Couldn't save: the server is unreachable."),
              change({ role: event.target.value }),
            )
          }
        >
          <option value="member">{roleWord("member")}</option>
          <option value="owner">{roleWord("owner")}</option>
        </select>
        <button type="button" className="btn sm" onClick={() => setResetting(!resetting)}>
          {i18n.t("Set password")}
        </button>
        {!own &&
          (person.disabled ? (
            <button
              type="button"
              className="btn sm"
              disabled={doing.busy}
              onClick={() =>
                void doing.run(
                  i18n.t("Couldn't save: the server is unreachable."),
                  change({ disabled: false }),
                )
              }
            >
              {i18n.t("Enable")}
            </button>
          ) : (
            <Confirm
              word={i18n.t("Disable")}
              question={i18n.t("Disable {name}?", { name })}
              told={i18n.t(
                "They are signed out at once, and their API tokens and share links stop working. Their sessions are kept.",
              )}
              failed={i18n.t("Couldn't save: the server is unreachable.")}
              act={change({ disabled: true })}
            />
          ))}
      </div>
      {resetting && (
        <NewPassword
          keep={async (password) => {
            if (
              await doing.run(
                i18n.t("Couldn't change the password: the server is unreachable."),
                change({ password }),
              )
            )
              setResetting(false);
          }}
        />
      )}
      <Problem of={doing} />
    </div>
  );
}

function NewPassword({ keep }: { keep: (password: string) => Promise<void> }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void keep(exactTextIn(new FormData(event.currentTarget), "password"));
  };
  return (
    <form className="form line" onSubmit={submit}>
      <label>
        {i18n.t("New password")}
        <input
          name="password"
          type="password"
          autoComplete="new-password"
          required
          autoFocus
          minLength={PASSWORD_MIN}
          maxLength={PASSWORD_MAX}
        />
      </label>
      <button className="btn">{i18n.t("Save")}</button>
    </form>
  );
}

function NewPerson({ changed }: { changed: () => Promise<void> }) {
  const doing = useDoing();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    const password = exactTextIn(given, "password");
    const body = {
      name: textIn(given, "person"),
      role: given.get("role"),
      ...(password === "" ? {} : { password }),
    };
    const added = await doing.run(i18n.t("Couldn't add the user: the server is unreachable."), async () => {
      await ask("POST", "/users", { body });
      await changed();
    });
    if (added) form.reset();
  };
  return (
    <section>
      <h3>{i18n.t("Add user")}</h3>
      <form className="form line" onSubmit={(event) => void submit(event)}>
        <label>
          {i18n.t("Name")}
          <input name="person" required maxLength={100} autoComplete="off" />
        </label>
        <label>
          {i18n.t("Role")}
          <select name="role" defaultValue="member">
            <option value="member">{roleWord("member")}</option>
            <option value="owner">{roleWord("owner")}</option>
          </select>
        </label>
        <label>
          {i18n.t("Temporary password")}
          <input
            name="password"
            type="password"
            autoComplete="new-password"
            minLength={PASSWORD_MIN}
            maxLength={PASSWORD_MAX}
          />
        </label>
        <button className="btn" disabled={doing.busy}>
          {i18n.t("Add user")}
        </button>
        <Problem of={doing} />
      </form>
      <p className="dim">
        {i18n.t("Share the password with them. They can change it in Settings → Access.")}
      </p>
    </section>
  );
}
