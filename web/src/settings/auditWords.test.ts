import { i18n } from "@lingui/core";
import { beforeAll, expect, test } from "vitest";

import { auditWords } from "./auditWords";

const ANN = "0b0e7e0a-0000-4000-8000-000000000001";
const NAMES = new Map([[ANN, "ann"]]);
const line = { no: 1, time: 0 };

beforeAll(() => i18n.loadAndActivate({ locale: "en", messages: {} }));

test("replaces IDs of users with names and removes other IDs", () => {
  expect(auditWords({ ...line, user: ANN, action: "user_added", about: "bob, member" }, NAMES)).toBe(
    "ann · User added: bob, member",
  );
  const about = "1c0e7e0a-0000-4000-8000-00000000000f, Firefox on Linux";
  expect(auditWords({ ...line, user: ANN, action: "logged_in", about }, NAMES)).toBe(
    "ann · Signed in with Firefox on Linux",
  );
  expect(auditWords({ ...line, user: null, action: "user_changed", about: `${ANN}: owner` }, NAMES)).toBe(
    "CLI or server · User changed: ann, owner",
  );
});

test("shows the action of a newer server as its code", () => {
  expect(auditWords({ ...line, user: ANN, action: "moved_house", about: "north" }, NAMES)).toBe(
    "ann · moved_house: north",
  );
});

test("names no actor of a failed sign-in", () => {
  expect(auditWords({ ...line, user: null, action: "login_failed", about: "bob" }, NAMES)).toBe(
    "Failed sign-in as bob",
  );
});
