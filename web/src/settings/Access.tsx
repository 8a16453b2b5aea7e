// Access to the account: passkeys, the password, signed-in devices and API tokens.

import { i18n } from "@lingui/core";

import { Problem, useDoing } from "../shell/doing";
import { leave } from "../shell/leave";
import { Logins } from "./Logins";
import { Passkeys } from "./Passkeys";
import { Password } from "./Password";
import { Tokens } from "./Tokens";

export function Access() {
  const doing = useDoing();
  return (
    <>
      <Passkeys />
      <Password />
      <Logins />
      <section>
        <button
          type="button"
          className="btn"
          disabled={doing.busy}
          onClick={() => void doing.run(i18n.t("Couldn't sign out: the server is unreachable."), leave)}
        >
          {i18n.t("Sign out")}
        </button>
        <Problem of={doing} />
      </section>
      <Tokens />
    </>
  );
}
