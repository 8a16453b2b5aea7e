import { useState, type FormEvent } from "react";

import { ask } from "../api/client";
import { begin } from "../live/store";
import { Mark } from "./Mark";
import { why } from "./attempt";

export function SignIn() {
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    try {
      await ask("POST", "/login", { body: { name: form.get("name"), password: form.get("password") } });
      await begin();
    } catch (error) {
      setError(why(error, "signed in"));
      setBusy(false);
    }
  };
  return (
    <main className="signin">
      <form onSubmit={(event) => void submit(event)}>
        <h1>
          <Mark /> Everturn
        </h1>
        <p className="dim">Please sign in. Your drafts are kept.</p>
        <label>
          Name
          <input name="name" autoComplete="username" required autoFocus />
        </label>
        <label>
          Password
          <input name="password" type="password" autoComplete="current-password" required />
        </label>
        {error !== undefined && (
          <p className="err" role="alert">
            {error}
          </p>
        )}
        <button className="btn pri" disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
      </form>
    </main>
  );
}
