// Signs out and deletes the user's data on this device. The user may keep data that the server does not have.

import { ask } from "../api/client";
import { Database } from "../storage/database";
import { localDrafts } from "../storage/drafts";
import { countUploads } from "../storage/files";
import { markLeft, owner, wipeOwn, type Kept } from "../storage/own";
import { endLogin, outbox } from "./store";

/** Counts of data that exists on this device only. */
export interface Unsent {
  messages: number;
  /** Sessions with a draft that the server does not have. */
  drafts: number;
  files: number;
  /** Sessions whose last turns the server lost. */
  lost: number;
}

/** Returns the data that would be lost if this device deleted everything. */
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

/** Signs out and reloads the page, so that the next user sees nothing of this one. */
export async function signOut(kept: Kept): Promise<void> {
  await ask("POST", "/logout");
  await forgetUser(owner(), kept);
  location.assign("/");
}

/** Deletes the data of a user who signed out from this device. */
async function forgetUser(user: string, kept: Kept): Promise<void> {
  const drafts = localDrafts();
  if (kept === "nothing") drafts.discard();
  else drafts.flush();
  // Set first: other tabs must see it before they notice the sign-out.
  markLeft(user, kept);
  endLogin();
  if (kept === "unsent") drafts.dropSaved();
  wipeOwn(user, kept);
  await new Database(user).wipe(kept).catch(() => undefined);
}
