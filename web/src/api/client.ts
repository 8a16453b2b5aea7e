// HTTP requests to the server. Each change carries its own idempotency key, so that retrying it is safe.

import type { components } from "./schema";

/** The types of requests and responses, generated from the server's own description. */
export type Schemas = components["schemas"];
export type Problem = Schemas["Problem"];
export type Kept = Schemas["Kept"];

/** An error that the server answered. Its `detail` is for logs only: `problemText` has the text to show. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(detail);
  }

  /** Whether a later retry may succeed. */
  get passes(): boolean {
    return this.status >= 500 || this.status === 429 || this.status === 408;
  }
}

interface Asked {
  body?: unknown;
  key?: string;
  /** Timeout in milliseconds, for requests that depend on more than the server. */
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

/** Reads the body of an error response. */
export function refused(status: number, text: string): Refused {
  try {
    const problem = JSON.parse(text) as Problem;
    return new Refused(status, problem.code, problem.detail);
  } catch {
    return new Refused(status, "unreadable", "unreadable response");
  }
}

/** Repeats an idempotent request until the server answers. */
export async function insist<T>(method: string, path: string, asked: Asked = {}): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask<T>(method, path, asked);
    } catch (error) {
      if (error instanceof Refused || tries >= 6) throw error;
    }
  }
}
