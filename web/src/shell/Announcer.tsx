import { useStore } from "zustand";

import { said } from "./announce";

export function Announcer() {
  const text = useStore(said, ({ text }) => text);
  return (
    <div role="status" className="sr">
      {text}
    </div>
  );
}
