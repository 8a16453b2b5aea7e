// What is there on every page: commands by keyboard and by palette, the tab's title and mark, notifications.

import { lazy, Suspense } from "react";

import { useNotifications } from "../shell/notifications";
import { useOffer } from "../shell/offer";
import { useTab } from "../shell/tab";
import { ui, useUi } from "../shell/ui";
import { useKnown } from "../shell/use";
import { EVERYWHERE } from "./everywhere";
import { useCommands, useKeyboard } from "./registry";

const Palette = lazy(() => import("./Palette"));
const Shortcuts = lazy(() => import("./Shortcuts"));

const NONE: typeof EVERYWHERE = [];

export function Everywhere() {
  const signedIn = useKnown(({ user }) => user != null);
  const over = useUi(({ over }) => over);
  useCommands(signedIn ? EVERYWHERE : NONE);
  useKeyboard();
  useTab();
  useNotifications();
  useOffer();
  if (!signedIn || over === undefined) return null;
  const close = () => ui.setState({ over: undefined });
  return <Suspense>{over === "palette" ? <Palette close={close} /> : <Shortcuts close={close} />}</Suspense>;
}
