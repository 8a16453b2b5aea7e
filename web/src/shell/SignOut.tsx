// Asks whether to keep unsent data before signing out.

import { i18n } from "@lingui/core";

import { signOut, type Unsent } from "../live/signout";
import { Dialog } from "./Dialog";

function listOf({ messages, drafts, files, lost }: Unsent): string[] {
  const lines = [
    messages > 0 &&
      i18n.t("{count, plural, one {# unsent message} other {# unsent messages}}", {
        count: messages,
      }),
    drafts > 0 &&
      i18n.t("{count, plural, one {# draft} other {# drafts}}", {
        count: drafts,
      }),
    files > 0 &&
      i18n.t("{count, plural, one {# unsent attachment} other {# unsent attachments}}", {
        count: files,
      }),
    lost > 0 &&
      i18n.t(
        "{count, plural, one {# session with turns lost by the server} other {# sessions with turns lost by the server}}",
        { count: lost },
      ),
  ];
  return lines.filter((line) => line !== false);
}

export default function SignOut({ unsent, close }: { unsent: Unsent; close: () => void }) {
  return (
    <Dialog
      title={i18n.t("Sign out?")}
      word={i18n.t("Keep on this device")}
      failed={i18n.t("Couldn't sign out: the server is unreachable.")}
      act={() => signOut("unsent")}
      or={{ word: i18n.t("Delete"), act: () => signOut("nothing") }}
      closed={close}
    >
      <p>{i18n.t("Some data exists only on this device:")}</p>
      <ul>
        {listOf(unsent).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <p>
        {i18n.t(
          "Data kept on this device is available when you sign in again. Anyone with access to this browser's files can read it. Deleted data can't be recovered.",
        )}
      </p>
    </Dialog>
  );
}
