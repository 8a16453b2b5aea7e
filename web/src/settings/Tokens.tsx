// API tokens for programs. A token is shown once, when it is created.

import { i18n } from "@lingui/core";
import { useState, type FormEvent } from "react";

import { ask } from "../api/client";
import { Loaded, useAsked } from "../shell/asked";
import { copy, notCopied } from "../shell/copy";
import { Problem, useDoing } from "../shell/doing";
import { textIn } from "../shell/form";
import { useKnown } from "../shell/use";
import { dayOf, whenLong } from "../shell/days";
import { Confirm } from "./Confirm";
import type { Credential } from "./Logins";

export function Tokens() {
  const asked = useAsked<{ tokens: Credential[] }>("/tokens");
  const [made, setMade] = useState<{ name: string; token: string }>();
  return (
    <section>
      <h3>{i18n.t("API tokens")}</h3>
      <p className="dim">{i18n.t("API tokens let programs act as you on this server.")}</p>
      <Loaded asked={asked}>
        {({ tokens }) => (
          <>
            {tokens.length === 0 && <p className="dim">{i18n.t("No API tokens yet.")}</p>}
            <ul className="rows" aria-label={i18n.t("API tokens")}>
              {tokens.map((token) => (
                <li key={token.id} className="row-in">
                  <div className="what">
                    <b>{token.name}</b>
                    <p className="dim">{facts(token).join(" · ")}</p>
                  </div>
                  <div className="do">
                    <Confirm
                      word={i18n.t("Revoke")}
                      label={i18n.t("Revoke {name}", { name: token.name })}
                      question={i18n.t("Revoke {name}?", { name: token.name })}
                      told={i18n.t("Programs that use this token lose access at once.")}
                      failed={i18n.t("Couldn't revoke the token: the server is unreachable.")}
                      act={async () => {
                        await ask("DELETE", `/tokens/${token.id}`);
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
      {made !== undefined && <Secret made={made} close={() => setMade(undefined)} />}
      <NewToken
        made={async (token) => {
          setMade(token);
          await asked.again();
        }}
      />
    </section>
  );
}

function scopeWord(scope: string): string {
  if (scope === "read") return i18n.t("Read-only");
  return scope === "write" ? i18n.t("Read and write") : i18n.t("Manage the server");
}

function facts({ scope, used_at, expires_at }: Credential): string[] {
  return [
    scopeWord(scope),
    used_at == null ? i18n.t("Never used") : i18n.t("Last used {when}", { when: whenLong(used_at) }),
    expires_at == null ? i18n.t("Never expires") : i18n.t("Expires {day}", { day: dayOf(expires_at) }),
  ];
}

function Secret({ made, close }: { made: { name: string; token: string }; close: () => void }) {
  const [failed, setFailed] = useState(false);
  const take = () =>
    copy(made.token).then(
      () => setFailed(false),
      () => setFailed(true),
    );
  return (
    <div className="secret" role="group" aria-label={i18n.t("API token {name}", { name: made.name })}>
      <p>{i18n.t("Copy the token now. You won't see it again.")}</p>
      <code className="mono">{made.token}</code>
      <div className="do">
        <button type="button" className="btn pri" onClick={() => void take()}>
          {i18n.t("Copy")}
        </button>
        <button type="button" className="btn" onClick={close}>
          {i18n.t("Done")}
        </button>
      </div>
      {failed && <p role="alert">{notCopied()}</p>}
    </div>
  );
}

function NewToken({ made }: { made: (token: { name: string; token: string }) => Promise<void> }) {
  const owner = useKnown(({ user }) => user?.role === "owner");
  const doing = useDoing();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    const name = textIn(given, "token");
    const days = Number(given.get("days"));
    const body = { name, scope: given.get("scope"), ...(days > 0 ? { days } : {}) };
    const kept = await doing.run(
      i18n.t("Couldn't create the token: the server is unreachable."),
      async () => {
        const { token } = await ask<{ token: string }>("POST", "/tokens", { body });
        await made({ name, token });
      },
    );
    if (kept) form.reset();
  };
  return (
    <form className="form line" onSubmit={(event) => void submit(event)}>
      <label>
        {i18n.t("Token name")}
        <input name="token" required maxLength={100} autoComplete="off" />
      </label>
      <label>
        {i18n.t("Permissions")}
        <select name="scope" defaultValue="write">
          <option value="read">{i18n.t("Read-only")}</option>
          <option value="write">{i18n.t("Read and write")}</option>
          {owner && <option value="manage">{i18n.t("Manage the server")}</option>}
        </select>
      </label>
      <label>
        {i18n.t("Expiration")}
        <select name="days" defaultValue="90">
          <option value="7">{i18n.t("7 days")}</option>
          <option value="90">{i18n.t("90 days")}</option>
          <option value="365">{i18n.t("1 year")}</option>
          <option value="0">{i18n.t("Never")}</option>
        </select>
      </label>
      <button className="btn" disabled={doing.busy}>
        {i18n.t("Create token")}
      </button>
      <Problem of={doing} />
    </form>
  );
}
