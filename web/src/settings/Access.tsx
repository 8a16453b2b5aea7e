// How the person gets in: passkeys, a password, the devices that are signed in, and tokens for programs.

import { i18n } from "@lingui/core";

import { ask } from "../api/client";
import { SIGNED_IN } from "../live/store";
import { Problem, useDoing } from "../shell/doing";
import { Logins } from "./Logins";
import { Passkeys } from "./Passkeys";
import { Password } from "./Password";
import { Tokens } from "./Tokens";

export function Access() {
  const doing = useDoing();
  const logOut = () =>
    doing.run(i18n.t("logged out"), async () => {
      await ask("POST", "/logout");
      localStorage.removeItem(SIGNED_IN);
      // Nothing of what this page knows is for who comes next.
      location.assign("/");
    });
  return (
    <>
      <Passkeys />
      <Password />
      <Logins />
      <section>
        <button type="button" className="btn" disabled={doing.busy} onClick={() => void logOut()}>
          {i18n.t("Log out here")}
        </button>
        <Problem of={doing} />
      </section>
      <Tokens />
    </>
  );
}
