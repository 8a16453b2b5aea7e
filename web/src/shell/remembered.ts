// What a person chose last on this device, such as whether steps are open.

import { useState } from "react";

import { read, tryWrite } from "../storage/local";

const PLACE = "open:";

/** Whether something is open: as it was left last, wherever that was. Things that are shown already stay as they are. */
export function useRemembered(name: string): [open: boolean, choose: (open: boolean) => void] {
  const [open, setOpen] = useState(() => read(PLACE + name) === "yes");
  const choose = (open: boolean) => {
    setOpen(open);
    tryWrite(PLACE + name, open ? "yes" : "no");
  };
  return [open, choose];
}

/** Whether something is on that is unless this device was told otherwise. */
export function isOn(name: string): boolean {
  return read(name) !== "no";
}

export function turn(name: string, on: boolean): void {
  tryWrite(name, on ? "yes" : "no");
}
