import { i18n } from "@lingui/core";
import type { FormEvent } from "react";

import { ask } from "../api/client";
import { begin } from "../live/store";
import { Problem, useDoing } from "../shell/doing";
import { useKnown } from "../shell/use";

/** The server's limits, in characters. */
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
        // The server has ended every login, including this one, so this shows the sign-in page.
        await begin();
      },
      {
        forbidden: i18n.t("The current password is wrong, so nothing was changed. Enter it again."),
        too_many: i18n.t("Too many wrong passwords, so nothing was changed. Wait a while, then try again."),
      },
    );
    if (set) form.reset();
  };
  return (
    <section>
      <h3>{i18n.t("Password")}</h3>
      <p className="dim">
        {has
          ? i18n.t("Changing your password signs you out on every device, including this one.")
          : i18n.t("You have no password yet. Set one to sign in on devices without a passkey.")}
      </p>
      <form className="form" onSubmit={(event) => void submit(event)}>
        {has && (
          <label>
            {i18n.t("Current password")}
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
            {has ? i18n.t("Change password") : i18n.t("Set password")}
          </button>
        </div>
      </form>
    </section>
  );
}
