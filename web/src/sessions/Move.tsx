// The dialog that moves sessions to an existing project, a new one, or none.

import { i18n } from "@lingui/core";
import { useState } from "react";

import { ask } from "../api/client";
import { Dialog } from "../shell/Dialog";
import { change } from "./acts";
import { answered } from "./asked";
import { lineOf, readProjects, useLists } from "./lists";
import { together } from "./picked";
import type { Project } from "./types";
import { newId } from "../shell/id";

const NEW = "new";
const NONE = "none";

export async function makeProject(name: string): Promise<string> {
  const body = { id: newId(), name };
  return (await ask<Project>("POST", "/projects", { body })).project;
}

export function Move({ sessions }: { sessions: readonly string[] }) {
  const projects = useLists(({ projects }) => projects);
  const before = new Set(sessions.map((session) => lineOf(session)?.project ?? NONE));
  const [chosen, choose] = useState(before.size === 1 ? [...before][0] : undefined);
  const [name, setName] = useState("");
  const move = async () => {
    if (chosen === undefined) return;
    const project = chosen === NEW ? await makeProject(name.trim()) : chosen === NONE ? null : chosen;
    if (chosen === NEW) readProjects();
    const [only] = sessions;
    if (sessions.length === 1 && only !== undefined) await change(only, { project });
    else void together("move", sessions, (session) => change(session, { project }));
  };
  const radio = (value: string, word: string) => (
    <label key={value} className="option">
      <input
        type="radio"
        name="project"
        required
        checked={chosen === value}
        onChange={() => choose(value)}
        autoFocus={chosen === value}
      />
      <span className="clip">{word}</span>
    </label>
  );
  return (
    <Dialog
      title={
        sessions.length === 1
          ? i18n.t("Move to project")
          : i18n.t(
              "{count, plural, one {Move # session to a project} other {Move # sessions to a project}}",
              {
                count: sessions.length,
              },
            )
      }
      word={i18n.t("Move")}
      failed={i18n.t("Couldn't move the session: the server is unreachable.")}
      act={move}
      closed={answered}
    >
      <div className="options" role="radiogroup" aria-label={i18n.t("Project")}>
        {radio(NONE, i18n.t("No project"))}
        {projects.map(({ project, name }) => radio(project, name))}
        {radio(NEW, i18n.t("New project"))}
      </div>
      {chosen === NEW && (
        <label>
          {i18n.t("Project name")}
          <input
            dir="auto"
            value={name}
            onChange={(event) => setName(event.target.value)}
            required
            maxLength={100}
          />
        </label>
      )}
    </Dialog>
  );
}
