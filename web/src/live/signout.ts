// Ends a login. What this device keeps of the user goes with it, but for what they choose to keep because the server does not
// have it.

import { ask } from "../api/client";
import { Database } from "../storage/database";
import { localDrafts } from "../storage/drafts";
import { countUploads } from "../storage/files";
import { markLeft, owner, wipeOwn, type Kept } from "../storage/own";
import { endLogin, outbox } from "./store";

/** What is on this device only. */
export interface Unsent {
  messages: number;
  /** Sessions with a text that the server does not have. */
  drafts: number;
  files: number;
  /** Sessions whose last turns the server lost. */
  lost: number;
}

/** Returns what would be lost if this device deleted everything. */
export async function unsent(): Promise<Unsent> {
  const drafts = localDrafts();
  drafts.flush();
  const isUnsaved = (session: string) =>
    drafts.all(session).some(({ text, base }) => /\S/.test(text) && text !== base);
  return {
    messages: outbox.count(owner()),
    drafts: drafts.sessions().filter(isUnsaved).length,
    files: countUploads(owner()),
    lost: (await new Database(owner()).names("lost").catch(() => [])).length,
  };
}

export function isNothing(unsent: Unsent): boolean {
  return Object.values(unsent).every((count) => count === 0);
}

/** Signs out. The page is loaded anew: nothing of what it knows is for who comes next. */
export async function signOut(kept: Kept): Promise<void> {
  await ask("POST", "/logout");
  await forgetUser(owner(), kept);
  location.assign("/");
}

/** Deletes what this device keeps of a user who signed out. */
async function forgetUser(user: string, kept: Kept): Promise<void> {
  const drafts = localDrafts();
  if (kept === "nothing") drafts.discard();
  else drafts.flush();
  // Other tabs read it before they hear that the login ended.
  markLeft(user, kept);
  endLogin();
  if (kept === "unsent") drafts.dropSaved();
  wipeOwn(user, kept);
  await new Database(user).wipe(kept).catch(() => undefined);
}
