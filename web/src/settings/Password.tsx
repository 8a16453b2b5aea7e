import { i18n } from "@lingui/core";
import type { FormEvent } from "react";

import { ask } from "../api/client";
import { begin } from "../live/store";
import { Problem, useDoing } from "../shell/doing";
import { useKnown } from "../shell/use";

/** As the server counts. */
export const PASSWORD_MIN = 10;
export const PASSWORD_MAX = 200;

export function Password() {
  const has = useKnown(({ user }) => user?.has_password ?? true);
  const doing = useDoing();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    const body = { new: given.get("new"), ...(has ? { old: given.get("old") } : {}) };
    const set = await doing.run(
      i18n.t("Couldn't change the password: the server is unreachable."),
      async () => {
        await ask("PUT", "/me/password", { body });
        // All logins end with it, also this one; the server says so.
        await begin();
      },
    );
    if (set) form.reset();
  };
  return (
    <section>
      <h3>{i18n.t("Password")}</h3>
      <p className="dim">
        {has
          ? i18n.t("A new password ends all logins: you sign in again on every device, also here.")
          : i18n.t("You have no password yet. One lets you sign in on a device without a passkey.")}
      </p>
      <form className="form" onSubmit={(event) => void submit(event)}>
        {has && (
          <label>
            {i18n.t("Password until now")}
            <input name="old" type="password" autoComplete="current-password" required />
          </label>
        )}
        <label>
          {i18n.t("New password")}
          <input
            name="new"
            type="password"
            autoComplete="new-password"
            required
            minLength={PASSWORD_MIN}
            maxLength={PASSWORD_MAX}
          />
          <span className="hint-in">{i18n.t("At least {count} characters.", { count: PASSWORD_MIN })}</span>
        </label>
        <Problem of={doing} />
        <div className="do">
          <button className="btn" disabled={doing.busy}>
            {has ? i18n.t("Change the password") : i18n.t("Set a password")}
          </button>
        </div>
      </form>
    </section>
  );
}
