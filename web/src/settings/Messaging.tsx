// Messaging platforms: their state, pairing requests, approved senders, and the user's chats.

import { i18n } from "@lingui/core";
import { useState, type FormEvent } from "react";
import { Link } from "wouter";

import { ask, type Schemas } from "../api/client";
import { Loaded, useAsked } from "../shell/asked";
import { whenLong } from "../shell/days";
import { Problem, useDoing } from "../shell/doing";
import { exactTextIn } from "../shell/form";
import { countOf } from "../shell/words";
import { Confirm } from "./Confirm";

type Gateway = Schemas["GatewayBody"];
type Platform = Schemas["PlatformBody"];

export function Messaging() {
  const asked = useAsked<Gateway>("/gateway");
  return (
    <Loaded asked={asked}>
      {(gateway) => (
        <>
          <Platforms gateway={gateway} />
          <Strangers gateway={gateway} again={asked.again} />
          <Peers gateway={gateway} again={asked.again} />
          <Chats />
        </>
      )}
    </Loaded>
  );
}

function stateOf({ state }: Platform): string {
  switch (state) {
    case "receiving":
      return i18n.t("Connected");
    case "starting":
      return i18n.t("Starting…");
    case "elsewhere":
      return i18n.t("Another process is using this account");
    case "unauthorized":
      return i18n.t("Token rejected");
    default:
      return i18n.t("Unreachable");
  }
}

function Platforms({ gateway }: { gateway: Gateway }) {
  return (
    <section>
      <h3>{i18n.t("Platforms")}</h3>
      {gateway.platforms.length === 0 && (
        <p className="dim">
          {i18n.t("No platforms yet. Add one under [[platforms]] in the configuration file.")}
        </p>
      )}
      <ul className="rows" aria-label={i18n.t("Platforms")}>
        {gateway.platforms.map((platform) => (
          <li key={platform.name} className="row-in">
            <div className="what">
              <b>{platform.name}</b>
              <p className="dim">
                {[
                  stateOf(platform),
                  i18n.t("{count} received", { count: countOf(platform.received) }),
                  i18n.t("{count} sent", { count: countOf(platform.sent) }),
                  ...(platform.repeated === 0
                    ? []
                    : [i18n.t("{count} resent", { count: countOf(platform.repeated) })]),
                ].join(" · ")}
              </p>
              {platform.reason != null && <p className="err">{platform.reason}</p>}
            </div>
            <div className="do">
              <Test platform={platform.name} />
            </div>
          </li>
        ))}
      </ul>
      {gateway.undelivered > 0 && (
        <p>
          {i18n.t(
            "{count, plural, one {# session has replies waiting to be delivered.} other {# sessions have replies waiting to be delivered.}}",
            { count: gateway.undelivered },
          )}
        </p>
      )}
    </section>
  );
}

function Test({ platform }: { platform: string }) {
  const doing = useDoing();
  const [told, setTold] = useState<string>();
  const test = () =>
    doing.run(i18n.t("Couldn't test the platform: the server is unreachable."), async () => {
      const { account, problem } = await ask<Schemas["TestedBody"]>("POST", `/gateway/test/${platform}`);
      setTold(account ?? problem ?? "");
    });
  return (
    <>
      {told !== undefined && <span className="dim">{told}</span>}
      <Problem of={doing} />
      <button
        type="button"
        className="btn sm"
        disabled={doing.busy}
        aria-label={i18n.t("Test {name}", { name: platform })}
        onClick={() => void test()}
      >
        {i18n.t("Test")}
      </button>
    </>
  );
}

