import { i18n } from "@lingui/core";
import { useId, useState } from "react";

import { Dialog } from "../shell/Dialog";
import { change } from "./acts";
import { answered } from "./asked";
import { lineOf, useLists } from "./lists";
import { together } from "./picked";
import { tagsAfter, tagsOf, written, type Spread } from "./tags";

/** The dialog for the tags of sessions. A tag that only some of them have stays unchanged unless it is clicked. */
export function TagChoice({ sessions }: { sessions: readonly string[] }) {
  const known = useLists(({ tags }) => tags);
  const suggestions = useId();
  const tagsHere = (session: string) => lineOf(session)?.tags ?? [];
  const [wanted, setWanted] = useState<ReadonlyMap<string, Spread>>(() => tagsOf(sessions.map(tagsHere)));
  const [text, setText] = useState("");
  const add = () => {
    setWanted(withAll(wanted, text));
    setText("");
  };
  const save = () => {
    // Text left in the field counts as a tag.
    const after = withAll(wanted, text);
    const [only] = sessions;
    const set = (session: string) => change(session, { tags: tagsAfter(tagsHere(session), after) });
    if (sessions.length === 1 && only !== undefined) return set(only);
    void together("tag", sessions, set);
    return undefined;
  };
  return (
    <Dialog
      title={
        sessions.length === 1
          ? i18n.t("Tags")
          : i18n.t("{count, plural, one {Tags of # session} other {Tags of # sessions}}", {
              count: sessions.length,
            })
      }
      word={i18n.t("Save")}
      failed={i18n.t("Couldn't save: the server is unreachable.")}
      act={save}
      closed={answered}
    >
      <div className="options">
        {[...wanted].map(([tag, spread]) => (
          <label key={tag} className="option">
            <input
              type="checkbox"
              checked={spread === "all"}
              ref={(box) => {
                if (box !== null) box.indeterminate = spread === "some";
              }}
              onChange={() => setWanted(new Map(wanted).set(tag, spread === "all" ? "none" : "all"))}
            />
            <span className="clip">{tag}</span>
          </label>
        ))}
      </div>
      <div className="beside">
        <label className="grow">
          {i18n.t("Add a tag")}
          <input
            dir="auto"
            value={text}
            list={suggestions}
            autoFocus
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || text.trim() === "") return;
              event.preventDefault();
              add();
            }}
          />
        </label>
        <button type="button" className="btn" disabled={text.trim() === ""} onClick={add}>
          {i18n.t("Add")}
        </button>
      </div>
      <datalist id={suggestions}>
        {known.map(({ tag }) => (
          <option key={tag} value={tag} />
        ))}
      </datalist>
    </Dialog>
  );
}

function withAll(wanted: ReadonlyMap<string, Spread>, text: string): Map<string, Spread> {
  const after = new Map(wanted);
  for (const tag of written(text)) after.set(tag, "all");
  return after;
}
