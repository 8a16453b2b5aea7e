// Creates and revokes the share links of a session. A link is shown once: the server stores only its hash.

import { i18n } from "@lingui/core";
import { useCallback, useEffect, useRef, useState } from "react";

import { ask, type Schemas } from "../api/client";
import { spelt } from "../commands/spelling";
import { copy } from "../shell/copy";
import { Dialog } from "../shell/Dialog";
import { Problem, useDoing } from "../shell/doing";
import { momentOf } from "../sidebar/times";

type Share = Schemas["ShareBody"];

type Made = Schemas["NewShare"];

interface Props {
  session: string;
  closed: () => void;
}

export default function ShareDialog({ session, closed }: Props) {
  const [shares, setShares] = useState<readonly Share[]>();
  const [made, setMade] = useState<Made>();
  const doing = useDoing();
  const path = `/sessions/${session}/shares`;
  const { run } = doing;
  const after = useCallback(
    (failed: string, act: () => Promise<unknown>) =>
      run(failed, async () => {
        await act();
        setShares((await ask<{ shares: Share[] }>("GET", path)).shares);
      }),
    [run, path],
  );
  useEffect(
    () => void after(i18n.t("Couldn't load the links: the server is unreachable."), async () => undefined),
    [after],
  );
  const make = () =>
    void after(i18n.t("Couldn't create the link: the server is unreachable."), async () =>
      setMade(await ask<Made>("POST", path)),
    );
  const withdraw = (share: string) => async () => {
    await ask("DELETE", `/shares/${share}`);
    if (made?.share === share) setMade(undefined);
  };
  return (
    <Dialog title={i18n.t("Share session")} cancel={i18n.t("Done")} closed={closed}>
      <p>
        {i18n.t(
          "Anyone with the link can read this session, including new messages, until you revoke it. They can't reply, and attachments aren't included.",
        )}
      </p>
      <div>
        <button type="button" className="btn pri" onClick={make}>
          {i18n.t("Create link")}
        </button>
      </div>
      {made !== undefined && <NewLink key={made.share} secret={made.secret} />}
      <Problem of={doing} />
      {shares !== undefined && <h3>{i18n.t("Links")}</h3>}
      {shares?.length === 0 && <p className="dim">{i18n.t("Only you can open this session.")}</p>}
      <ul className="links">
        {shares?.map(({ share, created_at }) => (
          <li key={share}>
            <span className="grow">{i18n.t("Created {moment}", { moment: momentOf(created_at) })}</span>
            <button
              type="button"
              className="btn sm"
              onClick={() =>
                void after(i18n.t("Couldn't revoke the link: the server is unreachable."), withdraw(share))
              }
            >
              {i18n.t("Revoke")}
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

/** A link that was just created. */
function NewLink({ secret }: { secret: string }) {
  const link = `${location.origin}/shared/${secret}`;
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState<boolean>();
  useEffect(() => field.current?.select(), []);
  const take = () =>
    void copy(link).then(
      () => setCopied(true),
      () => {
        // Copying can fail on pages without HTTPS. The selected link can still be copied by hand.
        field.current?.select();
        setCopied(false);
      },
    );
  return (
    <div className="made">
      <div className="beside">
        <label className="grow">
          {i18n.t("Share link")}
          <input ref={field} readOnly value={link} onFocus={(event) => event.target.select()} />
        </label>
        <button type="button" className="btn" onClick={take}>
          {copied === true ? i18n.t("Copied") : i18n.t("Copy")}
        </button>
      </div>
      <p className="dim">
        {copied === false
          ? i18n.t("Couldn't copy the link. Press {keys} to copy it.", { keys: spelt("Mod+c") })
          : i18n.t("Copy the link now. You won't see it again.")}{" "}
        <a href={link} target="_blank" rel="noreferrer">
          {i18n.t("Open link")}
        </a>
      </p>
    </div>
  );
}