function Strangers({ gateway, again }: { gateway: Gateway; again: () => Promise<void> }) {
  const doing = useDoing();
  const approve = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const code = exactTextIn(new FormData(form), "code");
    const done = await doing.run(
      i18n.t("Couldn't approve the request: the server is unreachable."),
      () => ask("POST", "/gateway/approve", { body: { code } }),
      {
        no_such_thing: i18n.t(
          "No request has this code. Codes expire after an hour; ask the sender to write again.",
        ),
        too_many: i18n.t("Too many wrong codes, so no request was approved. Wait a while, then try again."),
      },
    );
    if (done) form.reset();
    await again();
  };
  return (
    <section>
      <h3>{i18n.t("Pending requests")}</h3>
      <p className="dim">{i18n.t("Unknown senders get a pairing code. Enter it here to approve them.")}</p>
      <ul className="rows" aria-label={i18n.t("Pending requests")}>
        {gateway.strangers.map(({ platform, peer, name, asked_at }) => (
          <li key={`${platform} ${peer}`} className="row-in">
            <div className="what">
              <b>{name}</b>
              <p className="dim">{[peer, platform, whenLong(asked_at)].join(" · ")}</p>
            </div>
          </li>
        ))}
      </ul>
      <form className="form line" onSubmit={(event) => void approve(event)}>
        <label>
          {i18n.t("Pairing code")} <input name="code" required autoComplete="off" maxLength={20} />
        </label>
        <button type="submit" className="btn" disabled={doing.busy}>
          {i18n.t("Approve")}
        </button>
      </form>
      <Problem of={doing} />
    </section>
  );
}

function Peers({ gateway, again }: { gateway: Gateway; again: () => Promise<void> }) {
  return (
    <section>
      <h3>{i18n.t("Approved senders")}</h3>
      {gateway.peers.length === 0 && <p className="dim">{i18n.t("No approved senders yet.")}</p>}
      <ul className="rows" aria-label={i18n.t("Approved senders")}>
        {gateway.peers.map(({ platform, peer, name, since }) => (
          <li key={`${platform} ${peer}`} className="row-in">
            <div className="what">
              <b>{name}</b>
              <p className="dim">{[peer, platform, whenLong(since)].join(" · ")}</p>
            </div>
            <div className="do">
              <Confirm
                word={i18n.t("Remove")}
                label={i18n.t("Remove {name}", { name })}
                question={i18n.t("Remove {name}?", { name })}
                told={i18n.t("They no longer get replies, not even the rest of an answer in progress.")}
                failed={i18n.t("Couldn't remove the sender: the server is unreachable.")}
                act={async () => {
                  await ask("POST", "/gateway/remove", { body: { platform, peer } });
                  await again();
                }}
              />
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Chats() {
  const asked = useAsked<Schemas["ChatsBody"]>("/chats");
  return (
    <section>
      <h3>{i18n.t("Your chats")}</h3>
      <Loaded asked={asked}>
        {({ chats }) => (
          <>
            {chats.length === 0 && (
              <p className="dim">{i18n.t("No chats are linked to your sessions yet.")}</p>
            )}
            <ul className="rows" aria-label={i18n.t("Your chats")}>
              {chats.map((chat) => (
                <Chat key={chat.chat} of={chat} again={asked.again} />
              ))}
            </ul>
          </>
        )}
      </Loaded>
    </section>
  );
}

function Chat({ of, again }: { of: Schemas["ChatBody"]; again: () => Promise<void> }) {
  const { chat, platform, session, suspended } = of;
  const doing = useDoing();
  const change = async (what: "suspend" | "resume") => {
    await doing.run(i18n.t("Couldn't change the chat: the server is unreachable."), () =>
      ask("POST", `/chats/${what}`, { body: { chat } }),
    );
    await again();
  };
  return (
    <li className="row-in">
      <div className="what">
        <b>{platform}</b>
        <p className="dim">
          <Link href={`/s/${session}`}>{i18n.t("Open session")}</Link>
          {suspended && <> · {i18n.t("Suspended. The next message starts a new session.")}</>}
        </p>
        <Problem of={doing} />
      </div>
      <div className="do">
        <button
          type="button"
          className="btn sm"
          disabled={doing.busy}
          title={chat}
          onClick={() => void change(suspended ? "resume" : "suspend")}
        >
          {suspended ? i18n.t("Resume") : i18n.t("Suspend")}
        </button>
      </div>
    </li>
  );
}
