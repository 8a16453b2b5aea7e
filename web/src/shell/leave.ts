import { isNothing, signOut, unsent } from "../live/signout";
import { ui } from "./ui";

/** Signs out. Asks first if some data exists on this device only. */
export async function leave(): Promise<void> {
  const leaving = await unsent();
  if (isNothing(leaving)) await signOut("nothing");
  else ui.setState({ leaving });
}
