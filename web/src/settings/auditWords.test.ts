import { i18n } from "@lingui/core";
import { beforeAll, expect, test } from "vitest";

import { auditWords } from "./auditWords";

const ANN = "0b0e7e0a-0000-4000-8000-000000000001";
const NAMES = new Map([[ANN, "ann"]]);
const line = { no: 1, time: 0 };

beforeAll(() => i18n.loadAndActivate({ locale: "en", messages: {} }));

test("people are named, and ids of other things are left out", () => {
  expect(auditWords({ ...line, user: ANN, action: "user_added", about: "bob, member" }, NAMES)).toBe(
    "ann added bob, member.",
  );
  const about = "1c0e7e0a-0000-4000-8000-00000000000f, Firefox on Linux";
  expect(auditWords({ ...line, user: ANN, action: "logged_in", about }, NAMES)).toBe(
    "ann signed in with Firefox on Linux.",
  );
  expect(auditWords({ ...line, user: null, action: "user_changed", about: `${ANN}: owner` }, NAMES)).toBe(
    "The command line, or nobody known changed what ann: owner may do.",
  );
});

test("what a newer server writes is told as it is", () => {
  expect(auditWords({ ...line, user: ANN, action: "moved_house", about: "north" }, NAMES)).toBe(
    "ann: moved_house north",
  );
});
