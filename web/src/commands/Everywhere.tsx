// What is there on every page: commands by keyboard and by palette, the questions that they ask, the tab's title and mark,
// notifications.

import { lazy, Suspense, useEffect } from "react";

import { useAsked } from "../sessions/asked";
import { useNotifications } from "../shell/notifications";
import { useOffer } from "../shell/offer";
import { useTab } from "../shell/tab";
import { ui, useUi } from "../shell/ui";
import { useKnown } from "../shell/use";
import { EVERYWHERE } from "./everywhere";
import { useCommands, useKeyboard } from "./registry";

const palette = () => import("./Palette");
const Palette = lazy(palette);
const Shortcuts = lazy(() => import("./Shortcuts"));
const Questions = lazy(() => import("../sessions/Questions"));

/** Once the page itself is there. */
const FETCHED_AFTER = 2_000;
const NONE: typeof EVERYWHERE = [];

export function Everywhere() {
  const signedIn = useKnown(({ user }) => user != null);
  const over = useUi(({ over }) => over);
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
      <Suspense>{over === "palette" && <Palette close={close} />}</Suspense>
      <Suspense>{over === "shortcuts" && <Shortcuts close={close} />}</Suspense>
      <Suspense>{question !== undefined && <Questions question={question} />}</Suspense>
    </>
  );
}
