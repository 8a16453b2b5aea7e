// The model and instructions of each project. Its instructions follow the server's system prompt.

import { i18n } from "@lingui/core";
import { useState, type FormEvent } from "react";

import { ask, type Schemas } from "../api/client";
import { Loaded, useAsked } from "../shell/asked";
import { Problem, useDoing } from "../shell/doing";
import { textIn } from "../shell/form";
import { useKnown } from "../shell/use";
import { newId } from "../shell/id";

type Project = Schemas["ProjectBody"];

export function Projects() {
  const asked = useAsked<{ projects: Project[] }>("/projects");
  return (
    <>
      <p>
        {i18n.t(
          "Changes to a project's model and instructions apply from the next answer in each of its sessions.",
        )}
      </p>
      <Loaded asked={asked}>
        {({ projects }) => (
          <>
            {projects.length === 0 && (
              <p className="dim">
                {i18n.t(
                  "No projects yet. A project groups related sessions and gives them their own model and instructions.",
                )}
              </p>
            )}
            <ul className="rows" aria-label={i18n.t("Projects")}>
              {projects.map((project) => (
                <li key={project.project}>
                  <ProjectForm project={project} changed={asked.again} />
                </li>
              ))}
            </ul>
          </>
        )}
      </Loaded>
      <NewProject changed={asked.again} />
    </>
  );
}

function ProjectForm({ project, changed }: { project: Project; changed: () => Promise<void> }) {
  const models = useKnown(({ models }) => models);
  const doing = useDoing();
  const [saved, setSaved] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => textIn(form, name);
    const body = {
      model: text("model") === "" ? null : text("model"),
      instructions: text("instructions") === "" ? null : text("instructions"),
    };
    const kept = await doing.run(i18n.t("Couldn't save: the server is unreachable."), async () => {
      await ask("PATCH", `/projects/${project.project}`, { body });
      await changed();
    });
    setSaved(kept);
  };
  // An unavailable model stays selected until another one is chosen.
  const gone = project.model != null && !models.some(({ name }) => name === project.model);
  return (
    <form
      className="form"
      aria-label={project.name}
      onSubmit={(event) => void submit(event)}
      onChange={() => setSaved(false)}
    >
      <h3>{project.name}</h3>
      <label>
        {i18n.t("Model")}
        <select name="model" defaultValue={project.model ?? ""}>
          <option value="">{i18n.t("Server default")}</option>
          {models.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
          {gone && (
            <option value={project.model ?? ""}>
              {i18n.t("{name} (no longer available)", { name: project.model ?? "" })}
            </option>
          )}
        </select>
      </label>
      <label>
        {i18n.t("Instructions")}
        <textarea name="instructions" rows={4} defaultValue={project.instructions ?? ""} />
      </label>
      <Problem of={doing} />
      <div className="do">
        <button className="btn" disabled={doing.busy}>
          {i18n.t("Save")}
        </button>
        {saved && <span className="good">{i18n.t("Saved.")}</span>}
      </div>
    </form>
  );
}

function NewProject({ changed }: { changed: () => Promise<void> }) {
  const doing = useDoing();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const name = textIn(new FormData(form), "name");
    const made = await doing.run(
      i18n.t("Couldn't create the project: the server is unreachable."),
      async () => {
        await ask("POST", "/projects", { body: { id: newId(), name } });
        await changed();
      },
    );
    if (made) form.reset();
  };
  return (
    <form className="form line" onSubmit={(event) => void submit(event)}>
      <label>
        {i18n.t("Project name")}
        <input name="name" required maxLength={100} autoComplete="off" />
      </label>
      <button className="btn" disabled={doing.busy}>
        {i18n.t("Create project")}
      </button>
      <Problem of={doing} />
    </form>
  );
}
