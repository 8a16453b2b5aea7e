// What a person chose last on this device, such as whether steps are open.

import { useState } from "react";

const PLACE = "open:";

/** Whether something is open: as it was left last, wherever that was. Things that are shown already stay as they are. */
export function useRemembered(name: string): [open: boolean, choose: (open: boolean) => void] {
  const [open, setOpen] = useState(() => read(name));
  const choose = (open: boolean) => {
    setOpen(open);
    write(name, open);
  };
  return [open, choose];
}

// A browser may refuse to keep anything; then nothing is remembered.
function read(name: string): boolean {
  try {
    return localStorage.getItem(PLACE + name) === "yes";
  } catch {
    return false;
  }
}

function write(name: string, open: boolean): void {
  try {
    localStorage.setItem(PLACE + name, open ? "yes" : "no");
  } catch {
    return;
  }
}

/** Whether something is on that is unless this device was told otherwise. */
export function isOn(name: string): boolean {
  try {
    return localStorage.getItem(name) !== "no";
  } catch {
    return true;
  }
}

export function turn(name: string, on: boolean): void {
  try {
    localStorage.setItem(name, on ? "yes" : "no");
  } catch {
    return;
  }
}
