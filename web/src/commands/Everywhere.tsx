// Present on every page: keyboard commands, the palette, dialogs, the tab's title and icon, notifications.

import { useEffect } from "react";

import { answered, useAsked } from "../sessions/asked";
import { lazily } from "../shell/lazily";
import { useNotifications } from "../shell/notifications";
import { useOffer } from "../shell/offer";
import { useTab } from "../shell/tab";
import { ui, useUi } from "../shell/ui";
import { useKnown } from "../shell/use";
import { EVERYWHERE } from "./everywhere";
import { useCommands, useKeyboard } from "./registry";

const palette = () => import("./Palette");
const Palette = lazily(palette, { close: ({ close }) => close() });
const Shortcuts = lazily(() => import("./Shortcuts"), { close: ({ close }) => close() });
const SignOut = lazily(() => import("../shell/SignOut"), { close: ({ close }) => close() });
const Questions = lazily(() => import("../sessions/Questions"), { close: answered });

/** Loaded after the page itself. */
const FETCHED_AFTER = 2_000;
const NONE: typeof EVERYWHERE = [];

export function Everywhere() {
  const signedIn = useKnown(({ user }) => user != null);
  const over = useUi(({ over }) => over);
  const leaving = useUi(({ leaving }) => leaving);
  const question = useAsked(({ question }) => question);
  useCommands(signedIn ? EVERYWHERE : NONE);
  useKeyboard();
  useEffect(() => {
    // Before it is asked for: what is typed at once goes into it, and not where the focus was.
    const timer = setTimeout(() => void palette().catch(() => undefined), FETCHED_AFTER);
    return () => clearTimeout(timer);
  }, []);
  useTab();
  useNotifications();
  useOffer();
  if (!signedIn) return null;
  const close = () => ui.setState({ over: undefined });
  return (
    <>
      {over === "palette" && <Palette close={close} />}
      {over === "shortcuts" && <Shortcuts close={close} />}
      {leaving !== undefined && (
        <SignOut unsent={leaving} close={() => ui.setState({ leaving: undefined })} />
      )}
      {question !== undefined && <Questions question={question} />}
    </>
  );
}
