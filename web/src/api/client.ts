// Everything that is asked of the server over HTTP. A change carries a key of its own, so that asking again is harmless.

import { i18n } from "@lingui/core";

import type { components } from "./schema";

/** What the server takes and gives, as it describes it: where the two part, this does not compile. */
export type Schemas = components["schemas"];
export type Problem = Schemas["Problem"];
export type Kept = Schemas["Kept"];

/** The server answered, and said no. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
  ) {
    super(detail);
  }

  /** Whether asking again later may help. */
  get passes(): boolean {
    return this.status >= 500 || this.status === 429 || this.status === 408;
  }
}

interface Asked {
  body?: unknown;
  key?: string;
  /** How long the answer may take, where it is not the server alone that gives it. */
  patience?: number;
}

/** Timeout for a request. A dead connection swallows requests without an error; a retry uses another one. */
const PATIENCE = 8_000;

let page = "1";

/** Makes the server reject later changes from this page if another user has signed in since. */
export function askAs(user: string): void {
  page = user;
}

/** Returns the header that a browser must send with every change. */
export function pageHeader(): Record<string, string> {
  return { "x-everturn": page };
}

export async function ask<T>(method: string, path: string, asked: Asked = {}): Promise<T> {
  const headers = pageHeader();
  if (asked.body !== undefined) headers["content-type"] = "application/json";
  if (asked.key !== undefined) headers["idempotency-key"] = asked.key;
  const response = await fetch(`/api/v1${path}`, {
    method,
    headers,
    body: asked.body === undefined ? null : JSON.stringify(asked.body),
    signal: AbortSignal.timeout(asked.patience ?? PATIENCE),
  });
  const text = await response.text();
  if (response.ok) return (text === "" ? undefined : JSON.parse(text)) as T;
  throw refused(response.status, text);
}

function refused(status: number, text: string): Refused {
  try {
    const problem = JSON.parse(text) as Problem;
    return new Refused(status, problem.code, problem.detail);
  } catch {
    return new Refused(status, "unreadable", i18n.t("The server answered something that cannot be read."));
  }
}

/** Asks until the server answers, for what is harmless to ask twice. */
export async function insist<T>(method: string, path: string, asked: Asked = {}): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask<T>(method, path, asked);
    } catch (error) {
      if (error instanceof Refused || tries >= 6) throw error;
    }
  }
}
