// The search field for all sessions. Results replace the list.

import { i18n } from "@lingui/core";
import { Search as Glass, X } from "lucide-react";

import { spelt } from "../commands/spelling";

interface Props {
  words: string;
  setWords: (words: string) => void;
  /** Goes from the field into what stands below it. */
  goDown: () => void;
}

export function SearchField({ words, setWords, goDown }: Props) {
  return (
    <div className="search">
      <Glass aria-hidden="true" />
      <input
        type="search"
        dir="auto"
        aria-label={i18n.t("Search all sessions")}
        placeholder={i18n.t("Search")}
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && words !== "") setWords("");
          else if (event.key === "ArrowDown") goDown();
          else return;
          event.preventDefault();
        }}
      />
      {words === "" ? (
        <kbd className="no-p">{spelt("Mod+Shift+f")}</kbd>
      ) : (
        <button
          type="button"
          className="icon"
          aria-label={i18n.t("Clear search")}
          onClick={() => setWords("")}
        >
          <X aria-hidden="true" />
        </button>
      )}
    </div>
  );
}
