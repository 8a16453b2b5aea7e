import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it, vi } from "vitest";
import { createStore } from "zustand/vanilla";

import type { Marker } from "../log/types";
import { knotWords } from "./ends";
import { MarkerLine } from "./MarkerLine";

// The whole store needs a page.
vi.mock("../live/store", () => ({ store: createStore(() => ({ link: { kind: "open" } })) }));
vi.mock("@lingui/react", () => ({ Trans: ({ id }: { id: string }) => id.replace(/<\/?\d>/g, "") }));

type Props = Omit<Parameters<typeof MarkerLine>[0], "marker">;
const marker = (kind: Marker["kind"], text = ""): Marker => ({ kind, run: 2, at: 0, text });
const shown = (of: Marker, props: Props = {}) =>
  renderToStaticMarkup(createElement(MarkerLine, { marker: of, ...props })).replace(/<[^>]*>/g, "");

const REASON = "The answer was cut off: no more came. Everything above is kept";
const failed = marker("failed", `${REASON}; Continue tries again.`);
const limited = marker(
  "failed",
  "The run reached its limit of 9 steps. Everything above is kept; Continue goes on.",
);

describe("the row below an answer", () => {
  it("names Continue only where the button is", () => {
    const newest = shown(failed, { session: "s", newest: true });
    expect(newest).toContain(`${REASON}; Continue tries again.`);
    expect(newest).toMatch(/ContinueRetry$/);
    for (const of of [failed, limited]) {
      for (const props of [{ session: "s" }, { session: "s", newest: true, live: true }, {}]) {
        expect(shown(of, props)).toMatch(/Everything above is kept\.$/);
        expect(shown(of, props)).not.toContain("Continue");
      }
    }
  });

  it("keeps the provider's words as they came", () => {
    const odd = "The provider refused: 100 Continue.";
    expect(shown(marker("failed", odd), { session: "s" })).toContain(odd);
  });

  it("has no Continue while another run of the turn is open", () => {
    expect(shown(marker("stopped"), { session: "s", newest: true })).toContain("ContinueRetry");
    expect(shown(marker("stopped"), { session: "s", newest: true, live: true })).not.toContain("Continue");
  });

  it("names no person on a shared page", () => {
    expect(shown(marker("stopped"), { session: "s" })).toMatch(/^Stopped by you at /);
    expect(shown(marker("stopped"))).toMatch(/^Stopped at .+\. Everything above is kept\.$/);
    expect(shown(marker("stopped", "Stopped for your next message."))).toMatch(/^Stopped at /);
    expect(shown(failed)).toBe(`The answer couldn&#x27;t be finished. ${REASON}.`);
  });
});

it("says nothing of Continue beside an answer that was continued", () => {
  expect(knotWords(failed)).toMatch(/Everything above is kept\. The answer continues here\.$/);
});
