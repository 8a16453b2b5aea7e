// Asks whether to keep unsent data before signing out.

import { i18n } from "@lingui/core";

import { signOut, type Unsent } from "../live/signout";
import { Dialog } from "./Dialog";

function listOf({ messages, drafts, files, lost }: Unsent): string[] {
  const lines = [
    messages > 0 &&
      i18n.t("{count, plural, one {# message that isn't sent yet} other {# messages that aren't sent yet}}", {
        count: messages,
      }),
    drafts > 0 &&
      i18n.t(
        "{count, plural, one {# draft that isn't on the server} other {# drafts that aren't on the server}}",
        {
          count: drafts,
        },
      ),
    files > 0 &&
      i18n.t(
        "{count, plural, one {# attached file that isn't sent yet} other {# attached files that aren't sent yet}}",
        {
          count: files,
        },
      ),
    lost > 0 &&
      i18n.t(
        "{count, plural, one {# session with turns that the server lost} other {# sessions with turns that the server lost}}",
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
      <p>{i18n.t("This device has data that isn't on the server:")}</p>
      <ul>
        {listOf(unsent).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <p>
        {i18n.t(
          "Kept data is here when you sign in again, but anyone with access to this browser's files can read it. Deleted data can't be recovered.",
        )}
      </p>
    </Dialog>
  );
}
