// The sign-in page: by password, passkey or OpenID provider.

import { i18n } from "@lingui/core";
import { useCallback, useEffect, useRef, useState, type FormEvent } from "react";

import { ask, type Schemas } from "../api/client";
import { begin, SIGNED_IN } from "../live/store";
import { canOffer, canPasskeys, signInByPasskey, turnedAway } from "../settings/passkey";
import { read } from "../storage/local";
import { Mark } from "./Mark";
import { why } from "./attempt";

type Ways = Schemas["WaysBody"];

/** Assumed until the server answers. */
const FIRST: Ways = { password: true, passkey: false, providers: [] };

export function SignIn() {
  const [error, setError] = useState(refusedWords);
  const [busy, setBusy] = useState(false);
  const ways = useWays();
  const enter = useCallback(async (asked: Promise<unknown>, denied: string) => {
    setBusy(true);
    setError(undefined);
    try {
      await asked;
      // An earlier refusal no longer applies.
      if (location.search.includes("login=refused")) history.replaceState(null, "", location.pathname);
      await begin();
    } catch (error) {
      setError(
        turnedAway(error)
          ? noPasskey()
          : why(error, i18n.t("Couldn't sign in: the server is unreachable."), {
              not_authorised: denied,
              too_many: i18n.t("Too many failed attempts. Wait a while, then try again."),
            }),
      );
    }
    setBusy(false);
  }, []);
  const usePasskey = useOffered(ways.passkey, enter);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body = { name: form.get("name"), password: form.get("password") };
    void enter(ask("POST", "/login", { body }), i18n.t("Wrong name or password. Try again."));
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
            : i18n.t("Please sign in again. Your draft is saved.")}
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
            {i18n.t("Sign in with a passkey")}
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

/** Returns the address that starts the sign-in at a provider and returns to this page. */
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

/** Offers passkeys in the browser's autofill of the name field. Returns a function that asks for one immediately. */
function useOffered(
  on: boolean,
  enter: (asked: Promise<unknown>, denied: string) => Promise<void>,
): () => void {
  const offered = useRef<AbortController>(undefined);
  useEffect(() => {
    if (!on) return;
    const stop = new AbortController();
    offered.current = stop;
    const offer = async () => {
      if (!(await canOffer()) || stop.signal.aborted) return;
      const signed = await signInByPasskey("offered", stop.signal);
      await enter(Promise.resolve(signed), unknownPasskey());
    };
    // The user did not ask for it, so a failure is not shown.
    offer().catch(() => undefined);
    return () => stop.abort();
  }, [on, enter]);
  return () => {
    // A browser handles one passkey request at a time.
    offered.current?.abort();
    void enter(signInByPasskey("asked", new AbortController().signal), unknownPasskey());
  };
}

function noPasskey(): string {
  return i18n.t("No passkey was used. Try again, or sign in another way.");
}

function unknownPasskey(): string {
  return i18n.t("This passkey isn't registered on this server. Sign in another way, then add it again.");
}

/** Returns why the sign-in at a provider failed, from the page's address. */
function refusedWords(): string | undefined {
  const asked = new URLSearchParams(location.search);
  if (asked.get("login") !== "refused") return undefined;
  switch (asked.get("why")) {
    case "not_allowed":
      return i18n.t("That account has no access to this server. Ask an owner to add it.");
    case "disabled":
      return i18n.t("Your account is disabled. Ask an owner to enable it.");
    case "unverified":
      return i18n.t("The provider has not verified your email address. Verify it there and try again.");
    case "declined":
      return i18n.t("The sign-in was canceled at the provider. Try again when you are ready.");
    case "expired":
      return i18n.t("The sign-in expired or was started in another browser. Try again.");
    case "provider":
      return i18n.t("The provider is unreachable. Try again later, or sign in another way.");
    case "too_many":
      return i18n.t("Too many failed attempts. Wait a while, then try again.");
    default:
      return i18n.t("Couldn't sign you in. Try again, or sign in another way.");
  }
}
