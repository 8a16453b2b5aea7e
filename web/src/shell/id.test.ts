import { afterEach, expect, it, vi } from "vitest";

import { newId } from "./id";

afterEach(() => vi.unstubAllGlobals());

it.each([true, false])("makes random ids, also over plain HTTP (secure: %s)", (secure) => {
  if (!secure) {
    vi.stubGlobal("crypto", {
      getRandomValues: <T extends Uint8Array>(into: T) => crypto_.getRandomValues(into),
    });
  }
  const ids = Array.from({ length: 50 }, newId);
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(ids).size).toBe(50);
});

const crypto_ = globalThis.crypto;
