// Lines of the audit log in words. An action of a newer server shows as its code.

import { i18n } from "@lingui/core";

import type { AuditLine } from "./Audit";

type Names = ReadonlyMap<string, string>;

const ID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** Replaces a user's ID with the name, and removes any other ID. */
function readable(about: string, names: Names): string {
  const id = ID.exec(about)?.[0];
  const text = id === undefined ? about : about.replace(id, names.get(id) ?? "");
  return text.replace(/^[\s,:]+|[\s,:]+$/g, "");
}

/** Returns who did something, then what. */
export function auditWords(line: AuditLine, names: Names): string {
  const done = actionWords(line.action, readable(line.about, names));
  const actor = actorWords(line, names);
  return actor === undefined ? done : `${actor} · ${done}`;
}

function actorWords({ user, action }: AuditLine, names: Names): string | undefined {
  if (user != null) return names.get(user) ?? i18n.t("Deleted user");
  return action === "login_failed" ? undefined : i18n.t("CLI or server");
}

function actionWords(action: string, about: string): string {
  switch (action) {
    case "user_added":
      return i18n.t("User added: {about}", { about });
    case "user_changed":
      return i18n.t("User changed: {about}", { about: about.replace(": ", ", ") });
    case "password_set":
      return i18n.t("Password set for {about}", { about });
    case "logged_in":
      return i18n.t("Signed in with {about}", { about });
    case "login_failed":
      return i18n.t("Failed sign-in as {about}", { about });
    case "token_made":
      return i18n.t("API token created: {about}", { about });
    case "revoked":
      return i18n.t("Device signed out or API token revoked");
    case "passkey_added":
      return i18n.t("Passkey added: {about}", { about });
    case "passkey_removed":
      return i18n.t("Passkey removed");
    case "passkey_used":
      return i18n.t("Passkey used");
    case "identity_linked":
      return i18n.t("Identity provider account linked: {about}", { about });
    case "model_set":
      return i18n.t("Model added or changed: {about}", { about });
    case "model_removed":
      return i18n.t("Model removed: {about}", { about });
    case "settings_changed":
      return i18n.t("Settings changed: {about}", { about });
    case "shared":
      return i18n.t("Share link created");
    case "share_withdrawn":
      return i18n.t("Share link revoked");
    case "secret_set":
      return i18n.t("Secret saved: {about}", { about });
    case "secret_removed":
      return i18n.t("Secret removed: {about}", { about });
    case "session_erased":
      return i18n.t("Session deleted permanently");
    case "backup_made":
      return i18n.t("Backup created in {about}", { about });
    case "verified":
      return i18n.t("Session logs verified: {about}", { about });
    case "repaired":
      return i18n.t("Session repaired");
    case "restored":
      return i18n.t("Backup restored from {about}", { about });
    default:
      return about === "" ? action : `${action}: ${about}`;
  }
}
