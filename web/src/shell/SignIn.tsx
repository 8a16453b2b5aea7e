// Getting in: by password, by passkey, or by way of somebody else who knows the person.

import { i18n } from "@lingui/core";
import { useCallback, useEffect, useRef, useState, type FormEvent } from "react";

import { ask, type Schemas } from "../api/client";
import { begin, SIGNED_IN } from "../live/store";
import { canOffer, canPasskeys, signInByPasskey, turnedAway } from "../settings/passkey";
import { read } from "../storage/local";
import { Mark } from "./Mark";
import { why } from "./attempt";

type Ways = Schemas["WaysBody"];

/** What works everywhere, until the server said more. */
const FIRST: Ways = { password: true, passkey: false, providers: [] };

export function SignIn() {
  const [error, setError] = useState(refusedWords);
  const [busy, setBusy] = useState(false);
  const ways = useWays();
  const enter = useCallback(async (asked: Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    try {
      await asked;
      // Why somebody was refused before is not true any more.
      if (location.search.includes("login=refused")) history.replaceState(null, "", location.pathname);
      await begin();
    } catch (error) {
      setError(
        turnedAway(error) ? noPasskey() : why(error, i18n.t("Couldn't sign in: the server is unreachable.")),
      );
    }
    setBusy(false);
  }, []);
  const usePasskey = useOffered(ways.passkey, enter);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body = { name: form.get("name"), password: form.get("password") };
    void enter(ask("POST", "/login", { body }));
  };
  return (
    <main className="signin">
      <form onSubmit={submit}>
        <h1>
          <Mark /> Everturn
        </h1>
        <p className="dim">
          {read(SIGNED_IN) === null
            ? i18n.t("Please sign in.")
            : i18n.t("Please sign in again. Your draft is kept.")}
        </p>
        <label>
          {i18n.t("Name")}
          <input name="name" autoComplete="username webauthn" required autoFocus />
        </label>
        <label>
          {i18n.t("Password")}
          <input name="password" type="password" autoComplete="current-password" required />
        </label>
        {error !== undefined && (
          <p className="err" role="alert">
            {error}
          </p>
        )}
        <button className="btn pri" disabled={busy}>
          {busy ? i18n.t("Signing in…") : i18n.t("Sign in")}
        </button>
        {ways.passkey && canPasskeys() && (
          <button type="button" className="btn" disabled={busy} onClick={usePasskey}>
            {i18n.t("Use a passkey")}
          </button>
        )}
        {ways.providers.map(({ name, title }) => (
          <a key={name} className="btn" href={byWayOf(name)}>
            {i18n.t("Sign in with {title}", { title })}
          </a>
        ))}
      </form>
    </main>
  );
}

/** A provider sends the person back to where they are now. */
function byWayOf(name: string): string {
  const to = encodeURIComponent(location.pathname);
  return `/api/v1/login/openid/${encodeURIComponent(name)}?to=${to}`;
}

function useWays(): Ways {
  const [ways, setWays] = useState(FIRST);
  useEffect(() => {
    let left = false;
    ask<Ways>("GET", "/login/ways")
      .then((ways) => left || setWays(ways))
      .catch(() => undefined);
    return () => {
      left = true;
    };
  }, []);
  return ways;
}

/**
 * Offers passkeys among the names that the browser fills in, for as long as nothing else is chosen. What it gives asks for
 * one at once.
 */
function useOffered(on: boolean, enter: (asked: Promise<unknown>) => Promise<void>): () => void {
  const offered = useRef<AbortController>(undefined);
  useEffect(() => {
    if (!on) return;
    const stop = new AbortController();
    offered.current = stop;
    const offer = async () => {
      if (!(await canOffer()) || stop.signal.aborted) return;
      const signed = await signInByPasskey("offered", stop.signal);
      await enter(Promise.resolve(signed));
    };
    // Nobody asked for it: that it does not work is told when somebody does.
    offer().catch(() => undefined);
    return () => stop.abort();
  }, [on, enter]);
  return () => {
    // A browser asks for one passkey at a time.
    offered.current?.abort();
    void enter(signInByPasskey("asked", new AbortController().signal));
  };
}

function noPasskey(): string {
  return i18n.t("No passkey was used. Try again, or sign in another way.");
}

/** Why a provider's answer did not open the door, when the address says that it did not. */
function refusedWords(): string | undefined {
  const asked = new URLSearchParams(location.search);
  if (asked.get("login") !== "refused") return undefined;
  switch (asked.get("why")) {
    case "not_allowed":
      return i18n.t("That account may not use this server. Ask one of its owners.");
    case "disabled":
      return i18n.t("You are shut out of this server. Ask one of its owners.");
    case "unverified":
      return i18n.t("The provider has not verified your email address. Verify it there and try again.");
    case "declined":
      return i18n.t(
        "The provider was told not to sign you in. Nothing has changed; try again when you like.",
      );
    case "expired":
      return i18n.t("That took too long, or was begun in another browser. Please try again.");
    case "provider":
      return i18n.t("The provider could not be asked. Try again in a while, or sign in another way.");
    case "too_many":
      return i18n.t("Too many tries failed. Wait a while, then try again.");
    default:
      return i18n.t("You were not signed in. Try again, or sign in another way.");
  }
}
