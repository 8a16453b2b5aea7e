// Pages with an address of their own, and their names.

import { i18n } from "@lingui/core";

export interface Place {
  path: string;
  title: () => string;
  /** Whether only owners have anything to see there. */
  owners?: true;
}

export const PLACES: readonly Place[] = [
  { path: "/live", title: () => i18n.t("Live") },
  { path: "/needs-you", title: () => i18n.t("Needs you") },
  { path: "/archive", title: () => i18n.t("Archive") },
  { path: "/trash", title: () => i18n.t("Trash") },
  { path: "/settings", title: () => i18n.t("Settings") },
  { path: "/settings/models", title: () => i18n.t("Models") },
  { path: "/settings/projects", title: () => i18n.t("Projects") },
  { path: "/settings/conversation", title: () => i18n.t("Conversation settings") },
  { path: "/settings/appearance", title: () => i18n.t("Appearance and language") },
  { path: "/settings/access", title: () => i18n.t("Access") },
  { path: "/settings/people", title: () => i18n.t("People"), owners: true },
  { path: "/settings/messaging", title: () => i18n.t("Messaging"), owners: true },
  { path: "/settings/data", title: () => i18n.t("Data"), owners: true },
  { path: "/server", title: () => i18n.t("Server"), owners: true },
];

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Checks the form of an id. The server ignores malformed ids, and names such as `constructor` exist on every object. */
export function isSessionId(text: string): boolean {
  return ID.test(text);
}

/** Returns the session of a path. */
export function sessionIn(path: string): string | undefined {
  const id = /^\/s\/([^/?]+)/.exec(path)?.[1];
  return id !== undefined && isSessionId(id) ? id : undefined;
}

/** Returns the name of a page; undefined for sessions and unknown paths. */
export function nameOf(path: string): string | undefined {
  return PLACES.find((place) => place.path === path)?.title();
}
