// A line of the audit trail as a sentence. What a newer server writes is told as it is.

import { i18n } from "@lingui/core";

import type { AuditLine } from "./Audit";

type Names = ReadonlyMap<string, string>;

const ID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** Ids of people become their names; ids of other things say nothing and are left out. */
function readable(about: string, names: Names): string {
  const id = ID.exec(about)?.[0];
  const text = id === undefined ? about : about.replace(id, names.get(id) ?? "");
  return text.replace(/^[\s,:]+|[\s,:]+$/g, "");
}

export function auditWords({ user, action, about: raw }: AuditLine, names: Names): string {
  const who =
    user == null
      ? i18n.t("The command line, or nobody known")
      : (names.get(user) ?? i18n.t("Somebody who is gone"));
  const about = readable(raw, names);
  switch (action) {
    case "user_added":
      return i18n.t("{who} added {about}.", { who, about });
    case "user_changed":
      return i18n.t("{who} changed what {about} may do.", { who, about });
    case "password_set":
      return i18n.t("{who} set a password for {about}.", { who, about });
    case "logged_in":
      return i18n.t("{who} signed in with {about}.", { who, about });
    case "login_failed":
      return i18n.t("Somebody tried to sign in as {about} and was refused.", { about });
    case "token_made":
      return i18n.t("{who} made the token {about}.", { who, about });
    case "revoked":
      return i18n.t("{who} ended a login or revoked a token.", { who });
    case "passkey_added":
      return i18n.t("{who} added the passkey {about}.", { who, about });
    case "passkey_removed":
      return i18n.t("{who} removed a passkey.", { who });
    case "passkey_used":
      return i18n.t("{who} used a passkey.", { who });
    case "identity_linked":
      return i18n.t("An account of a provider was linked: {about}.", { about });
    case "model_set":
      return i18n.t("{who} added or changed the model {about}.", { who, about });
    case "model_removed":
      return i18n.t("{who} removed the model {about}.", { who, about });
    case "settings_changed":
      return i18n.t("{who} changed the settings: {about}.", { who, about });
    case "shared":
      return i18n.t("{who} made a link to a session.", { who });
    case "share_withdrawn":
      return i18n.t("{who} withdrew a link to a session.", { who });
    case "secret_set":
      return i18n.t("{who} kept the secret {about}.", { who, about });
    case "secret_removed":
      return i18n.t("{who} removed the secret {about}.", { who, about });
    case "session_erased":
      return i18n.t("{who} erased a session.", { who });
    case "backup_made":
      return i18n.t("{who} made a backup in {about}.", { who, about });
    case "verified":
      return i18n.t("{who} verified the logs: {about}.", { who, about });
    case "repaired":
      return i18n.t("{who} repaired a session.", { who });
    case "restored":
      return i18n.t("{who} restored a backup from {about}.", { who, about });
    default:
      return i18n.t("{who}: {action} {about}", { who, action, about });
  }
}
