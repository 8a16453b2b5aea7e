// The links by which a session can be read, to make one and to withdraw them. A link is shown once: the server keeps only
// what it needs to know it again.

import { i18n } from "@lingui/core";
import { useCallback, useEffect, useRef, useState } from "react";

import { ask, type Schemas } from "../api/client";
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
    <Dialog title={i18n.t("Share the session")} cancel={i18n.t("Done")} closed={closed}>
      <p>
        {i18n.t(
          "Whoever has a link reads everything that is visible in this session, now and later, until you withdraw it. Nobody can write or change anything by it, and files are not handed out.",
        )}
      </p>
      <div>
        <button type="button" className="btn pri" onClick={make}>
          {i18n.t("Make a link")}
        </button>
      </div>
      {made !== undefined && <NewLink key={made.share} secret={made.secret} />}
      <Problem of={doing} />
      {shares !== undefined && <h3>{i18n.t("Links")}</h3>}
      {shares?.length === 0 && <p className="dim">{i18n.t("Nobody else can read this session.")}</p>}
      <ul className="links">
        {shares?.map(({ share, created_at }) => (
          <li key={share}>
            <span className="grow">{i18n.t("Made {moment}", { moment: momentOf(created_at) })}</span>
            <button
              type="button"
              className="btn sm"
              onClick={() =>
                void after(i18n.t("Couldn't revoke the link: the server is unreachable."), withdraw(share))
              }
            >
              {i18n.t("Withdraw")}
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

/** A link that was just made. */
function NewLink({ secret }: { secret: string }) {
  const link = `${location.origin}/shared/${secret}`;
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState<boolean>();
  useEffect(() => field.current?.select(), []);
  const take = () =>
    void copy(link).then(
      () => setCopied(true),
      () => {
        // A page that is not reached over HTTPS may not write there; the link can still be taken by hand.
        field.current?.select();
        setCopied(false);
      },
    );
  return (
    <div className="made">
      <div className="beside">
        <label className="grow">
          {i18n.t("The link")}
          <input ref={field} readOnly value={link} onFocus={(event) => event.target.select()} />
        </label>
        <button type="button" className="btn" onClick={take}>
          {copied === true ? i18n.t("Copied") : i18n.t("Copy")}
        </button>
      </div>
      <p className="dim">
        {copied === false
          ? i18n.t("The browser did not let the page copy it. Press Ctrl C.")
          : i18n.t("It is shown this once. Copy it before you close this.")}{" "}
        <a href={link} target="_blank" rel="noreferrer">
          {i18n.t("Open it")}
        </a>
      </p>
    </div>
  );
}
